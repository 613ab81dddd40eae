"""Compare two digests of one plan, before any record is read again. Pure."""

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
    """The result of two digests: `source` is the source's, `cells` are both by partition."""

    plan: Plan
    source: Mapping[CellKey, CellRow]
    cells: Mapping[tuple[str, int], PartitionCells]
    known: Known

    @property
    def to_read(self) -> list[ReadAgain]:
        """Return the blocks to read again: the required ones, and those that give exact offsets."""
        asked = {(one.topic, one.partition) for one in self.known.read_again}
        more = [one for one in to_pinpoint(self.cells) if (one.topic, one.partition) not in asked]
        return [*self.known.read_again, *more]


def compared(plan: Plan, source: Iterable[CellRow], target: Iterable[CellRow]) -> Comparison:
    """Compare the rows of two digests; raises MalformedError for a row that contradicts the plan."""
    partitions = planned_partitions(plan)
    sides: dict[Side, dict[CellKey, CellRow]] = {}
    for side, rows in ((Side.SOURCE, source), (Side.TARGET, target)):
        sides[side] = joined(rows)
        for row in sides[side].values():
            check_row(row, plan, partitions, side)
    cells = decoded(plan, sides[Side.SOURCE], sides[Side.TARGET])
    return Comparison(plan, sides[Side.SOURCE], cells, named(plan, cells, sides[Side.SOURCE]))
