"""Ids of one cluster's topics; re-creations, open transactions and unanswered polls by place. Pure.

Instants are epoch milliseconds by our clock. A place is a topic's partition (cluster/names.py).
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from lagmon.logs.heads import Heads

_BEFORE_ALL_TIME = np.iinfo(np.int64).min
NEVER = (-1, -1, -1)  # never blocked by a transaction
AWAY_MS = 180_000  # between two such polls: in a longer time, brokers may have ended an older transaction
_MOST_GONE = 10_000  # topics


class TopicMarks:
    """Ids by topic and instants by place; what is not known has no entry."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}  # of topics with commits, by name
        self.former_ids: dict[str, str] = {}  # from before a restart: still to be compared
        # Of removed topics with commits; "" if it was never known.
        self.gone_ids: dict[str, str] = {}
        self.remade_ms: dict[int, int] = {}  # when the topic was seen to be re-created
        # When a transaction was last seen to block consumers, the last stable offset at that poll, and since
        # when polls have seen it there, without a gap.
        self.held: dict[int, tuple[int, int, int]] = {}
        # When the last stable offset was last read, if it was not at the newest poll of the end; -1 never.
        self.stable_ms: dict[int, int] = {}

    def note_id(self, topic: str, topic_id: str, places: Sequence[int], now_ms: int) -> bool:
        """Record the id of a topic with these places; return whether the topic was re-created."""
        before = self.ids.get(topic) or self.former_ids.get(topic)
        self.ids[topic] = topic_id
        self.former_ids.pop(topic, None)
        if before in (None, topic_id):
            return False
        self.remade_ms.update(dict.fromkeys(places, now_ms))
        return True

    def is_back(self, topic: str, topic_id: str) -> bool:
        """Return once for a removed topic whether it may be this one, hidden for a while."""
        return self.gone_ids.pop(topic, None) in ("", topic_id)

    def forget(self, topics: Iterable[str], places: Iterable[int], *, read: Collection[str]) -> None:
        """Forget removed topics and their places, but keep the ids of those with commits."""
        for topic in topics:
            former, known = self.former_ids.pop(topic, ""), self.ids.pop(topic, "")
            if topic in read:
                self.gone_ids[topic] = known or former
        for topic in list(self.gone_ids)[:-_MOST_GONE]:
            del self.gone_ids[topic]
        for place in places:
            self.remade_ms.pop(place, None)
            self.held.pop(place, None)
            self.stable_ms.pop(place, None)

    def note_stables(self, places: NDArray[np.int32], stables: NDArray[np.int64], heads: Heads) -> None:
        """Record which places with a new end have a new last stable offset.

        Call it before `heads` takes them: it needs the time at which both were last read.
        """
        if self.stable_ms:
            for place in places[stables >= 0].tolist():
                self.stable_ms.pop(place, None)
        lacking = places[stables < 0]
        if len(lacking):
            read_ms = np.where(heads.stable[lacking] >= 0, heads.sampled_ms[lacking], -1)
            known = dict(zip(lacking.tolist(), read_ms.tolist(), strict=True))
            self.stable_ms = known | self.stable_ms

    def head_at_ms(self, heads: Heads) -> NDArray[np.int64]:
        """Return by place when both its end and its last stable offset were read, -1 never."""
        found, places = heads.sampled_ms, list(self.stable_ms)
        found[places] = np.minimum(found[places], list(self.stable_ms.values()))
        return found

    def note_held(self, places: NDArray[np.int32], stables: NDArray[np.int64], at_ms: int) -> None:
        """Record that transactions block consumers at these places, from these offsets on."""
        for place, stable in zip(places.tolist(), stables.tolist(), strict=True):
            looked_ms, before, since_ms = self.held.get(place, NEVER)
            goes_on = before == stable and 0 <= at_ms - looked_ms <= AWAY_MS
            self.held[place] = (at_ms, stable, since_ms if goes_on else at_ms)

    def held_ms(self, at: NDArray[np.int32], offsets: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Return when consumers at these places and offsets were last blocked, before all time if never.

        A consumer before the last stable offset of that poll was not blocked. `count` is the number of
        places.
        """
        return held_ms(self.held_by_place(count), at, offsets)

    def held_polls(self, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return by place the last poll that saw a blocking transaction, and since when polls saw it.

        Both are before all time if none was seen. `count` is the number of places.
        """
        looked_ms, since_ms = self._held(count, 0, 2)
        return looked_ms, since_ms

    def held_by_place(self, count: int) -> NDArray[np.int64]:
        """Return by place the last poll that saw a blocking transaction, and the last stable offset then.

        Both are before all time if none was seen. `count` is the number of places.
        """
        return self._held(count, 0, 1)

    def _held(self, count: int, *which: int) -> NDArray[np.int64]:
        found = np.full((len(which), count), _BEFORE_ALL_TIME, np.int64)
        values = np.fromiter(chain.from_iterable(self.held.values()), np.int64).reshape(-1, 3)
        found[:, list(self.held)] = values[:, which].T
        return found

    def of(self, places: Sequence[int]) -> tuple[list[int], list[tuple[int, int, int]]]:
        """Return when these places were re-created, and their blocking transactions; -1 never."""
        remade = [self.remade_ms.get(place, -1) for place in places]
        return remade, [self.held.get(place, NEVER) for place in places]

    def take_up(
        self,
        places: Sequence[int],
        remade_ms: Sequence[int],
        held: Sequence[tuple[int, int, int]],
        *,
        now_ms: int,
    ) -> None:
        """Restore what `of` returned, at most as of now: our clock may have been ahead."""
        self.remade_ms.update(
            {place: min(at, now_ms) for place, at in zip(places, remade_ms, strict=True) if at >= 0}
        )
        self.held.update(
            {
                place: (min(at, now_ms), stable, min(since_ms, now_ms))
                for place, (at, stable, since_ms) in zip(places, held, strict=True)
                if at >= 0
            }
        )


def held_ms(held: NDArray[np.int64], at: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the same as `TopicMarks.held_ms`, from a result of `held_by_place`."""
    looked_ms, stables = held
    return np.where(offsets >= stables[at], looked_ms[at], _BEFORE_ALL_TIME)


def by_place(instants: Mapping[int, int], count: int) -> NDArray[np.int64]:
    """Return instants of some places as an array of `count`, before all time for the others."""
    if not instants:
        return np.broadcast_to(np.int64(_BEFORE_ALL_TIME), count)  # takes no memory
    found = np.full(count, _BEFORE_ALL_TIME, np.int64)
    found[list(instants)] = list(instants.values())
    return found
