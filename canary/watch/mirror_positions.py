"""The mirror's committed offsets in the canary's topic: which of them are proof. Pure.

A mirror commits N when all records up to N were acknowledged on the target, or were filtered out. So a probe
that N has passed, and that is missing after a read up to a log end offset taken later, is lost.

N has no topic id. After a topic was re-created, N may still be one of the old log, and the worker may write
it once more at its next flush. So the first N of a topic id counts only once it changes, and so do those
written until all offsets of the old log must have been written (`settles_s`). If N goes back, that starts
again: someone has reset it, or another mirror writes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ID_AGE_S = 60.0  # the topic's id is read twice as often


@dataclass(slots=True)
class _Place:
    next_offset: int  # as last seen, N + 1
    unconfirmed: int  # the last that does not count
    since_ns: int


@dataclass(slots=True)
class MirrorPositions:
    """The mirror's offsets in the canary's topic, for one flow; instants are monotonic nanoseconds."""

    topic_id: str = ""
    _places: dict[int, _Place] = field(default_factory=dict)  # by partition
    _due: dict[int, int] = field(
        default_factory=dict
    )  # source offsets that were passed, and not delivered yet

    def note(self, topic_id: str, next_offsets: Mapping[int, int], *, settles_s: float, now_ns: int) -> None:
        """Process the committed offsets that the lag monitor read for the topic with this id."""
        if topic_id != self.topic_id:
            self.topic_id = topic_id
            self._places.clear()
            self._due.clear()
        for partition, next_offset in next_offsets.items():
            self._note(partition, next_offset, settles_s, now_ns)

    def _note(self, partition: int, next_offset: int, settles_s: float, now_ns: int) -> None:
        place = self._places.get(partition)
        if place is None or next_offset < place.next_offset:
            self._places[partition] = _Place(next_offset, next_offset, now_ns)
            self._due.pop(partition, None)
            return
        if next_offset == place.next_offset:
            return
        place.next_offset = next_offset
        if now_ns - place.since_ns <= (ID_AGE_S + settles_s) * 1e9:
            place.unconfirmed = next_offset
        elif next_offset > place.unconfirmed:
            self._due[partition] = next_offset - 1

    def due(self) -> dict[int, int]:
        """Return by partition the newly committed source offset."""
        return dict(self._due)

    def mark_delivered(self, partition: int, source_offset: int) -> None:
        """Note that this offset was delivered with a log end offset of the target that was read later."""
        if self._due.get(partition) == source_offset:
            del self._due[partition]
