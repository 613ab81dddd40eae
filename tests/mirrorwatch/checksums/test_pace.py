"""How far, how fast, how long still: from slices, and within one from Spark's tasks."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from checksum.plan.pacing import UNPACED
from mirrorwatch.checksums.pace import Pace, SliceTasks, StageTasks, progress_text, share_read

S = 1_000_000_000


@dataclass
class At:
    offsets: int
    of_offsets: int = 1000
    partitions: int = 0
    of_partitions: int = 0
    records: int = 0
    size_bytes: int = 0
    empty_ranges: tuple = ()


def test_before_anything_is_known_nothing_is_told():
    pace = Pace(0)
    assert (pace.look([]), pace.records_s(), pace.left_s(0, 5 * S)) == (0.0, None, None)
    pace.at(At(0), 0)
    assert (pace.look([]), pace.records_s(), pace.left_s(0, 5 * S)) == (0, None, None)


def test_what_was_read_before_makes_nothing_faster():
    pace = Pace(0)
    pace.at(At(600, records=600), 10 * S)
    pace.at(At(700, records=690), 20 * S)
    assert pace.records_s() == 9.0
    # 100 offsets in 10 s: the 300 that are left take 30.
    assert pace.left_s(700, 20 * S) == 30.0
    assert pace.left_s(750, 25 * S) == 25.0


def test_within_a_slice_the_tasks_tell():
    pace = Pace(0)
    pace.at(At(0), 0)
    pace.at(At(400), 10 * S)
    assert pace.look([StageTasks(1, 4, 1)]) == 500  # a quarter of a slice like the last one
    pace.at(At(800), 20 * S)
    assert pace.look([]) == 800  # the next slice's stage has not begun
    assert pace.look([StageTasks(2, 4, 3)]) == 950  # no more than there is


def test_the_first_slice_is_as_large_as_slices_are():
    pace = Pace(0)
    pace.at(At(0, of_offsets=10 * UNPACED.offsets), 0)
    assert pace.look([StageTasks(1, 2, 1)]) == UNPACED.offsets / 2


@pytest.mark.parametrize(
    ("looks", "shares"),
    [
        # A small table is laid out first, and cells are added up last.
        ([[(1, 2, 1)], [(2, 12, 3)], [(2, 12, 9)], [(3, 1, 0)], []], [0.5, 0.25, 0.75, 1, 1]),
        # Two readings in one slice: headers, and none.
        ([[(1, 12, 6)], [(1, 12, 9), (2, 12, 0)], [(2, 12, 12)]], [0.5, 0, 1]),
        ([[], [(1, 0, 0)]], [0, 0]),
        ([[(5, 12, 4)], []], [pytest.approx(1 / 3), 1]),
    ],
)
def test_the_stage_with_most_tasks_is_the_one_that_reads(looks, shares):
    tasks = SliceTasks()
    assert [tasks.look([StageTasks(*one) for one in look]) for look in looks] == shares


def test_a_line_tells_offsets_partitions_records_bytes_speed_and_what_is_left():
    now = At(300, partitions=3, of_partitions=12, records=290, size_bytes=58_000)
    assert progress_text(At(100, records=100), now, 10.0) == (
        "300 of 1,000 offsets read, 3 of 12 partitions: 290 records, 58 kB, 19 records/s, about 35 s left"
    )
    done = At(1000, records=990)
    assert progress_text(At(0), done, 0.0) == "1,000 of 1,000 offsets read: 990 records"


@pytest.mark.parametrize(
    ("offsets", "of", "share"),
    [
        (0, 0, "100 %"),
        (0, 10, "0 %"),
        (10, 10, "100 %"),
        (999_999.9, 1_000_000, "> 99.99 %"),
        (1, 3, "33.33 %"),
    ],
)
def test_a_share_is_whole_only_where_all_is_read(offsets, of, share):
    assert share_read(offsets, of) == share


def test_a_slice_whose_tasks_are_done_is_not_done_before_it_counts():
    pace = Pace(0)
    pace.at(At(0), 0)
    assert pace.look([StageTasks(1, 4, 4)]) == 990
    assert share_read(990, 1000) == "99 %"
    pace.at(At(1000), S)
    assert pace.look([]) == 1000


@pytest.mark.parametrize(
    ("read", "took_s", "left"),
    [(30, 7.0, ""), (50, 7.0, ", about 2 min 13 s left"), (30, 30.0, ", about 16 min 10 s left")],
)
def test_what_is_left_is_told_once_a_part_was_read_or_time_has_gone(read, took_s, left):
    assert progress_text(At(0), At(read), took_s).partition(" records/s")[2] == left
    pace = Pace(0)
    pace.at(At(0), 0)
    assert (pace.left_s(read, int(took_s * S)) is None) is (left == "")
