"""Pretend logs of both sides of a mirror, the digest of one as a few lines of Python, and a plan for both."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from checksum.anchors.records import seen_record
from checksum.digest.cell_rows import CellKey, CellRow, Side, joined
from checksum.digest.record_hash import Content, place_hash, record_hash, second_hash, third_hash
from checksum.plan.shape import (
    READ_UNCOMMITTED,
    Anchored,
    OffsetRange,
    PartitionPlan,
    Plan,
    Run,
    TopicPlan,
)
from checksum.recheck.block_differences import ReadRecord


class Held(NamedTuple):
    """A record in a pretend log."""

    offset: int
    content: Content


@dataclass
class Partition:
    """One partition on both sides, and pairs of offsets that a mirror would have told."""

    source: list[Held] = field(default_factory=list)
    target: list[Held] = field(default_factory=list)
    anchors: list[tuple[int, int]] = field(default_factory=list)
    source_until: int | None = None
    target_until: int | None = None

    @property
    def ranges(self) -> tuple[OffsetRange, OffsetRange]:
        ends = (self.source_until, self.target_until)
        logs = (self.source, self.target)
        return tuple(
            OffsetRange(
                log[0].offset if log else 0, (log[-1].offset + 1 if log else 0) if until is None else until
            )
            for log, until in zip(logs, ends, strict=True)
        )


def halves(value: int) -> tuple[int, int]:
    return value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF


def plan_of(
    topics: dict[str, list[Partition]], *, cells: int = 4, bucket_ms: int = 10, timestamps: bool = True
) -> Plan:
    return Plan(
        flow="A->B",
        source="A",
        target="B",
        made_at_ms=0,
        cells=cells,
        bucket_ms=bucket_ms,
        isolation_source=READ_UNCOMMITTED,
        isolation_target=READ_UNCOMMITTED,
        excluded_headers=(),
        topics=tuple(
            TopicPlan(
                topic,
                f"A.{topic}",
                None,
                None,
                headers=True,
                timestamps=timestamps,
                compacted=False,
                partitions=tuple(partition_plan(number, one) for number, one in enumerate(partitions)),
            )
            for topic, partitions in topics.items()
        ),
        left_out=(),
    )


def partition_plan(number: int, partition: Partition) -> PartitionPlan:
    source, target = partition.ranges
    runs: list[Run] = []
    anchors = partition.anchors
    for (up, down), (next_up, next_down) in pairwise(anchors):
        if next_down - next_up == down - up:
            first = (
                runs.pop().first if runs and runs[-1].until == up + 1 and runs[-1].delta == down - up else up
            )
            runs.append(Run(first, next_up + 1, down - up))
    segments = tuple(pair for pair in anchors if pair[0] > source.first and pair[1] > target.first)
    return PartitionPlan(number, source, target, tuple(runs), segments, Anchored.OFFSET_SYNCS)


def digest(topics: dict[str, list[Partition]], plan: Plan, side: Side) -> dict[CellKey, CellRow]:
    rows = []
    for topic in plan.topics:
        for planned in topic.partitions:
            partition = topics[topic.topic][planned.partition]
            log = partition.source if side is Side.SOURCE else partition.target
            rows += [row(one, topic, planned, plan, side) for one in log]
    return joined(rows)


def row(held: Held, topic: TopicPlan, planned: PartitionPlan, plan: Plan, side: Side) -> CellRow:
    """The digest of a single record; a digest is the sum of these."""
    h = record_hash(held.content, timestamps=topic.timestamps, excluded=plan.excluded_headers)
    here = 0 if side is Side.SOURCE else 1
    if topic.timestamps:
        bucket, within = divmod(held.content.timestamp_ms, plan.bucket_ms)
    else:
        bucket, within = sum(pair[here] <= held.offset for pair in planned.segments), 0
    order = 0
    for run in planned.runs:
        place = held.offset - (run.delta if here else 0)
        if run.first <= place < run.until:
            order = place_hash(h, place)
    span = (planned.source, planned.target)[here]
    return CellRow(
        topic.topic,
        planned.partition,
        bucket,
        h % plan.cells,
        1,
        *halves(h),
        *halves(second_hash(h)),
        *halves(third_hash(h)),
        within,
        *halves(order),
        held.offset - span.first,
        held.offset,
        held.offset,
    )


def read(log: list[Held], offsets: OffsetRange, *, timestamps: bool = True) -> list[ReadRecord]:
    """What a second reading of some offsets gives."""
    return [
        ReadRecord(
            record_hash(content, timestamps=timestamps),
            seen_record(offset, content.timestamp_ms, content.key, content.value, content.headers or ()),
        )
        for offset, content in log
        if offsets.first <= offset < offsets.until
    ]


def hashes(log: list[Held], *, timestamps: bool = True) -> Counter[int]:
    return Counter(record_hash(one.content, timestamps=timestamps) for one in log)
