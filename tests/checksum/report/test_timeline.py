"""The timeline shows the worst of what each cell stands for, in bounded rows and columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum.report.timeline import (
    MOST_COLUMNS,
    MOST_ROWS,
    MOST_TOPIC_ROWS,
    Cell,
    Kind,
    axis_of,
    make_timeline,
)

HOUR_MS = 3_600_000
QUARTER_MS = 900_000


def cell(topic="orders", partition=0, at_ms=0, kind=Kind.EQUAL, records=10):
    return Cell((topic, partition), at_ms, kind, records)


def drawn(cells, *, whole=None, left_out=(), bucket_ms=QUARTER_MS):
    return make_timeline(cells, whole=whole or {}, left_out=left_out, bucket_ms=bucket_ms)


def test_a_cell_is_where_its_partition_and_its_time_are():
    found = drawn([cell(at_ms=0), cell(at_ms=3 * QUARTER_MS, kind=Kind.DIFFERENCE), cell("audit", 1)])
    assert [row.place for row in found.rows] == [("audit", 1), ("orders", 0)]
    assert found.rows[0].kinds == (Kind.EQUAL, Kind.NOTHING, Kind.NOTHING, Kind.NOTHING)
    assert found.rows[1].kinds == (Kind.EQUAL, Kind.NOTHING, Kind.NOTHING, Kind.DIFFERENCE)


def test_nothing_with_a_time_is_no_picture():
    assert drawn([], left_out=[("orders", 0)]) is None


def test_what_is_known_of_a_whole_partition_covers_its_cells_but_hides_no_difference():
    cells = [cell(at_ms=0), cell(at_ms=QUARTER_MS, kind=Kind.DIFFERENCE)]
    found = drawn(cells, whole={("orders", 0): Kind.NOT_VERIFIED, ("gone", None): Kind.LEFT_OUT})
    assert [row.place for row in found.rows] == [("gone", None), ("orders", 0)]
    assert found.rows[0].kinds == (Kind.LEFT_OUT, Kind.LEFT_OUT)
    assert found.rows[1].kinds == (Kind.NOT_VERIFIED, Kind.DIFFERENCE)


def test_a_partition_of_which_all_was_left_out_has_a_row():
    found = drawn([cell()], left_out=[("orders", 1), ("orders", 0)])
    assert [(row.place, row.left_out) for row in found.rows] == [(("orders", 0), True), (("orders", 1), True)]
    assert found.rows[1].kinds == (Kind.NOTHING,)


def test_of_many_partitions_the_bad_ones_keep_a_row_and_the_rest_share_one_by_topic():
    cells = [cell(topic, number) for topic in ("orders", "audit") for number in range(500)]
    cells += [cell("orders", 77, kind=Kind.DIFFERENCE), cell("audit", 5, kind=Kind.NOT_VERIFIED)]
    found = drawn(cells)
    assert [(row.place, row.more) for row in found.rows] == [
        (("orders", 77), 0),
        (("audit", 5), 0),
        (("audit", 0), 498),
        (("orders", 0), 498),
    ]
    assert found.summed == 998


def test_the_worst_come_first_where_there_are_more_bad_ones_than_rows():
    cells = [cell("a", number, kind=Kind.NOT_VERIFIED) for number in range(200)]
    cells += [cell("z", number, kind=Kind.DIFFERENCE) for number in range(3)]
    found = drawn(cells)
    assert [row.place for row in found.rows[:4]] == [("z", 0), ("z", 1), ("z", 2), ("a", 0)]
    assert found.rows[-1].kinds == (Kind.NOT_VERIFIED,)  # what shares a row is not better for it
    assert sum(row.more + 1 for row in found.rows) == 203


kinds = st.sampled_from([Kind.EQUAL, Kind.EXPECTED, Kind.NOT_VERIFIED, Kind.DIFFERENCE])
cells = st.lists(
    st.builds(
        Cell,
        st.tuples(st.sampled_from([f"t{number}" for number in range(60)]), st.integers(0, 40)),
        st.integers(-(10**15), 10**15) | st.integers(0, 10**8),
        kinds,
        st.integers(1, 10**9),
    ),
    min_size=1,
    max_size=300,
)


@given(cells, st.sampled_from([1000, 60_000, QUARTER_MS, 86_400_000]))
def test_every_partition_is_drawn_bounded_and_the_worst_is_seen(held, bucket_ms):
    found = drawn(held, bucket_ms=bucket_ms)
    assert sum(row.more + 1 for row in found.rows) == len({one.place for one in held})
    assert len(found.rows) <= MOST_ROWS + MOST_TOPIC_ROWS
    assert found.axis.all_columns <= MOST_COLUMNS
    assert all(len(row.kinds) == found.axis.all_columns for row in found.rows)
    assert max(max(row.kinds) for row in found.rows) == max(one.kind for one in held)
    single = {row.place: row for row in found.rows if not row.more}
    for one in held:
        if one.place in single:
            assert single[one.place].kinds[found.axis.column(one.at_ms)] >= one.kind


@given(
    st.lists(st.tuples(st.integers(-(10**15), 10**15), st.integers(1, 10**6)), min_size=1, max_size=100),
    st.sampled_from([1000, QUARTER_MS]),
)
def test_every_instant_has_a_column(found, bucket_ms):
    axis = axis_of(found, bucket_ms)
    assert all(0 <= axis.column(at_ms) < axis.all_columns for at_ms, _ in found)


@pytest.mark.parametrize(
    ("span_ms", "column_ms"),
    [
        (0, QUARTER_MS),
        (24 * HOUR_MS, QUARTER_MS),
        (48 * HOUR_MS, 2 * QUARTER_MS),
        (7 * 24 * HOUR_MS, 6 * QUARTER_MS),
        (365 * 24 * HOUR_MS, 384 * QUARTER_MS),
    ],
)
def test_columns_stand_for_a_round_stretch_of_time(span_ms, column_ms):
    axis = axis_of([(at_ms, 1) for at_ms in range(0, span_ms + 1, QUARTER_MS)], QUARTER_MS)
    assert axis.column_ms == column_ms
    assert (axis.earlier, axis.later) == (False, False)


def test_records_without_a_time_do_not_squeeze_the_others():
    day = [(1_763_000_000_000 + number * QUARTER_MS, 1000) for number in range(96)]
    axis = axis_of([(-QUARTER_MS, 3), *day, (9_999_999_999_000, 1)], QUARTER_MS)
    assert (axis.earlier, axis.later, axis.column_ms) == (True, True, QUARTER_MS)
    assert axis.column(-QUARTER_MS) == 0
    assert axis.column(9_999_999_999_000) == axis.all_columns - 1
    assert axis.column(day[50][0]) not in (0, axis.all_columns - 1)
    # As many as that are no few.
    old = axis_of([(-QUARTER_MS, 3000), *day], QUARTER_MS)
    assert (old.earlier, old.later) == (False, False)
