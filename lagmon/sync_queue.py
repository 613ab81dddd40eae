"""Offset syncs of one flow on their way to the store: read here, and asked for by who writes them. Pure.

Each has a number, the offset of its record in the topic of syncs. Who asks names the number that it wants
next, and so says that all before it is written. Nothing is dropped: a queue that is full is read no further,
and the topic keeps what is not read.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import NamedTuple

from lagmon.sync_pairs import SyncPair
from lagmon.sync_thinning import Thinning, thin

MOST_WAITING = 50_000
MOST_HANDED = 1000  # in one answer: what takes it in does so between other things
# A mirror that syncs each record writes many more for one partition within seconds than are to stay. What
# is too old is for the store to tell.
CROWDED = Thinning(keep_ms=1 << 60)


class WaitingSync(NamedTuple):
    """One offset sync that waits."""

    number: int
    topic: str
    partition: int
    upstream: int
    downstream: int
    at_ms: int


class Handed(NamedTuple):
    """What is handed over: the syncs, the number after the last of those looked at, and if more wait."""

    syncs: list[WaitingSync]
    next_number: int
    more: bool


class SyncQueue:
    """Holds what one topic of syncs, known by its id, gave for one flow."""

    def __init__(self) -> None:
        self.topic_id = ""  # "" where it is not known
        self._waiting: deque[WaitingSync] = deque()

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """Tell whether no more is to be read until some are handed over."""
        return len(self._waiting) >= MOST_WAITING

    def begin(self, topic_id: str) -> None:
        """Begin at the start of a topic; what waited comes again, or is of another topic that is gone."""
        self.topic_id = topic_id
        self._waiting.clear()

    def add(self, sync: WaitingSync) -> None:
        """Take one more in, with a larger number than any before."""
        self._waiting.append(sync)

    def hand(self, since: int, *, now_ms: int) -> Handed:
        """Return what comes at this number and after it; all before it is forgotten."""
        while self._waiting and self._waiting[0].number < since:
            self._waiting.popleft()
        looked_at = [sync for sync, _ in zip(self._waiting, range(MOST_HANDED), strict=False)]
        if not looked_at:
            return Handed([], since, more=False)
        return Handed(
            _without_crowds(looked_at, now_ms), looked_at[-1].number + 1, len(looked_at) < len(self._waiting)
        )


def _without_crowds(syncs: list[WaitingSync], now_ms: int) -> list[WaitingSync]:
    by_partition: dict[tuple[str, int], list[WaitingSync]] = defaultdict(list)
    for sync in syncs:
        by_partition[sync.topic, sync.partition].append(sync)
    found = []
    for crowd in by_partition.values():
        if len(crowd) <= CROWDED.whole_pairs:
            found += crowd
            continue
        pairs = [SyncPair(0, one.number, one.upstream, one.downstream, one.at_ms) for one in crowd]
        kept = {pair.number for pair in thin(pairs, now_ms=now_ms, rules=CROWDED)}
        found += [one for one in crowd if one.number in kept]
    return sorted(found)
