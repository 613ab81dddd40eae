"""How far the mirror itself says that it is with the canary's topic: which of its offsets are proof. Pure.

A mirror writes N when all up to N were acknowledged on the target, or were left out on the way. So a probe
that N has passed, and that is not there after a read to an end asked for later, is lost.

N tells no topic id. After a topic was made anew, N may still be one of the old log, and the worker may write
such a one once more with its next flush. So what stands there when an id is first seen, and what is written
until offsets of the old log would long be written (`settles_s`), is believed only once it changes. An N that
goes back begins that anew: somebody has set it, or another mirror writes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ID_AGE_S = 60.0  # the topic's id is asked for twice as often as that


@dataclass(slots=True)
class _Place:
    next_offset: int  # as last seen, N + 1
    doubted: int  # the last that is not believed
    since_ns: int


@dataclass(slots=True)
class MirrorPositions:
    """The mirror's offsets in the canary's topic, for one flow; instants are monotonic nanoseconds."""

    topic_id: str = ""
    _places: dict[int, _Place] = field(default_factory=dict)  # by partition
    _due: dict[int, int] = field(default_factory=dict)  # source offsets that were passed, and not told yet

    def note(self, topic_id: str, next_offsets: Mapping[int, int], *, settles_s: float, now_ns: int) -> None:
        """Take in what the lag monitor just told of the topic with this id."""
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
            place.doubted = next_offset
        elif next_offset > place.doubted:
            self._due[partition] = next_offset - 1

    def due(self) -> dict[int, int]:
        """Return by partition up to which source offset the mirror has newly passed."""
        return dict(self._due)

    def told(self, partition: int, source_offset: int) -> None:
        """Note that this was handed on with an end of the target that was asked for after it was due."""
        if self._due.get(partition) == source_offset:
            del self._due[partition]
