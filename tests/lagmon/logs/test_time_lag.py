"""Seconds behind: which rule answers, what the answer is worth, and that it is always a number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagmon.logs.heads import Heads
from lagmon.logs.time_lag import LagKind, lag_s, written
from tests.lagmon.every_poll import EveryPoll
from tests.lagmon.logs.test_heads import GREATEST, S, T, longs, looked, places

NOW = T + 60 * S
LEAST = -(2**63)


def lag(heads, offset, now_ms=NOW, place=0):
    seconds, kinds = lag_s(heads, places(place), longs(offset), now_ms)
    return float(seconds[0]), LagKind(kinds[0])


def with_start(start, start_at_ms):
    """Return heads that saw 100 at T and 200 ten seconds later, of a log that begins there."""
    heads = looked((100, 0), (200, 10 * S))
    heads.note_starts(places(0), longs(start), longs(start_at_ms))
    return heads


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (200, (0.0, LagKind.EXACT)),  # at the newest end
        (201, (0.0, LagKind.EXACT)),  # past it
        (GREATEST, (0.0, LagKind.EXACT)),
        (199, (50.05, LagKind.EXACT)),  # between two looks
        (100, (59.95, LagKind.EXACT)),
        (99, (60.0, LagKind.AT_LEAST)),  # older than all looks
        (0, (60.0, LagKind.AT_LEAST)),
        (-1, (-1.0, LagKind.NONE)),
        (LEAST, (-1.0, LagKind.NONE)),
    ],
)
def test_each_rule_without_a_log_start(offset, expected):
    assert lag(looked((100, 0), (200, 10 * S)), offset) == expected


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (0, (160.0, LagKind.AT_LEAST)),  # deleted: so old at least as what follows it
        (49, (160.0, LagKind.AT_LEAST)),
        (50, (160.0, LagKind.ESTIMATE)),  # the record whose timestamp it is
        (75, (110.0, LagKind.ESTIMATE)),
        (99, (62.0, LagKind.ESTIMATE)),
        (100, (59.95, LagKind.EXACT)),
    ],
)
def test_each_rule_with_the_log_starts_timestamp(offset, expected):
    assert lag(with_start(50, T - 100 * S), offset) == expected


@pytest.mark.parametrize(
    ("start", "start_at_ms"),
    [
        (50, -1),  # none
        (50, LEAST),
        (50, T + 1),  # later than our look at it
        (50, GREATEST),
        (100, T - S),  # written after our look, whatever it says
        (150, T - S),
        (GREATEST, 0),
    ],
)
def test_a_log_start_that_proves_nothing_is_left_out(start, start_at_ms):
    assert lag(with_start(start, start_at_ms), 20) == (60.0, LagKind.AT_LEAST)


HOUR = 3600 * S


def with_records(*found, start=None):
    """Return heads that saw 1,000 at T and 2,000 ten seconds later; records are (from, offset, ms before T)."""
    heads = looked((1000, 0), (2000, 10 * S))
    if start is not None:
        heads.note_starts(places(0), longs(start))
    for first, offset, before_ms in found:
        heads.note_records(places(0), longs(first), longs(offset), longs(T - before_ms))
    return heads


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (99, (HOUR / S + 60, LagKind.AT_LEAST)),  # as old as what comes behind it, at least
        (100, (HOUR / S + 60, LagKind.ESTIMATE)),
        (120, (HOUR / S + 60, LagKind.ESTIMATE)),  # there is no other record in between
        (340, (2700 + 60, LagKind.ESTIMATE)),  # a quarter of the way to the oldest look
        (780, (900 + 60, LagKind.ESTIMATE)),
        (1000, (59.995, LagKind.EXACT)),
    ],
)
def test_a_records_own_time_is_told_and_what_is_behind_it_by_the_line(offset, expected):
    assert lag(with_records((100, 120, HOUR)), offset) == expected


def test_between_two_records_it_is_the_line_between_them():
    heads = with_records((100, 100, HOUR), (500, 500, HOUR // 2))
    assert lag(heads, 300) == (2700 + 60, LagKind.ESTIMATE)
    assert lag(heads, 750) == (900 + 60, LagKind.ESTIMATE)


def test_who_stands_before_a_record_has_not_read_an_older_one_behind_it_either():
    heads = with_records((100, 100, HOUR // 4), (200, 200, HOUR // 8), (500, 500, HOUR))
    for offset in (100, 200, 300, 500):
        assert lag(heads, offset) == (3600 + 60, LagKind.ESTIMATE)


@pytest.mark.parametrize("before_ms", [-1, T, T - 1, T - 1_790_000_000, T + 1, -(2**62)])
def test_a_time_that_no_record_can_have_is_no_fact(before_ms):
    """Later than our look at it, of 1970, or none."""
    assert lag(with_records((100, 100, before_ms)), 100) == (60.0, LagKind.AT_LEAST)


def test_a_reader_whose_records_are_gone_is_as_far_behind_as_the_first_that_is_left_at_least():
    heads = with_records((300, 300, HOUR), start=300)
    assert lag(heads, 20) == (3660.0, LagKind.AT_LEAST)
    assert lag(heads, 300) == (3660.0, LagKind.ESTIMATE)
    # The start has gone on since, and its first record was not looked at again: the line.
    heads.note_starts(places(0), longs(650))
    assert lag(heads, 20) == (1800 + 60, LagKind.ESTIMATE)


def test_after_a_restart_a_record_at_the_start_is_known_by_its_time_still():
    before = with_records((300, 300, HOUR), start=300)
    assert lag(Heads.of(before.state(places(0))), 300) == (3660.0, LagKind.ESTIMATE)


def away():
    """Return heads that saw 100 at T, and 200 an hour later, after we were away."""
    before = looked((100, 0))
    heads = Heads()
    heads.claim(1)
    heads.take_up(places(0), before.state(places(0)))
    heads.note_away()
    heads.note(places(0), longs(200), T + HOUR)
    return heads


def test_what_came_while_nobody_looked_is_as_old_as_the_look_after_it_at_least():
    heads = away()
    assert lag(heads, 150, T + HOUR + 60 * S) == (60.0, LagKind.AT_LEAST)
    assert lag(heads, 99, T + HOUR + 60 * S) == (3660.0, LagKind.AT_LEAST)


def test_what_came_while_nobody_looked_is_known_by_its_own_time():
    heads = away()
    heads.note_records(places(0), longs(150), longs(150), longs(T + HOUR // 2))
    assert lag(heads, 150, T + HOUR + 60 * S) == (1860.0, LagKind.ESTIMATE)
    assert lag(heads, 151, T + HOUR + 60 * S) == (60.0, LagKind.AT_LEAST)


def test_when_a_record_was_written_is_told_with_what_that_is_worth():
    heads = with_records((100, 120, HOUR))
    offsets = longs(99, 110, 1000, 2000, -1)
    at_ms, kinds = written(heads, np.zeros(5, np.int32), offsets)
    assert (at_ms - T).tolist() == [-HOUR, -HOUR, 5, -1 - T, -1 - T]
    assert kinds.tolist() == [
        LagKind.AT_LEAST,
        LagKind.ESTIMATE,
        LagKind.EXACT,
        LagKind.NONE,
        LagKind.NONE,
    ]


def test_nothing_known_is_no_answer_and_not_zero():
    heads = Heads()
    heads.claim(2)
    heads.note(places(0), longs(-1), T)
    heads.note_starts(places(0), longs(5), longs(T))
    for offset in (0, 7, GREATEST):
        assert lag(heads, offset) == (-1.0, LagKind.NONE)


def test_an_idle_partition_that_was_read_is_not_behind():
    heads = looked(*((500, number * 10 * S) for number in range(400)))
    assert lag(heads, 500, T + 10**9) == (0.0, LagKind.EXACT)


def test_a_reader_of_an_idle_partition_is_behind_since_it_was_written():
    heads = looked((400, 0), *((500, number * 10 * S) for number in range(1, 400)))
    seconds, kind = lag(heads, 499, T + 3990 * S)
    assert (kind, seconds) == (LagKind.EXACT, pytest.approx(3980, abs=0.1))


def test_the_first_record_after_a_silence_is_young():
    heads = looked(*((500, number * 10 * S) for number in range(360)), (501, 3600 * S))
    assert lag(heads, 500, T + 3600 * S) == (5.0, LagKind.EXACT)


def test_a_burst_is_as_old_as_it_is():
    heads = looked((10, 0), (1_000_010, 10 * S), (1_000_010, 20 * S))
    assert lag(heads, 500_010, T + 20 * S) == (15.0, LagKind.EXACT)


def test_a_topic_made_anew_has_none_of_the_old_ones_age():
    heads = looked((100, 0), (200, 10 * S))
    heads.note_starts(places(0), longs(50), longs(T - 100 * S))
    heads.forget(places(0))
    assert lag(heads, 150) == (-1.0, LagKind.NONE)
    heads.note(places(0), longs(7), T + 50 * S)
    assert lag(heads, 3) == (10.0, LagKind.AT_LEAST)
    assert lag(heads, 7) == (0.0, LagKind.EXACT)


@pytest.mark.parametrize(("now_ms", "seconds"), [(T, 0.0), (0, 0.0), (LEAST, 0.0), (T + 10 * S, 0.05)])
def test_a_clock_behind_the_looks_gives_zero(now_ms, seconds):
    assert lag(looked((100, 0), (200, 10 * S)), 199, now_ms) == (seconds, LagKind.EXACT)


@pytest.mark.parametrize("now_ms", [2**62, GREATEST])
def test_a_clock_far_ahead_gives_a_finite_number(now_ms):
    assert 0 < lag(looked((100, 0), (200, 10 * S)), 199, now_ms)[0] < 1e12


def test_every_row_is_answered_by_itself():
    heads = Heads()
    heads.claim(4)
    heads.note(places(0, 1, 2), longs(100, 100, 100), T)
    heads.note(places(0, 1, 2), longs(200, 100, 200), T + 10 * S)
    heads.note_starts(places(2), longs(0), longs(T - 100 * S))
    seconds, kinds = lag_s(heads, places(3, 2, 1, 0, 0), longs(5, 50, 100, 100, 20), NOW)
    assert seconds.tolist() == [-1.0, 110.0, 0.0, 59.95, 60.0]
    assert kinds.tolist() == [LagKind.NONE, LagKind.ESTIMATE, LagKind.EXACT, LagKind.EXACT, LagKind.AT_LEAST]
    assert (seconds.dtype, kinds.dtype) == (np.float64, np.uint8)


def test_no_rows_have_no_answers():
    seconds, kinds = lag_s(Heads(), places(), longs(), NOW)
    assert len(seconds) == len(kinds) == 0


any_long = st.one_of(st.integers(LEAST, GREATEST), st.integers(-5, 60), st.sampled_from([LEAST, 0, GREATEST]))
any_time = st.one_of(any_long, st.integers(T - 10**6, T + 10**6))


@given(
    st.lists(st.tuples(any_long, any_time), max_size=45),
    st.tuples(any_long, any_time),
    st.lists(st.tuples(st.integers(0, GREATEST), st.integers(0, GREATEST), any_time), max_size=8),
    st.lists(any_long, min_size=1, max_size=20),
    any_time,
)
@settings(deadline=None, max_examples=300)
def test_whatever_is_told_the_answer_is_a_number_that_is_not_negative(looks, start, records, offsets, now_ms):
    heads = Heads()
    heads.claim(1)
    for end, at_ms in looks:
        heads.note(places(0), longs(end), at_ms)
    heads.note_starts(places(0), longs(start[0]), longs(start[1]))
    for one, other, at_ms in records:
        heads.note_records(places(0), longs(min(one, other)), longs(max(one, other)), longs(at_ms))
    offsets = sorted(offsets)
    seconds, kinds = lag_s(heads, np.zeros(len(offsets), np.int32), longs(*offsets), now_ms)
    assert np.isfinite(seconds).all()
    assert ((seconds >= 0) | (kinds == LagKind.NONE)).all()
    assert (seconds[kinds == LagKind.NONE] == -1).all()
    known = any(end >= 0 for end, _ in looks)
    assert ((kinds == LagKind.NONE) == ((longs(*offsets) < 0) | (not known))).all()


@given(
    st.lists(st.tuples(st.integers(1, 40 * S), st.integers(0, 5)), min_size=1, max_size=60),
    st.integers(0, 40),
    st.integers(0, 10**6),
    st.lists(st.tuples(st.integers(0, 49), st.integers(0, 5), st.integers(-(10**5), 10**6)), max_size=8),
)
@settings(deadline=None)
def test_who_is_further_behind_in_records_is_not_less_behind_in_seconds(looks, start, start_age_ms, records):
    heads, every, at_ms, end = Heads(), EveryPoll(), T, 50
    heads.claim(1)
    for pause_ms, step in looks:
        at_ms, end = at_ms + pause_ms, end + step
        heads.note(places(0), longs(end), at_ms)
        every.note(end, at_ms)
    heads.note_starts(places(0), longs(start), longs(T - start_age_ms))
    for first, more, age_ms in records:
        heads.note_records(places(0), longs(first), longs(first + more), longs(T - age_ms))
    offsets = np.arange(end + 2)
    seconds, kinds = lag_s(heads, np.zeros(len(offsets), np.int32), offsets, at_ms)
    assert (np.diff(seconds) <= 0).all()
    assert seconds[end] == 0
    for offset, second, kind in zip(offsets.tolist(), seconds.tolist(), kinds.tolist(), strict=True):
        if kind == LagKind.AT_LEAST and offset >= start and not records:  # never more than by every look
            assert second <= (at_ms - every.passed(offset)[0]) / 1000
