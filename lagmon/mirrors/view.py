"""What detectors and texts read of one flow: its facts, and what follows from them over time. Pure.

It is read-only for them: `tests/lagmon/mirrors/detectors/test_detectors.py` finds assignments to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fleet.quantity import Bounds
from fleet.verdicts.vocabulary import Cause
from lagmon.logs.readable import IDLE_POLLS, MOST_OFFSETS
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
        return [(*name, records) for name, (_, records) in self.waiting_without().items()]

    def waiting_without(self) -> dict[tuple[str, int], tuple[int, int]]:
        """Return the first offset and the record count of each partition without an offset; -1: unknown.

        Offsets that were read and have no record do not count; the first offset is after them. A short idle
        tail may be a transaction marker. It counts once it was read, or until then if its topic waited
        before, perhaps in an earlier process. If it may not be read, it does not count.
        """
        names, places, offsets = self.first_offsets.every(self)
        readable, ends = self.readable, self.readable_ends[places]
        first = np.maximum(offsets, readable.readable_from(places, offsets))
        records = np.where(ends >= 0, np.maximum(ends - first, 0), -1)
        short = self.source.heads.stood(IDLE_POLLS)[places] & (records > 0) & (records <= MOST_OFFSETS)
        unread = short & ~readable.has_record(places, first)
        if unread.any():
            waited = {topic for code, topic in self.topics.missing_since if code == Cause.NOT_MIRRORED}
            unread &= np.array([topic not in waited for topic, _ in names]) | np.isin(
                places, self.source.refused_places()
            )
            records[unread] = 0
        return dict(zip(names, zip(first.tolist(), records.tolist(), strict=True), strict=True))

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
