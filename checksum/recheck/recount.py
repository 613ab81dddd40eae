"""Check findings of digests by counting equal records again, if a block is too large to read.

Blocking; call it on a thread. Equal records are counted by hash on both sides, from the record's time on.
Reading is limited for each finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checksum.compare.findings import Proof, RecordVerdict
from checksum.digest.cell_rows import planned_partitions
from checksum.plan.shape import OffsetRange
from checksum.recheck.record_chunks import chunks, hashes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checksum.anchors.reading import Place, Reader
    from checksum.compare.findings import Finding
    from checksum.plan.shape import Plan, TopicPlan

MOST_RECORDS = 20_000  # of one finding and side
MOST_IN_ALL = 2_000_000  # of both sides; later findings stay as the digests show them

_LACKING = (RecordVerdict.LOST, RecordVerdict.ALTERED, RecordVerdict.MISROUTED)


class Recount:
    """Counts equal records on both sides of a plan."""

    def __init__(self, plan: Plan, source: Reader, target: Reader) -> None:
        self._plan = plan
        self._source = source
        self._target = target
        self._partitions = planned_partitions(plan)
        self._left = MOST_IN_ALL

    def confirmed_by_count(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings without those of digests that are no longer true."""
        return [one for one in findings if one.proof is not Proof.DIGESTS or not self._refuted(one)]

    def _refuted(self, finding: Finding) -> bool:
        """Return whether both sides now have as many; a record that is not found refutes nothing.

        An extra record may be far after the others, if MirrorMaker started again: it is refuted only if all
        its possible offsets were counted.
        """
        if finding.timestamp_ms is None or self._left <= 0:
            return False
        planned = self._partitions[finding.topic, finding.partition]
        topic, held = planned.topic, planned.partition
        there, until = self._count(
            finding, (topic.target_topic, held.partition), self._target, held.target, topic
        )
        lacking = finding.verdict in _LACKING
        if not lacking and until < (finding.target or held.target).until:
            return False
        here, _ = self._count(finding, (topic.topic, held.partition), self._source, held.source, topic)
        return 0 < here <= there if lacking else 0 < there <= here

    def _count(
        self, finding: Finding, place: Place, reader: Reader, held: OffsetRange, topic: TopicPlan
    ) -> tuple[int, int]:
        """Return how many equal records a side has from its time on, and where counting ended."""
        assert finding.timestamp_ms is not None
        since = reader.since({place: max(finding.timestamp_ms, 0)}).get(place)
        if since is None:
            return 0, held.until
        first = max(held.first, since)
        offsets = OffsetRange(first, min(held.until, first + MOST_RECORDS))
        found = 0
        for some in chunks(reader, place, offsets):
            self._left -= len(some)
            found += hashes(some, topic, self._plan).count(finding.hash)
        return found, offsets.until
