"""Does the source hold a record that the target has too often? Look for it, where it may stand.

It blocks, and belongs on a thread. A record has its original's time, so nothing before the first record of
that time or later is read. How many records one question reads is bounded; beyond, the answer is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checksum.cell_rows import planned_partitions
from checksum.findings import Held
from checksum.plan_shape import READ_COMMITTED, OffsetRange
from checksum.stretches import chunks, hashes

if TYPE_CHECKING:
    from checksum.anchor_reading import Place, Reader
    from checksum.findings import LookUp
    from checksum.plan_shape import Plan

MOST_RECORDS = 200_000  # of one question
MOST_IN_ALL = 2_000_000  # of a run


class LookUps:
    """Answers by two readers of the source: one of every record, one of those that were committed."""

    def __init__(self, plan: Plan, *, everything: Reader, committed: Reader) -> None:
        self._plan = plan
        self._everything = everything
        self._committed = committed
        self._partitions = planned_partitions(plan)
        self._left = MOST_IN_ALL

    def held(self, asked: LookUp) -> Held:
        """Say whether the source holds the record."""
        place = asked.topic, asked.partition
        start, end = self._everything.starts([place])[place], self._everything.ends([place])[place]
        since = self._since(place, asked.timestamp_ms, start=start, end=end)
        left = min(MOST_RECORDS, self._left)
        aborted = False
        for stretch in self._stretches(asked, since, end):
            for some in chunks(self._everything, place, stretch):
                self._left -= len(some)
                left -= len(some)
                for found, record in zip(
                    hashes(some, self._partitions[place].topic, self._plan), some, strict=True
                ):
                    if found == asked.hash:
                        if self._is_committed(place, record.offset):
                            return Held.COMMITTED
                        aborted = True
                if left <= 0:
                    return Held.ABORTED if aborted else Held.NOT_KNOWN
        if aborted:
            return Held.ABORTED
        # Where the first record that is left is that late already, earlier ones of the time may have expired.
        return Held.NOT_KNOWN if start > 0 and since <= start else Held.NO

    def _since(self, place: Place, timestamp_ms: int | None, *, start: int, end: int) -> int:
        """Return the first offset at which the original can stand; the log's start where nothing says."""
        if timestamp_ms is None or timestamp_ms < 0 or start == end:
            return start
        return self._everything.since({place: timestamp_ms}).get(place, end)

    def _stretches(self, asked: LookUp, since: int, end: int) -> list[OffsetRange]:
        held = self._partitions[asked.topic, asked.partition].partition.source
        inside = asked.offsets
        if self._plan.isolation_source == READ_COMMITTED:
            inside = held  # the digest is without aborted records, so it rules nothing out
        wanted = [OffsetRange(held.until, end), OffsetRange(0, held.first)]
        if inside is not None:
            wanted.insert(0, inside)
        cut = [OffsetRange(max(one.first, since), min(one.until, end)) for one in wanted]
        return [one for one in cut if one.first < one.until]

    def _is_committed(self, place: Place, offset: int) -> bool:
        found = self._committed.pick({place: (offset, 1)})[place].records
        return bool(found) and found[0].offset == offset
