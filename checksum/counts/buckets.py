"""Counts by partition and bucket for a document, coarser if there are many. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from checksum.compare.finding_text import time_text
from checksum.digest.cell_rows import Side, planned_partitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checksum.compare.retention import Unverified
    from checksum.compare.verdicts import Result
    from checksum.digest.cell_rows import CellRow
    from checksum.plan.shape import Plan

MOST_ROWS = 50_000
_COARSEST = 1 << 16  # buckets in one; with minutes that is a month and a half


class BucketRow(NamedTuple):
    """The counts of a partition in a bucket; `unverified`: not all of it was verified."""

    topic: str
    partition: int
    bucket: int
    source_records: int
    target_records: int
    unverified: bool = False


def rows_of_cells(plan: Plan, cells: Mapping[Side, Iterable[CellRow]], found: Result) -> list[BucketRow]:
    """Return the counts of a digest; topics whose buckets are not times are left out."""
    planned = planned_partitions(plan)
    gone: dict[tuple[str, int], list[Unverified]] = defaultdict(list)
    for part in found.partitions:
        gone[part.topic, part.partition] += part.unverified
    counts: dict[tuple[str, int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for side, rows in cells.items():
        here = side is Side.SOURCE
        for row in rows:
            if planned[row.topic, row.partition].topic.timestamps:
                sums = counts[row.topic, row.partition, row.bucket]
                sums[0 if here else 1] += row.records
                # Unverified offsets are the source's.
                sums[2] |= here and any(
                    row.first_offset < one.source.until and one.source.first <= row.last_offset
                    for one in gone[row.topic, row.partition]
                )
    return [
        BucketRow(*where, here, there, bool(unverified))
        for where, (here, there, unverified) in counts.items()
    ]


def rows_document(rows: Iterable[BucketRow], *, bucket_ms: int) -> dict[str, Any]:
    """Return these counts for a document.

    Buckets are joined by twos, fours and so on until there are few enough. If there are too many partitions
    even then, those with differences are kept.
    """
    held = sorted(rows)
    joined, several = held, 1
    while len(joined) > MOST_ROWS and several < _COARSEST:
        several *= 2
        joined = _joined(held, several)
    shown = joined
    if len(joined) > MOST_ROWS:
        shown = sorted(sorted(joined, key=_is_clean)[:MOST_ROWS])
    return {
        "count": len(joined),
        "bucket_ms": bucket_ms * several,
        "tells_unverified": True,  # entries have the flag `unverified`
        "shown": [
            {
                "topic": one.topic,
                "partition": one.partition,
                "bucket_at": time_text(one.bucket * bucket_ms * several),
                "source_records": one.source_records,
                "target_records": one.target_records,
                **({"unverified": True} if one.unverified else {}),
            }
            for one in shown
        ],
    }


def _is_clean(one: BucketRow) -> bool:
    return one.source_records == one.target_records and not one.unverified


def _joined(rows: Iterable[BucketRow], several: int) -> list[BucketRow]:
    sums: dict[tuple[str, int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    for one in rows:
        found = sums[one.topic, one.partition, one.bucket // several]
        found[0] += one.source_records
        found[1] += one.target_records
        found[2] |= one.unverified
    return [
        BucketRow(*where, here, there, bool(unverified)) for where, (here, there, unverified) in sums.items()
    ]
