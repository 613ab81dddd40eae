"""Ids of one cluster's topics, and when places were made anew or held up by a transaction. Pure.

Instants are epoch milliseconds by our clock. A place is a topic's partition (names.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

_BEFORE_ALL_TIME = np.iinfo(np.int64).min


class TopicMarks:
    """Ids by topic and instants by place; what is known of neither is not there."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}  # of topics that groups read, by name
        self.former_ids: dict[str, str] = {}  # before we were away: still to be compared
        self.remade_ms: dict[int, int] = {}  # when the topic was seen to be another one
        self.held_ms: dict[int, int] = {}  # when a transaction was last seen to hold up readers

    def note_id(self, topic: str, topic_id: str, places: Sequence[int], now_ms: int) -> bool:
        """Take note of the id of a topic at these places; return whether it is another topic of that name."""
        before = self.ids.get(topic) or self.former_ids.get(topic)
        self.ids[topic] = topic_id
        self.former_ids.pop(topic, None)
        if before in (None, topic_id):
            return False
        self.remade_ms.update(dict.fromkeys(places, now_ms))
        return True

    def forget(self, topics: Iterable[str], places: Iterable[int]) -> None:
        """Know nothing of topics that went away, nor of their places."""
        for topic in topics:
            self.ids.pop(topic, None)
            self.former_ids.pop(topic, None)
        for place in places:
            self.remade_ms.pop(place, None)
            self.held_ms.pop(place, None)

    def of(self, places: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return of places when they were made anew and when a transaction held up readers, -1 never."""
        remade = [self.remade_ms.get(place, -1) for place in places]
        return remade, [self.held_ms.get(place, -1) for place in places]

    def take_up(self, places: Sequence[int], remade_ms: Sequence[int], held_ms: Sequence[int]) -> None:
        """Know these instants again as `of` gave them."""
        for known, told in ((self.remade_ms, remade_ms), (self.held_ms, held_ms)):
            known.update({place: at for place, at in zip(places, told, strict=True) if at >= 0})


def by_place(instants: Mapping[int, int], count: int) -> NDArray[np.int64]:
    """Return instants of some places as an array over so many, before all time where none is."""
    found = np.full(count, _BEFORE_ALL_TIME, np.int64)
    found[list(instants)] = list(instants.values())
    return found
