"""How many cells fit into memory: fewer of them, then wider buckets."""

from __future__ import annotations

import pytest

from checksum.plan.building import PlanRules
from checksum.plan.cell_count import MOST_CELLS, Extent, cell_count, fitting
from checksum.plan.document import MAX_BUCKET_MS

DAY_MS = 86_400_000
START_MS = 20_000 * DAY_MS


def extents(partitions, offsets, days):
    return [Extent(offsets, START_MS, START_MS + days * DAY_MS - 1)] * partitions


def test_cells_are_counted_by_buckets_and_no_more_than_offsets():
    found = [*extents(2, 1_000_000, 1), Extent(100, START_MS, START_MS + DAY_MS), Extent(5000, segments=3)]
    assert cell_count(found, cells=16, bucket_ms=900_000) == 2 * 96 * 16 + 100 + 3 * 16


@pytest.mark.parametrize(
    ("held", "cells", "bucket_ms"),
    [
        (extents(30, 100_000, 1), 16, 900_000),  # a night
        (extents(30, 100_000, 30), 2, 900_000),  # the first run
        (extents(1000, 20_000, 7), 1, 3_600_000),
        ([], 16, 900_000),
    ],
)
def test_what_does_not_fit_gets_fewer_cells_and_then_wider_buckets(held, cells, bucket_ms):
    found = fitting(PlanRules(excluded_headers=("via",)), held)
    assert (found.cells, found.bucket_ms, found.excluded_headers) == (cells, bucket_ms, ("via",))
    assert cell_count(held, cells=cells, bucket_ms=bucket_ms) <= MOST_CELLS


def test_where_nothing_helps_it_ends():
    found = fitting(PlanRules(), [Extent(9 * MOST_CELLS, segments=2 * MOST_CELLS)])
    assert (found.cells, found.bucket_ms) == (1, MAX_BUCKET_MS)
