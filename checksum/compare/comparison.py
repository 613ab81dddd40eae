"""Two digests of one plan -> what they say by themselves, before any record is read again. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from checksum.compare.decode import PartitionCells, decoded
from checksum.compare.naming import named, to_pinpoint
from checksum.digest.cell_rows import CellKey, CellRow, Side, check_row, joined, planned_partitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checksum.compare.findings import ReadAgain
    from checksum.compare.joining import Known
    from checksum.plan.shape import Plan


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two digests say: `source` is the source's, `cells` both by partition, `known` what they prove."""

    plan: Plan
    source: Mapping[CellKey, CellRow]
    cells: Mapping[tuple[str, int], PartitionCells]
    known: Known

    @property
    def to_read(self) -> list[ReadAgain]:
        """Return what is worth reading again: what must be, and what the digests only tell roughly."""
        asked = {(one.topic, one.partition) for one in self.known.read_again}
        more = [one for one in to_pinpoint(self.cells) if (one.topic, one.partition) not in asked]
        return [*self.known.read_again, *more]


def compared(plan: Plan, source: Iterable[CellRow], target: Iterable[CellRow]) -> Comparison:
    """Compare the rows of two digests; raises MalformedError for one that no digest by this plan can hold."""
    partitions = planned_partitions(plan)
    sides: dict[Side, dict[CellKey, CellRow]] = {}
    for side, rows in ((Side.SOURCE, source), (Side.TARGET, target)):
        sides[side] = joined(rows)
        for row in sides[side].values():
            check_row(row, plan, partitions, side)
    cells = decoded(plan, sides[Side.SOURCE], sides[Side.TARGET])
    return Comparison(plan, sides[Side.SOURCE], cells, named(plan, cells, sides[Side.SOURCE]))
