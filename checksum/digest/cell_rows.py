"""The row of a cell: a record count, and sums from which differences are decoded. Pure.

A *cell* holds the records of one side's partition within one bucket whose hash h has the same h mod K. Sums
are of unsigned halves of 64-bit hashes, `x & 0xFFFFFFFF` and `x >>> 32`: they are nonnegative, and a bigint
holds the sum of two billion of them. The sums of disjoint parts of a cell add up, so a digest can be made
slice by slice.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from fleet.errors import MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checksum.plan.shape import PartitionPlan, Plan, TopicPlan

LARGEST_HALF = (1 << 32) - 1


class Side(StrEnum):
    """One end of the mirror."""

    SOURCE = "source"
    TARGET = "target"


class CellKey(NamedTuple):
    """The key of a cell: the topic has the source's name on both sides."""

    topic: str
    partition: int
    bucket: int
    cell: int


class CellRow(NamedTuple):
    """One row of a digest, in the order of its columns.

    `bucket` is floor(timestamp_ms / bucket_ms); if timestamps are not compared, it is the number of the
    plan's segments that start at or before the record, by that side's offset. `time_sum` is the sum of
    timestamp_ms - bucket * bucket_ms, or 0. `g` and `third` are second_hash and third_hash of each h. `order`
    sums place_hash(h, source offset) over records inside a run (on the target, the offset minus the run's
    delta); other records add nothing. Offsets are that side's; `offset_sum` is the sum of offset - first
    offset of that side's range, so that it stays small.
    """

    topic: str
    partition: int
    bucket: int
    cell: int
    records: int
    h_low: int
    h_high: int
    g_low: int
    g_high: int
    third_low: int
    third_high: int
    time_sum: int
    order_low: int
    order_high: int
    offset_sum: int
    first_offset: int
    last_offset: int

    @property
    def key(self) -> CellKey:
        """Return the key of the cell."""
        return CellKey(self.topic, self.partition, self.bucket, self.cell)

    @property
    def content(self) -> tuple[int, ...]:
        """Return what is equal on both sides if the cell has the same records, in any order."""
        return self[4:12]

    @property
    def order(self) -> tuple[int, int]:
        """Return what is equal on both sides if records of runs also have the same places."""
        return self.order_low, self.order_high


def added(one: CellRow, other: CellRow) -> CellRow:
    """Return the row of two disjoint parts of one cell."""
    sums = [here + there for here, there in zip(one[4:15], other[4:15], strict=True)]
    first, last = min(one.first_offset, other.first_offset), max(one.last_offset, other.last_offset)
    return CellRow._make([*one.key, *sums, first, last])


def add(cells: dict[CellKey, CellRow], row: CellRow) -> None:
    """Add a row of a partial digest to its cell."""
    key = row.key
    known = cells.get(key)
    cells[key] = row if known is None else added(known, row)


def joined(rows: Iterable[CellRow]) -> dict[CellKey, CellRow]:
    """Return one row for each cell of partial digests, in any order."""
    cells: dict[CellKey, CellRow] = {}
    for row in rows:
        add(cells, row)
    return cells


@dataclass(frozen=True, slots=True)
class Planned:
    """The plan of the topic and partition of a row."""

    topic: TopicPlan
    partition: PartitionPlan


def bucket_of(planned: Planned, bucket_ms: int, side: Side, *, offset: int, timestamp_ms: int) -> int:
    """Return the bucket of a record of one side, as in a digest."""
    if planned.topic.timestamps:
        return timestamp_ms // bucket_ms
    here = 0 if side is Side.SOURCE else 1
    return bisect_right(planned.partition.segments, offset, key=lambda pair: pair[here])


def planned_partitions(plan: Plan) -> dict[tuple[str, int], Planned]:
    """Return every partition of a plan by the topic's name on the source and its number."""
    return {
        (topic.topic, partition.partition): Planned(topic, partition)
        for topic in plan.topics
        for partition in topic.partitions
    }


def check_row(row: CellRow, plan: Plan, partitions: Mapping[tuple[str, int], Planned], side: Side) -> None:
    """Raise MalformedError for a row that contradicts the plan."""
    where = f"{side}, {row.topic}-{row.partition}, bucket {row.bucket}, cell {row.cell}"
    planned = partitions.get((row.topic, row.partition))
    if planned is None:
        raise MalformedError(f"{where}: partition not in the plan")
    held = planned.partition.source if side is Side.SOURCE else planned.partition.target
    if not held.first <= row.first_offset <= row.last_offset < held.until:
        raise MalformedError(
            f"{where}: offsets {row.first_offset} to {row.last_offset} outside the planned {held.first} to"
            f" {held.until - 1}"
        )
    if not 1 <= row.records <= row.last_offset - row.first_offset + 1:
        raise MalformedError(
            f"{where}: impossible count of {row.records} records at offsets {row.first_offset} to"
            f" {row.last_offset}"
        )
    if not 0 <= row.cell < plan.cells:
        raise MalformedError(f"{where}: cell outside the planned {plan.cells}")
    halves = (*row[5:11], *row.order)
    if not all(0 <= half <= row.records * LARGEST_HALF for half in halves):
        raise MalformedError(f"{where}: impossible sum for {row.records} records")
    longest = (plan.bucket_ms - 1) * row.records if planned.topic.timestamps else 0
    if not 0 <= row.time_sum <= longest:
        raise MalformedError(f"{where}: impossible sum of times for {row.records} records")
    first, last = row.first_offset - held.first, row.last_offset - held.first
    if not first * row.records <= row.offset_sum <= last * row.records:
        raise MalformedError(f"{where}: impossible sum of offsets for {row.records} records")
