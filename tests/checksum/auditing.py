"""An audit of pretend logs from beginning to end: digests, what they prove, and what is read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from checksum.compare.differing_cells import PartitionCells, decoded
from checksum.compare.digest_findings import digest_findings, to_pinpoint
from checksum.compare.flow_findings import FlowFindings, after_reading
from checksum.digest.cell_rows import CellKey, CellRow, Side, planned_partitions
from checksum.recheck.block_differences import ReadBlock, differences
from tests.checksum.pretend_logs import Partition, digest, plan_of, read

if TYPE_CHECKING:
    from checksum.compare.findings import Finding, ReadAgain
    from checksum.plan.shape import Plan


@dataclass
class Audited:
    """What digests told of both sides."""

    topics: dict[str, list[Partition]]
    plan: Plan
    source: dict[CellKey, CellRow]
    target: dict[CellKey, CellRow]
    cells: dict[tuple[str, int], PartitionCells]
    known: FlowFindings

    def read(self, *, pinpoint: bool = False) -> FlowFindings:
        """Read what is asked for, and return what is known then."""
        blocks = list(self.known.read_again)
        if pinpoint:
            asked = {(block.topic, block.partition) for block in blocks}
            blocks += [one for one in to_pinpoint(self.cells) if (one.topic, one.partition) not in asked]
        again = [finding for block in blocks for finding in self.differences(block)]
        return after_reading(self.known, blocks, again, self.plan, self.source)

    def differences(self, block: ReadAgain) -> list[Finding]:
        planned = planned_partitions(self.plan)[block.topic, block.partition]
        logs, timestamps = self.topics[block.topic][block.partition], planned.topic.timestamps
        source = read(logs.source, block.source, timestamps=timestamps)
        target = read(logs.target, block.target, timestamps=timestamps)
        return differences(ReadBlock(block, planned, self.plan.cells, self.plan.bucket_ms, source, target))


def audited(
    topics: dict[str, list[Partition]],
    *,
    cells: int = 4,
    bucket_ms: int = 10,
    timestamps: bool = True,
    plan: Plan | None = None,
) -> Audited:
    plan = plan or plan_of(topics, cells=cells, bucket_ms=bucket_ms, timestamps=timestamps)
    source, target = (digest(topics, plan, side) for side in Side)
    found = decoded(plan, source, target)
    return Audited(topics, plan, source, target, found, digest_findings(plan, found, source))
