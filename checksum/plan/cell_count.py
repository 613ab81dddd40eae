"""How many cells the digests of a plan may have, and settings by which they fit into memory. Pure.

A partition has at most K cells in each bucket, and at most one for each offset. Few cells per bucket name
fewer single differences without a second read; nothing else changes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from checksum.plan.document import MAX_BUCKET_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checksum.plan.building import PlanRules

MOST_CELLS: Final = 300_000  # of a side: a cell takes 1.5 kB of the driver's memory, for both sides


class Extent(NamedTuple):
    """What decides how many cells a partition has.

    `segments` is the number of buckets if timestamps are not compared. Otherwise it is None, and the times
    are those of the first and the last record.
    """

    offsets: int
    first_ms: int = 0
    last_ms: int = 0
    segments: int | None = None


def cell_count(extents: Sequence[Extent], *, cells: int, bucket_ms: int) -> int:
    """Return how many cells a side has at most, if the first and last records have its extreme times."""
    return sum(min(one.offsets, cells * _buckets(one, bucket_ms)) for one in extents)


def fitting(rules: PlanRules, extents: Sequence[Extent]) -> PlanRules:
    """Return the rules with fewer cells per bucket, and then with wider buckets, if there were too many."""
    cells, bucket_ms = rules.cells, rules.bucket_ms
    while cell_count(extents, cells=cells, bucket_ms=bucket_ms) > MOST_CELLS:
        if cells > 1:
            cells //= 2
        elif bucket_ms < MAX_BUCKET_MS:
            bucket_ms = min(2 * bucket_ms, MAX_BUCKET_MS)
        else:
            break
    return replace(rules, cells=cells, bucket_ms=bucket_ms)


def _buckets(one: Extent, bucket_ms: int) -> int:
    if one.segments is not None:
        return one.segments
    return one.last_ms // bucket_ms - one.first_ms // bucket_ms + 1
