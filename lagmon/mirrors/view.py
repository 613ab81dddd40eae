"""What detectors and texts read of one flow: its facts, and what follows from them over time. Pure.

It is read-only for them: `tests/lagmon/mirrors/detectors/test_detectors.py` finds assignments to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fleet.quantity import Bounds
from lagmon.mirrors.facts import FlowFacts
from lagmon.mirrors.headroom.starts import LogStarts
from lagmon.mirrors.partitions.transactions import OpenTransactions
from lagmon.mirrors.progress.first_offsets import FirstOffsets
from lagmon.mirrors.target_ends.distance import DistanceBounds


@dataclass(slots=True)
class FlowView(FlowFacts):
    """The facts of one flow, and what its logs have shown so far."""

    starts: LogStarts = field(default_factory=LogStarts)
    distance: DistanceBounds = field(default_factory=DistanceBounds)
    first_offsets: FirstOffsets = field(default_factory=FirstOffsets)
    transactions: OpenTransactions = field(default_factory=OpenTransactions)

    @property
    def gapped(self) -> set[str]:
        """Return the topics whose logs have gaps: of transactions or of compaction."""
        return {*self.transactions.topics, *self.settings.compacted}

    def partitions_without(self) -> list[tuple[str, int, int]]:
        """Return topic, partition and record count of each partition of the flow without an offset."""
        ends, found = self.readable_ends, []
        for topic, partition, place in self.places_without():
            first, end = self.first_offsets.first(self, (topic, partition), place), int(ends[place])
            found.append((topic, partition, max(0, end - first) if end >= 0 else -1))
        return found

    def record_bounds(self, topic: str, partition: int, offsets: int) -> Bounds:
        """Return the bounds of the record count in a number of offsets of a source partition.

        Transaction markers and compacted records take offsets too. A marker ends at least one record; the
        record of the first marker may be the last one before these offsets.
        """
        if offsets <= 0 or not self._has_gaps(topic, partition):
            return Bounds(offsets, offsets)
        any_length = self.committed_only or topic in self.settings.compacted
        return Bounds(1 if any_length else offsets // 2, offsets)

    def _has_gaps(self, topic: str, partition: int) -> bool:
        """Return whether a log has shown offsets without a record."""
        if topic in self.settings.compacted or topic in self.transactions.topics:
            return True
        if self.syncs.has_gaps(topic, partition):
            return True
        slot = self.windows.slot(topic, partition)
        return slot is not None and self.distance.has_gaps(self, slot)
