"""Cuts, runs and distances along a partition."""

from __future__ import annotations

import pytest

from checksum.anchors.distances import Distances
from checksum.digest.cell_rows import Side
from checksum.plan.shape import OffsetRange, PartitionPlan, Run

SOURCE, TARGET = Side.SOURCE, Side.TARGET
# Two records were lost between 40 and 60; a run on either side of it.
PLAN = PartitionPlan(
    0,
    OffsetRange(10, 100),
    OffsetRange(510, 598),
    (Run(10, 41, 500), Run(60, 100, 498)),
    ((20, 520), (40, 540), (60, 558), (80, 578)),
    "offset syncs",
)
DISTANCES = Distances(PLAN)


@pytest.mark.parametrize(
    ("held", "side", "source", "target"),
    [
        ((10, 20), SOURCE, (10, 20), (510, 520)),
        ((19, 20), SOURCE, (10, 20), (510, 520)),
        ((20, 21), SOURCE, (20, 40), (520, 540)),
        ((39, 41), SOURCE, (20, 60), (520, 558)),
        ((99, 100), SOURCE, (80, 100), (578, 598)),
        ((545, 546), TARGET, (40, 60), (540, 558)),
        ((557, 559), TARGET, (40, 80), (540, 578)),
        ((10, 100), SOURCE, (10, 100), (510, 598)),
    ],
)
def test_a_block_reaches_from_cut_to_cut(held, side, source, target):
    block = DISTANCES.block(OffsetRange(*held), side)
    assert (block.source, block.target) == (OffsetRange(*source), OffsetRange(*target))


@pytest.mark.parametrize(
    ("held", "side", "expected"),
    [
        ((30, 70), SOURCE, [Run(30, 41, 500), Run(60, 70, 498)]),
        ((530, 568), TARGET, [Run(30, 41, 500), Run(60, 70, 498)]),
        ((41, 60), SOURCE, []),
    ],
)
def test_runs_within_offsets_are_told_in_the_source_s(held, side, expected):
    assert DISTANCES.runs_in(OffsetRange(*held), side) == expected


@pytest.mark.parametrize(
    ("held", "side", "expected"),
    [
        ((12, 15), SOURCE, (500, 500)),
        ((45, 50), SOURCE, (498, 500)),
        ((12, 15 + 50), SOURCE, (498, 500)),
        ((545, 546), TARGET, (498, 500)),
        ((70, 100), SOURCE, (498, 498)),
    ],
)
def test_the_distance_is_exact_within_runs_and_between_those_at_cuts_elsewhere(held, side, expected):
    assert DISTANCES.bracket(OffsetRange(*held), side) == expected


def test_a_run_between_cuts_widens_the_bracket():
    plan = PartitionPlan(0, OffsetRange(0, 50), OffsetRange(0, 50), (Run(20, 30, 7),), (), "")
    assert Distances(plan).bracket(OffsetRange(10, 40), SOURCE) == (0, 7)


@pytest.mark.parametrize(
    ("starts", "expected"),
    [
        ((10, 510), (10, 510)),
        ((0, 0), (10, 510)),
        ((11, 510), (20, 520)),
        ((10, 541), (60, 558)),
        ((20, 541), (60, 558)),
        ((99, 0), (100, 598)),
        ((1000, 0), (100, 598)),
    ],
)
def test_both_logs_hold_what_stands_behind_the_first_cut_above_their_starts(starts, expected):
    assert DISTANCES.floor(*starts) == expected


def test_an_anchor_that_does_not_rise_on_both_sides_is_no_cut():
    plan = PartitionPlan(
        0, OffsetRange(0, 50), OffsetRange(0, 50), (), ((10, 30), (20, 30), (30, 20), (40, 40)), ""
    )
    assert Distances(plan).block(OffsetRange(15, 16), SOURCE).source == OffsetRange(10, 40)


def test_an_empty_side_is_one_block_with_the_other():
    plan = PartitionPlan(0, OffsetRange(5, 5), OffsetRange(7, 9), (), (), "")
    block = Distances(plan).block(OffsetRange(7, 8), TARGET)
    assert (block.source, block.target) == (OffsetRange(5, 5), OffsetRange(7, 9))
