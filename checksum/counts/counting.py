"""Compare record counts of both sides by partition and time bucket. Pure.

The cheap check: how many records each side has in each bucket of a plan's ranges, without their content.
Equal counts prove no record, so nothing is verified by it; different counts prove that the sides differ.
Missing records on the target are a difference. Surplus ones are a difference under exactly-once. Under
at-least-once they may be duplicates, which counts cannot distinguish from foreign records, so they leave the
check incomplete.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from checksum.compare.verdicts import FINDING, INCOMPLETE, OK
from checksum.counts.buckets import BucketRow
from checksum.digest.cell_rows import planned_partitions
from checksum.history.entries import Counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checksum.compare.retention import LogStarts
    from checksum.digest.cell_rows import Planned
    from checksum.plan.shape import LeftOut, Plan

Place = tuple[str, int]


class BucketCount(NamedTuple):
    """How many records one side has in a bucket; rows of several slices are added.

    `topic` is the source's name, `bucket` as in CellRow. Offsets are that side's first and last.
    """

    topic: str
    partition: int
    bucket: int
    records: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class CountProgress:
    """Progress of a count after a slice, and the rows of that slice."""

    offsets: int
    of_offsets: int
    partitions: int
    of_partitions: int
    records: int
    size_bytes: int
    empty_ranges: tuple[tuple[str, int, int, int], ...] = ()
    rows: tuple[BucketCount, ...] = ()


class Difference(StrEnum):
    """How the counts of a bucket differ."""

    LACKING = "lacking"  # the target has fewer
    SURPLUS = "surplus"  # the target has more


@dataclass(frozen=True, slots=True)
class BucketDifference:
    """A bucket whose counts differ; `bucket` as in CellRow."""

    topic: str
    partition: int
    bucket: int
    source_records: int
    target_records: int

    @property
    def how(self) -> Difference:
        """Return which side has more."""
        return Difference.LACKING if self.target_records < self.source_records else Difference.SURPLUS


@dataclass(frozen=True, slots=True)
class PartitionCounts:
    """The counts of one partition; `not_compared` is why they cannot be compared, or empty."""

    topic: str
    partition: int
    source_records: int
    target_records: int
    buckets: int
    differing: int
    not_compared: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a flow; `left_out` are records that no later run reaches."""

    plan: Plan
    differences: tuple[BucketDifference, ...]
    partitions: tuple[PartitionCounts, ...]
    counted: tuple[Counted, ...]
    bucket_rows: tuple[BucketRow, ...]
    left_out: tuple[LeftOut, ...]
    exactly_once: bool

    @property
    def status(self) -> int:
        """Return the exit status: a difference before incomplete."""
        if any(self.exactly_once or one.how is Difference.LACKING for one in self.differences):
            return FINDING
        whole = not (self.differences or self.left_out) and not any(
            one.not_compared for one in self.partitions
        )
        return OK if whole else INCOMPLETE


def added_rows(rows: Iterable[BucketCount]) -> dict[tuple[str, int, int], BucketCount]:
    """Return one row for each partition and bucket from rows of slices, in any order."""
    found: dict[tuple[str, int, int], BucketCount] = {}
    for row in rows:
        where = (row.topic, row.partition, row.bucket)
        known = found.get(where)
        if known is not None:
            row = BucketCount(  # noqa: PLW2901 - the sum stands for both
                *where,
                known.records + row.records,
                min(known.first_offset, row.first_offset),
                max(known.last_offset, row.last_offset),
            )
        found[where] = row
    return found


def compare_counts(
    plan: Plan,
    source: Iterable[BucketCount],
    target: Iterable[BucketCount],
    *,
    starts: Mapping[Place, LogStarts],
    exactly_once: bool,
) -> Counts:
    """Compare the counts of both sides; `starts` are the log start offsets after counting."""
    here, there = added_rows(source), added_rows(target)
    planned = planned_partitions(plan)
    reasons = {where: _why_not_compared(one, plan, starts.get(where)) for where, one in planned.items()}
    by_place: dict[Place, list[tuple[int, int, int]]] = defaultdict(list)
    for topic, partition, bucket in sorted({*here, *there}):
        where = (topic, partition, bucket)
        by_place[topic, partition].append(
            (
                bucket,
                here[where].records if where in here else 0,
                there[where].records if where in there else 0,
            )
        )
    differences: list[BucketDifference] = []
    partitions, counted, bucket_rows = [], [], []
    for place in sorted(planned):
        rows = by_place[place]
        differing = [BucketDifference(*place, *row) for row in rows if row[1] != row[2]]
        why = reasons[place] if differing else ""
        differences += [] if why else differing
        partitions.append(
            PartitionCounts(
                *place,
                sum(row[1] for row in rows),
                sum(row[2] for row in rows),
                len(rows),
                len(differing),
                why,
            )
        )
        counted += _counted(plan, place, planned[place], rows)
        if planned[place].topic.timestamps:
            bucket_rows += [
                BucketRow(*place, *row, unverified=bool(why) and row[1] != row[2]) for row in rows
            ]
    return Counts(
        plan,
        tuple(differences),
        tuple(partitions),
        tuple(counted),
        tuple(bucket_rows),
        tuple(one for one in plan.left_out if one.records and not one.later),
        exactly_once,
    )


def differing_only(plan: Plan, counts: Counts) -> Plan:
    """Return the plan of the partitions whose counts differ, to count them again."""
    asked = {(one.topic, one.partition) for one in counts.differences}
    topics = [
        replace(
            topic, partitions=tuple(one for one in topic.partitions if (topic.topic, one.partition) in asked)
        )
        for topic in plan.topics
    ]
    return replace(plan, topics=tuple(topic for topic in topics if topic.partitions))


def confirmed(first: Counts, second: Counts) -> Counts:
    """Return the first count with the differences that the second one confirms.

    A partition with different results is not compared: its difference was temporary.
    """
    asked = {(one.topic, one.partition): one for one in second.partitions}
    before, after = _by_place(first), _by_place(second)
    steady = {place for place in asked if before.get(place) == after.get(place)}
    return replace(
        first,
        differences=tuple(one for one in first.differences if (one.topic, one.partition) in steady),
        partitions=tuple(
            replace(one, not_compared=asked[place].not_compared or _UNSTEADY)
            if place in asked and place not in steady
            else one
            for one in first.partitions
            for place in ((one.topic, one.partition),)
        ),
    )


_UNSTEADY = "the first and the second count differ"
_COMPACTED = "the topic is compacted: each side deletes replaced records at different times"


def _by_place(counts: Counts) -> dict[Place, list[BucketDifference]]:
    found: dict[Place, list[BucketDifference]] = defaultdict(list)
    for one in counts.differences:
        found[one.topic, one.partition].append(one)
    return found


def _why_not_compared(planned: Planned, plan: Plan, starts: LogStarts | None) -> str:
    """Return why different counts of a partition prove nothing, or empty."""
    if planned.topic.compacted:
        return _COMPACTED
    held = planned.partition
    if starts is not None and (starts.source > held.source.first or starts.target > held.target.first):
        return (
            f"retention deleted records during the count: the log now starts at {starts.source} on"
            f" {plan.source} and at {starts.target} on {plan.target}"
        )
    return ""


def _counted(
    plan: Plan, place: Place, planned: Planned, rows: Iterable[tuple[int, int, int]]
) -> list[Counted]:
    """Return the counts to store: buckets that are times, of topics that are not compacted."""
    if not planned.topic.timestamps or planned.topic.compacted:
        return []
    return [
        Counted(
            *place,
            bucket * plan.bucket_ms,
            source,
            target,
            planned.partition.source.first,
            planned.topic.source_topic_id,
        )
        for bucket, source, target in rows
    ]
