"""What records told of when they were written: what is found around a reader, and what is let go."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagmon.logs import record_times
from lagmon.logs.record_times import EARLIEST_MS, MOST_MARKS, NO_FACT_MS, RecordTimes
from tests.lagmon.logs.test_heads import S, T, longs, places


def noted(*found):
    """Return what is known after records were found one after the other: (place, from, offset, ms after T)."""
    times = RecordTimes()
    for place, first, last, ms in found:
        times.note(places(place), longs(first), longs(last), longs(T + ms))
    return times


def around(times, offset, place=0):
    """Return first, last and time of the mark before a reader, and first and time of the one behind it."""
    found = times.around(places(place), longs(offset))
    before = [int(column[0]) for column in (found.first, found.last, found.at_ms)]
    behind = [int(column[0]) for column in (found.behind_first, found.behind_at_ms)]
    return (
        None if before[1] < 0 else (*before[:2], before[2] - T),
        None if behind[0] < 0 else (behind[0], behind[1] - T),
    )


def test_nothing_is_known_at_first():
    assert around(RecordTimes(), 5) == (None, None)
    RecordTimes().note(places(), longs(), longs(), longs())


@pytest.mark.parametrize(
    ("offset", "found"),
    [
        (9, (None, (10, 1))),
        (10, ((10, 12, 1), (30, 2))),
        (12, ((10, 12, 1), (30, 2))),
        (29, ((10, 12, 1), (30, 2))),
        (30, ((30, 30, 2), None)),
        (99, ((30, 30, 2), None)),
    ],
)
def test_the_marks_before_and_behind_a_reader(offset, found):
    times = noted((1, 5, 5, 9), (0, 30, 30, 2), (0, 10, 12, 1), (2, 5, 5, 9))
    assert around(times, offset) == found


def test_a_mark_counts_as_no_later_than_those_behind_it():
    times = noted((0, 10, 10, 5), (0, 20, 20, 9), (0, 30, 30, 3), (0, 40, 40, 4), (1, 50, 50, 1))
    assert [around(times, offset)[0][2] for offset in (10, 20, 30, 40)] == [3, 3, 3, 4]
    assert around(times, 15)[1] == (20, 3)


@pytest.mark.parametrize("at_ms", [-1, 0, 1_790_000_000, EARLIEST_MS - 1, -(2**63)])
def test_a_time_of_before_this_century_is_none(at_ms):
    times = RecordTimes()
    times.note(places(0), longs(5), longs(5), longs(at_ms))
    assert times.around(places(0), longs(5)).at_ms.tolist() == [NO_FACT_MS]


def test_what_is_seen_anew_takes_the_place_of_what_lay_within():
    times = noted((0, 10, 10, 1), (0, 14, 16, 2), (0, 30, 30, 3), (1, 12, 12, 7))
    times.note(places(0), longs(9), longs(15), longs(T + 1))
    assert len(times) == 3
    assert around(times, 16) == ((9, 15, 1), (30, 3))
    assert around(times, 12, place=1) == ((12, 12, 7), None)


def test_of_a_full_place_goes_the_mark_that_the_reader_came_from():
    times = noted(
        *((0, number * 10, number * 10, number) for number in range(1, MOST_MARKS + 1)), (1, 5, 5, 0)
    )
    assert times.around(places(0, 1), longs(20, 5)).full.tolist() == [True, False]
    times.note(places(0), longs(25), longs(25), longs(T + 2))
    assert [around(times, offset)[0][0] for offset in (10, 24, 25, 30, 40)] == [10, 10, 25, 30, 40]
    times.note(places(0), longs(4), longs(4), longs(T))  # before all: the one furthest ahead goes
    assert [around(times, offset)[0][0] for offset in (4, 10, 25, 30, 40)] == [4, 10, 25, 30, 30]
    assert around(times, 5, place=1)[0] == (5, 5, 0)


def test_marks_that_no_reader_is_near_are_let_go():
    times = noted((0, 10, 10, 1), (0, 20, 20, 2), (0, 30, 30, 3), (1, 5, 5, 0))
    times.keep(places(0), longs(12))
    assert len(times) == 2  # the one before it, and the next one, by which the line to it is told
    assert around(times, 99) == ((20, 20, 2), None)


def test_there_are_never_more_than_there_may_be(monkeypatch):
    monkeypatch.setattr(record_times, "MOST_IN_ALL", 3)
    times = RecordTimes()
    times.note(places(0, 1, 2, 3), longs(1, 1, 1, 1), longs(1, 1, 1, 1), longs(T, T, T, T))
    assert len(times) == 3
    times.note(places(7), longs(1), longs(1), longs(T))
    assert len(times) == 3
    times.note(places(0), longs(1), longs(1), longs(T + S))  # in place of what was known
    assert around(times, 1)[0] == (1, 1, S)


rows = st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 4), st.integers(-9, 9))
forgets = st.tuples(st.just("forget"), st.integers(0, 2))
falls = st.tuples(st.just("fall"), st.integers(0, 2), st.integers(0, 34))
steps = st.lists(rows | forgets | falls, max_size=30)


@given(steps)
def test_marks_of_a_place_never_overlap_and_hold_what_was_told_last(done):
    times, last = RecordTimes(), {}
    for step in done:
        match step:
            case ("forget", place):
                times.forget(places(place))
                last = {key: one for key, one in last.items() if key[0] != place}
            case ("fall", place, end):
                times.fall(places(place), longs(end))
                last = {key: one for key, one in last.items() if key[0] != place or one[0] < end}
            case (place, first, more, ms):
                times.note(places(place), longs(first), longs(first + more), longs(T + ms))
                last[place, first] = first + more, ms
                assert around(times, first, place)[0][:2] == (first, first + more)
    seen = set()
    for place in range(3):
        marks = {around(times, offset, place)[0] for offset in range(36)} - {None}
        ordered = sorted(marks)
        assert len(ordered) <= MOST_MARKS
        for (_, before_last, before_ms), (after_first, _, after_ms) in pairwise(ordered):
            assert before_last < after_first
            assert before_ms <= after_ms
        for first, end, _ in ordered:
            assert last[place, first][0] == end  # nothing that was not told, or was forgotten
        seen |= {(place, *mark) for mark in marks}
    assert len(seen) == len(times)
