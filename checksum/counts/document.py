"""The result of a count as sentences and as plain values. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from checksum.compare.finding_text import time_text
from checksum.counts.buckets import rows_document
from checksum.counts.counting import Difference
from checksum.digest.cell_rows import planned_partitions
from checksum.report.result_document import MOST_FINDINGS, MOST_PARTITIONS, plan_document
from fleet.quantity import count_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from checksum.counts.counting import BucketDifference, Counts
    from checksum.digest.cell_rows import Planned
    from checksum.history.entries import Counted
    from checksum.plan.shape import Plan

NOTHING_ELSE = "Only counts were compared: equal counts verify no record."


def counts_document(counts: Counts) -> dict[str, Any]:
    """Return the document of one flow's count."""
    plan, planned = counts.plan, planned_partitions(counts.plan)
    return {
        **plan_document(plan),
        "counts_only": True,
        "status": counts.status,
        "coverage": None,  # nothing is verified by a count
        "source_records": sum(one.source_records for one in counts.partitions),
        "target_records": sum(one.target_records for one in counts.partitions),
        "findings": {
            "count": len(counts.differences),
            "shown": [
                _difference(one, plan, planned[one.topic, one.partition])
                for one in counts.differences[:MOST_FINDINGS]
            ],
        },
        "partitions": {
            "count": len(counts.partitions),
            "shown": [
                {
                    "topic": one.topic,
                    "partition": one.partition,
                    "source_records": one.source_records,
                    "target_records": one.target_records,
                    "buckets": one.buckets,
                    "differing": one.differing,
                    "not_compared": one.not_compared or None,
                }
                for one in counts.partitions[:MOST_PARTITIONS]
            ],
        },
        "counts": rows_document(counts.bucket_rows, bucket_ms=plan.bucket_ms),
    }


def difference_text(one: BucketDifference, plan: Plan, planned: Planned) -> str:
    """Return the sentence of a bucket whose counts differ."""
    apart = abs(one.target_records - one.source_records)
    lacking = one.how is Difference.LACKING
    what = f"{count_text(apart, 'record')} {'missing' if lacking else 'too many'} on {plan.target}"
    why = "" if lacking else "; duplicates or foreign records"
    return (
        f"{one.topic} [{one.partition}]: {what} {_stretch(one, plan, planned)}:"
        f" {one.source_records:,} on {plan.source}, {one.target_records:,} on {plan.target}{why}"
    )


def produced_and_mirrored(
    rows: Iterable[Counted], *, offset: int = 0, limit: int
) -> tuple[list[dict[str, Any]], int]:
    """Return the counts of a topic on both sides by bucket, oldest first, and how many buckets there are.

    Returns at most `limit` buckets from `offset` on. Each names the partitions in which both sides differ.
    """
    buckets: dict[int, list[Counted]] = defaultdict(list)
    for row in rows:
        buckets[row.bucket_at_ms].append(row)
    shown = sorted(buckets)[offset : offset + limit]
    return [_bucket(at_ms, buckets[at_ms]) for at_ms in shown], len(buckets)


def _bucket(at_ms: int, rows: list[Counted]) -> dict[str, Any]:
    by_partition: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for row in rows:
        sums = by_partition[row.partition]
        sums[0] += row.source_records
        sums[1] += row.target_records
    return {
        "at": time_text(at_ms),
        "source_records": sum(source for source, _ in by_partition.values()),
        "target_records": sum(target for _, target in by_partition.values()),
        "differing": [
            {"partition": partition, "source_records": source, "target_records": target}
            for partition, (source, target) in sorted(by_partition.items())
            if source != target
        ],
    }


def _difference(one: BucketDifference, plan: Plan, planned: Planned) -> dict[str, Any]:
    timed = planned.topic.timestamps
    return {
        "verdict": one.how.value,
        "cause": None,  # a count names none
        "sentence": difference_text(one, plan, planned),
        "topic": one.topic,
        "partition": one.partition,
        "at": time_text(one.bucket * plan.bucket_ms) if timed else None,
        "until": time_text((one.bucket + 1) * plan.bucket_ms) if timed else None,
        "source_offsets": None if timed else list(_segment(one, planned)),
        "source_records": one.source_records,
        "target_records": one.target_records,
    }


def _stretch(one: BucketDifference, plan: Plan, planned: Planned) -> str:
    if planned.topic.timestamps:
        begin, end = one.bucket * plan.bucket_ms, (one.bucket + 1) * plan.bucket_ms
        return f"from {time_text(begin)} to {time_text(end)}"
    first, until = _segment(one, planned)
    return f"at source offsets {first} to {until - 1}"


def _segment(one: BucketDifference, planned: Planned) -> tuple[int, int]:
    """Return the source offsets [first, until) of a segment."""
    held = planned.partition
    borders = [held.source.first, *(source for source, _ in held.segments), held.source.until]
    return borders[one.bucket], borders[one.bucket + 1]
