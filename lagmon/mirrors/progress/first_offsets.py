"""The first offset that a mirror must replicate of a partition for which it has no offset yet. Pure.

A mirror with `auto.offset.reset=earliest`, as MirrorMaker sets it, starts at the log start. Any other starts
at the log end at the time of its first read, and that time is unknown: at the latest, it is when the mirror
has had time to refresh its topics. So it must replicate what polls see written after that. If it restarts
later, it starts at the log end again: so skipped records are never proved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fleet.verdicts.flow import EARLIEST

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lagmon.mirrors.facts import FlowFacts

    Name = tuple[str, int]  # topic and partition


@dataclass(slots=True)
class FirstOffsets:
    """The first offsets of partitions without an offset, for a mirror that starts at the log end.

    For any other MirrorMaker, the first log start of each: until the loss after it is settled.
    """

    starts: dict[Name, int] = field(default_factory=dict)
    _known: dict[Name, tuple[int, int]] = field(
        default_factory=dict
    )  # since when it is known, and the first offset

    def note(self, flow: FlowFacts, *, now_ms: int, patience_ms: int) -> None:
        """Note the log ends; `patience_ms` is how long a mirror may take to find a topic."""
        if starts_at_log_start(flow):
            self._note_starts(flow)
            return
        ends, known = flow.readable_ends, {}
        for topic, partition, place in flow.places_without():
            name, end = (topic, partition), int(ends[place])
            if end >= 0:
                since_ms, first = self._known.get(name, (now_ms, end))
                waits = now_ms - since_ms <= patience_ms
                known[name] = since_ms, end if waits else min(first, end)  # smaller: the log was re-created
        self._known = known

    def _note_starts(self, flow: FlowFacts) -> None:
        if not flow.order.progress.is_mirror_maker:  # its target partitions are others
            return
        for topic, partition, place in flow.places_without():
            start = int(flow.source.heads.start[place])
            if start >= 0:
                name = topic, partition
                self.starts[name] = min(start, self.starts.get(name, start))

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Forget topics that are removed or re-created."""
        self.starts = {name: start for name, start in self.starts.items() if not is_gone(name[0])}

    def first(self, flow: FlowFacts, name: Name, place: int) -> int:
        """Return the first offset that must be replicated, of a partition at its place on the source."""
        _, first = self._known.get(name, (-1, 0))
        return max(0, int(flow.source.heads.start[place]), first)

    def every(self, flow: FlowFacts) -> tuple[list[Name], NDArray[np.int32], NDArray[np.int64]]:
        """Return every partition without an offset, its place on the source, and its first offset."""
        names, places, offsets = [], [], []
        for topic, partition, place in flow.places_without():
            names.append((topic, partition))
            places.append(place)
            offsets.append(self.first(flow, names[-1], place))
        return names, np.array(places, np.int32), np.array(offsets, np.int64)


def starts_at_log_start(flow: FlowFacts) -> bool:
    """Return whether the mirror replicates what was in a partition before its first read."""
    return flow.order.flow.offset_reset == EARLIEST
