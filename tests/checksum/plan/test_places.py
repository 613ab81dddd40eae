"""What Spark looks up gives each offset the run and the segment that the plan gives it."""

from __future__ import annotations

from bisect import bisect_right

from hypothesis import given
from hypothesis import strategies as st

from checksum.digest.cell_rows import Side
from checksum.plan.pacing import Stretch
from checksum.plan.places import NEVER, place_rows, places_of, search_steps
from checksum.plan.shape import OffsetRange, PartitionPlan, Plan, Run, TopicPlan


def partition(number=0, *, source=(10, 60), target=(110, 155), runs=(), segments=()):
    return PartitionPlan(
        number, OffsetRange(*source), OffsetRange(*target), tuple(runs), tuple(segments), "offset syncs"
    )


def topic(*partitions, name="t", timestamps=True, headers=False):
    return TopicPlan(name, f"A.{name}", "id", "id'", headers, timestamps, False, partitions, 200)


def plan(*topics):
    return Plan("A->B", "A", "B", 1, 8, 60_000, "read_uncommitted", "read_uncommitted", (), topics, ())


def counted(array, offset):
    """Count as the query does: by halves, over the padded array."""
    found = 0
    for step in search_steps(len(array)):
        found += 0 if array[found + step - 1] > offset else step
    return found


def run_at(row, offset):
    """Return the source's offset as the query finds it, or None outside of runs."""
    index = counted(row.run_starts, offset)
    return offset - row.run_deltas[index] if offset < row.run_ends[index] else None


RUNS = [Run(10, 20, 100), Run(20, 21, 99), Run(30, 50, 97)]


def test_a_place_tells_its_side_s_names_and_offsets():
    held = plan(topic(partition(runs=RUNS, segments=[(15, 115)])), topic(partition(3), name="u"))
    source, target = places_of(held, Side.SOURCE), places_of(held, Side.TARGET)
    assert [(one.number, one.topic, one.read_as, one.partition) for one in source] == [
        (0, "t", "t", 0),
        (1, "u", "u", 3),
    ]
    assert [(one.topic, one.read_as, one.offsets) for one in target] == [
        ("t", "A.t", OffsetRange(110, 155)),
        ("u", "A.u", OffsetRange(110, 155)),
    ]
    assert source[0].runs == tuple(RUNS)
    assert target[0].runs == (Run(110, 120, 100), Run(119, 120, 99), Run(127, 147, 97))


def test_marks_are_looked_at_only_where_times_are_not_compared():
    pairs = [(15, 115), (40, 139)]
    for timestamps, expected in ((True, [(), ()]), (False, [(15, 40), (115, 139)])):
        held = plan(topic(partition(segments=pairs), timestamps=timestamps))
        assert [places_of(held, side)[0].marks for side in Side] == expected


STEPS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 15)), max_size=20)


def laid(steps):
    """Return runs with so many offsets left out before each, on the source and on the target."""
    runs, here, there = [], 0, 400
    for skipped, added, span in steps:
        here, there = here + skipped, there + added
        runs.append(Run(here, here + span, there - here))
        here, there = here + span, there + span
    return runs


@given(STEPS, st.sampled_from(Side), st.integers(0, 800), st.integers(1, 200))
def test_each_offset_gets_the_run_that_it_is_in(steps, side, first, span):
    runs = laid(steps)
    held = plan(topic(partition(source=(0, 900), target=(0, 1301), runs=runs)), topic(partition(1), name="u"))
    row = place_rows(places_of(held, side), [Stretch(0, first, first + span), Stretch(1, 10, 60)], side)[0]
    for offset in range(first, first + span):
        known = [
            run for run in runs if run.first <= offset - (0 if side is Side.SOURCE else run.delta) < run.until
        ]
        expected = None if not known else offset if side is Side.SOURCE else offset - known[0].delta
        assert run_at(row, offset) == expected


@given(st.sets(st.integers(0, 300), max_size=40), st.integers(0, 300), st.integers(1, 300))
def test_each_offset_gets_the_segment_of_the_last_mark(marks, first, span):
    pairs = [(mark, mark + 7) for mark in sorted(marks)]
    held = plan(topic(partition(source=(0, 700), target=(7, 707), segments=pairs), timestamps=False))
    for side, shift in ((Side.SOURCE, 0), (Side.TARGET, 7)):
        row = place_rows(places_of(held, side), [Stretch(0, first + shift, first + span + shift)], side)[0]
        for offset in range(first, first + span):
            segment = row.mark_base + counted(row.marks, offset + shift)
            assert segment == bisect_right(sorted(marks), offset)


def test_arrays_of_one_read_have_one_length():
    held = plan(topic(partition(runs=RUNS)), topic(partition(1), name="u"))
    rows = place_rows(places_of(held, Side.SOURCE), [Stretch(0, 10, 60), Stretch(1, 10, 60)], Side.SOURCE)
    assert [len(row.run_starts) for row in rows] == [3, 3]
    assert {len(row.run_ends) for row in rows} == {len(row.run_deltas) for row in rows} == {4}
    assert rows[1].run_starts == [NEVER] * 3
    assert search_steps(3) == [2, 1]
    assert search_steps(0) == []
    assert [(row.place, row.range_first, row.marks) for row in rows] == [(0, 10, []), (1, 10, [])]
