"""Cells that differ between two digests, and the single records that they identify. Pure.

If both sides of a cell differ by one record, once or several times, the differences of the sums are its hash,
its second and third hash, and its time within the bucket. All must be consistent, so several differences are
not taken for one (except with probability 2^-128): such a cell is *undecoded*, and is read again.

Within a run the order sums contain a record's place: if only that record moved, the difference is
place_hash(h, source offset), and trying the possible offsets finds it. If the order sums differ otherwise,
the cell is *moved*.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from checksum.anchors.distances import Distances
from checksum.compare.findings import Single
from checksum.digest.cell_rows import LARGEST_HALF, CellKey, CellRow, Side, planned_partitions
from checksum.digest.record_hash import SPARK_SEED, second_hash, third_hash
from checksum.digest.xxhash64 import MASK, hash_long, signed, unsigned
from checksum.digest.xxhash64_many import hash_longs
from checksum.plan.shape import OffsetRange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checksum.digest.cell_rows import Planned
    from checksum.plan.shape import PartitionPlan, Plan

MAX_TRIES = 50_000_000
"""Places that are tried in one comparison: about two seconds of work."""

_TRIES_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Differing:
    """A cell that differs; a side is None if it has no record in it."""

    key: CellKey
    source: CellRow | None
    target: CellRow | None

    def offsets(self, side: Side) -> OffsetRange | None:
        """Return the offsets of a side between which its records are."""
        row = self.source if side is Side.SOURCE else self.target
        return None if row is None else OffsetRange(row.first_offset, row.last_offset + 1)

    @property
    def surplus(self) -> int:
        """Return how many more records the target has; negative if it has fewer."""
        return (self.target.records if self.target else 0) - (self.source.records if self.source else 0)


@dataclass(slots=True)
class PartitionCells:
    """The comparison of one partition; counts are records."""

    planned: Planned
    source_records: int = 0
    target_records: int = 0
    singles: list[Single] = field(default_factory=list)
    undecoded: list[Differing] = field(default_factory=list)
    moved: list[Differing] = field(default_factory=list)

    @property
    def dense(self) -> bool:
        """Return whether every compared offset holds a record, on both sides."""
        held = self.planned.partition
        return self.source_records == held.source.span and self.target_records == held.target.span

    @property
    def matches(self) -> bool:
        """Return whether nothing differs."""
        return not (self.singles or self.undecoded or self.moved)


def decoded(
    plan: Plan, source: Mapping[CellKey, CellRow], target: Mapping[CellKey, CellRow]
) -> dict[tuple[str, int], PartitionCells]:
    """Compare two digests by one plan, their rows checked; return the result of each partition."""
    found = {where: PartitionCells(planned) for where, planned in planned_partitions(plan).items()}
    differing: list[Differing] = []
    for key in source.keys() | target.keys():
        one, other = source.get(key), target.get(key)
        cells = found[key.topic, key.partition]
        cells.source_records += one.records if one else 0
        cells.target_records += other.records if other else 0
        if one is None or other is None or one.content != other.content or one.order != other.order:
            differing.append(Differing(key, one, other))
    decoder = _Decoder(plan, found)
    for cell in sorted(differing, key=lambda one: one.key):
        decoder.decode(cell)
    return found


class _Decoder:
    """Sorts differing cells into singles, undecoded and moved, and limits the places that it tries."""

    def __init__(self, plan: Plan, found: Mapping[tuple[str, int], PartitionCells]) -> None:
        self._plan = plan
        self._found = found
        self._distances: dict[tuple[str, int], Distances] = {}
        self._tries_left = MAX_TRIES

    def decode(self, cell: Differing) -> None:
        where = (cell.key.topic, cell.key.partition)
        cells = self._found[where]
        if cell.source and cell.target and cell.source.content == cell.target.content:
            cells.moved.append(cell)
            return
        single = _single(cell, self._plan, timestamps=cells.planned.topic.timestamps)
        if single is None:
            cells.undecoded.append(cell)
            return
        if where not in self._distances:
            self._distances[where] = Distances(cells.planned.partition)
        single, explained = self._placed(single, cell, self._distances[where])
        cells.singles.append(single)
        if not explained:
            cells.moved.append(cell)

    def _placed(self, single: Single, cell: Differing, distances: Distances) -> tuple[Single, bool]:
        """Return the record with its place, if known, and whether that explains the order sums."""
        held = self._found[single.topic, single.partition].planned.partition
        single = replace(single, likely=_likely(single, cell, held, distances))
        low, high = _order_difference(cell, single.side)
        if low == high == 0:
            # Outside all runs, where it adds nothing to the sums; nothing else has moved.
            return single, True
        if not (0 <= low <= LARGEST_HALF and 0 <= high <= LARGEST_HALF):
            return single, False
        wanted = np.uint64(high << 32 | low)
        chained = hash_long(single.hash, SPARK_SEED)
        for window in (single.likely, single.offsets):
            for run in distances.runs_in(window, single.side):
                place = self._tried(chained, wanted, OffsetRange(run.first, run.until))
                if place is not None:
                    offset = place if single.side is Side.SOURCE else place + run.delta
                    exact = OffsetRange(offset, offset + 1)
                    return replace(single, offsets=exact, likely=exact, source_place=place), True
        return single, False

    def _tried(self, chained: int, wanted: np.uint64, places: OffsetRange) -> int | None:
        """Return the source offset at which a record's place_hash is `wanted`, or None."""
        for first in range(places.first, places.until, _TRIES_AT_ONCE):
            until = min(first + _TRIES_AT_ONCE, places.until, first + self._tries_left)
            if until <= first:
                return None
            self._tries_left -= until - first
            hashes = hash_longs(np.arange(first, until), np.full(until - first, chained, np.uint64))
            hits = np.flatnonzero(hashes == wanted)
            if hits.size:
                return first + int(hits[0])
        return None


def _single(cell: Differing, plan: Plan, *, timestamps: bool) -> Single | None:
    """Return the one record by which the sides of a cell differ, or None."""
    surplus = cell.surplus
    if surplus == 0:
        return None
    more, less = (cell.target, cell.source) if surplus > 0 else (cell.source, cell.target)
    assert more is not None
    side, copies = (Side.TARGET if surplus > 0 else Side.SOURCE), abs(surplus)
    sums = [here - there for here, there in zip(more[5:12], less[5:12] if less else (0,) * 7, strict=True)]
    found = signed((sums[1] // copies << 32 | sums[0] // copies) & MASK)
    values = (found, second_hash(found), third_hash(found))
    if sums[:6] != [copies * half for value in values for half in _halves(value)] or sums[6] % copies:
        return None
    time_ms = sums[6] // copies
    if found % plan.cells != cell.key.cell or not 0 <= time_ms < plan.bucket_ms:
        return None
    offsets = OffsetRange(more.first_offset, more.last_offset + 1)
    others = OffsetRange(less.first_offset, less.last_offset + 1) if less else None
    at_ms = cell.key.bucket * plan.bucket_ms + time_ms if timestamps else None
    return Single(side, *cell.key, found, at_ms, copies, offsets, offsets, others)


def _likely(single: Single, cell: Differing, held: PartitionPlan, distances: Distances) -> OffsetRange:
    """Return where a single record likely is, from the sums of offsets and the deltas around.

    With s the source offset of a record and t its target offset, t = s + d and d within a bracket: one side's
    sum minus that of the n common records of the other is the record's offset, with an error of n times the
    bracket's width.
    """
    if single.copies > 1 or cell.source is None or cell.target is None:
        return single.offsets
    smallest, largest = distances.bracket(single.offsets, single.side)
    source = cell.source.offset_sum + cell.source.records * held.source.first
    target = cell.target.offset_sum + cell.target.records * held.target.first
    if single.side is Side.SOURCE:
        common = cell.target.records
        first, last = source - target + common * smallest, source - target + common * largest
    else:
        common = cell.source.records
        first, last = target - source - common * largest, target - source - common * smallest
    first, until = max(first, single.offsets.first), min(last + 1, single.offsets.until)
    return OffsetRange(first, until) if first < until else single.offsets


def _order_difference(cell: Differing, side: Side) -> tuple[int, int]:
    """Return by how much the order sums of a side exceed the other's."""
    one, other = (row.order if row else (0, 0) for row in (cell.source, cell.target))
    sign = 1 if side is Side.SOURCE else -1
    return sign * (one[0] - other[0]), sign * (one[1] - other[1])


def _halves(value: int) -> tuple[int, int]:
    whole = unsigned(value)
    return whole & LARGEST_HALF, whole >> 32
