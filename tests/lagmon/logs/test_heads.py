"""Positions: rows that come and go, what a look changes, and when an end passed an offset."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagmon.logs.heads import Heads
from tests.lagmon.every_poll import EveryPoll

T = 1_800_000_000_000
S = 1000
DAY = 86_400_000
GREATEST = 2**63 - 1


def longs(*values):
    return np.array(values, np.int64)


def places(*values):
    return np.array(values, np.int32)


def looked(*looks):
    """Return heads with one place that was looked at so: (end, ms after T)."""
    heads = Heads()
    heads.claim(1)
    for end, ms in looks:
        heads.note(places(0), longs(end), T + ms)
    return heads


def passed(heads, *offsets):
    times, exact = heads.passed_ms(np.zeros(len(offsets), np.int32), longs(*offsets))
    return [(ms - T if ms >= 0 else ms, bool(sure)) for ms, sure in zip(times.tolist(), exact, strict=True)]


def test_nothing_is_known_of_a_new_place():
    heads = Heads()
    assert heads.claim(2).tolist() == [0, 1]
    for array in (heads.start, heads.start_at_ms, heads.end, heads.stable, heads.sampled_ms):
        assert array.tolist() == [-1, -1]
    assert (heads.recent(places(0, 1)) == -1).all()
    assert passed(heads, 0, 7) == [(-1, False), (-1, False)]
    assert heads.oldest_ms(places(0))[1].tolist() == [-1]


def test_a_look_is_the_newest_and_the_last_ten_ends_stand_at_the_right():
    heads = Heads()
    heads.claim(2)
    for number in range(13):
        heads.note(places(1), longs(100 + number), T + number * S)
    assert heads.end.tolist() == [-1, 112]
    assert heads.sampled_ms.tolist() == [-1, T + 12 * S]
    assert heads.recent(places(0, 1)).tolist() == [[-1] * 10, list(range(103, 113))]
    assert heads.oldest_recent(places(1, 0, 1)).tolist() == [103, -1, 103]


def test_a_negative_end_is_no_answer():
    heads = looked((5, 0))
    heads.note(places(0), longs(-1), T + S)
    heads.note(places(0), longs(-(2**63)), T + S)
    assert heads.sampled_ms.tolist() == [T]
    assert heads.recent(places(0)).tolist() == [[-1] * 9 + [5]]


def test_only_the_places_with_an_answer_are_noted():
    heads = Heads()
    heads.claim(4)
    heads.note(places(3, 0, 2), longs(30, -1, 20), T)
    assert heads.end.tolist() == [-1, -1, 20, 30]


def test_starts_and_stable_offsets_of_no_answer_change_nothing():
    heads = Heads()
    heads.claim(2)
    heads.note_starts(places(0, 1), longs(4, 5), longs(T, -1))
    heads.note_stable(places(0, 1), longs(8, 9))
    heads.note_starts(places(0, 1), longs(-1, 6), longs(T + 1, T + 2))
    heads.note_stable(places(0, 1), longs(-1, 10))
    assert (heads.start.tolist(), heads.start_at_ms.tolist()) == ([4, 6], [T, T + 2])
    assert heads.stable.tolist() == [8, 10]


def test_a_start_that_moves_loses_its_timestamp_and_one_that_stands_keeps_it():
    heads = Heads()
    heads.claim(2)
    heads.note_starts(places(0, 1), longs(4, 5), longs(T, T))
    heads.note_starts(places(0, 1), longs(4, 6))
    assert heads.start_at_ms.tolist() == [T, -1]


def test_released_places_come_again_knowing_nothing():
    heads = Heads()
    heads.claim(3)
    heads.note(places(0, 1, 2), longs(7, 8, 9), T)
    heads.note_starts(places(1), longs(1), longs(T))
    heads.note_stable(places(1), longs(1))
    heads.release(places(1))
    assert heads.end.tolist() == [7, -1, 9]
    assert sorted(heads.claim(2).tolist()) == [1, 3]
    for array in (heads.start, heads.start_at_ms, heads.stable):
        assert array.tolist() == [-1] * 4
    assert passed(heads, 0)[0] == (0, False)
    assert heads.passed_ms(places(1), longs(0))[0].tolist() == [-1]


def test_a_place_made_anew_begins_anew():
    heads = looked((100, 0), (200, 10 * S))
    heads.forget(places(0))
    heads.note(places(0), longs(3), T + 20 * S)
    assert heads.fallen == 0
    assert passed(heads, 2, 3, 150) == [(20 * S, False), (-1, False), (-1, False)]


def test_growth_keeps_what_is_known_and_takes_little_more_than_there_is():
    heads = Heads()
    for number in range(2500):
        heads.note(heads.claim(1), longs(number + 1), T + number)
    assert heads.end.tolist() == list(range(1, 2501))
    assert heads.sampled_ms.tolist() == list(range(T, T + 2500))
    assert len(heads._start) <= 2500 * 9 / 8 + 1


def test_fifty_thousand_places_take_twelve_megabytes():
    heads = Heads()
    heads.claim(50_000)
    kept = [*vars(heads).values(), *vars(heads._ends).values()]
    arrays = [array for array in kept if isinstance(array, np.ndarray)]
    assert len(arrays) == 7
    assert sum(array.nbytes for array in arrays) == 50_000 * 232


def test_the_records_between_two_looks_are_taken_as_written_evenly():
    heads = looked((100, 0), (110, 10 * S))
    assert passed(heads, 100, 104, 109) == [(500, True), (4500, True), (9500, True)]


def test_at_the_end_and_past_it_nothing_has_passed():
    assert passed(looked((100, 0), (110, S)), 110, 111, GREATEST) == [(-1, False)] * 3


def test_what_is_older_than_all_looks_is_bounded_by_the_oldest():
    heads = looked((100, 0), (110, 10 * S))
    assert passed(heads, 99, 0, -1, -(2**63)) == [(0, False), (0, False), (-1, False), (-1, False)]
    end, ms = heads.oldest_ms(places(0))
    assert (end.tolist(), ms.tolist()) == ([100], [T])


@pytest.mark.parametrize("end", [1, 2**53 + 1, GREATEST])
def test_the_greatest_offsets_are_told_apart(end):
    heads = looked((0, 0), (end - 1, 10 * S), (end, 20 * S))
    assert passed(heads, end - 1, end) == [(15 * S, True), (-1, False)]


def test_a_huge_step_has_a_time_between_its_looks():
    step = 2**31 - 1
    heads = looked((GREATEST - step, 0), (GREATEST, 10 * S))
    offsets = (GREATEST - step, GREATEST - step // 2, GREATEST - 1)
    assert passed(heads, *offsets) == [(0, True), (5 * S, True), (10 * S, True)]


def test_of_a_step_too_huge_to_keep_it_is_known_that_it_was_made_by_then():
    heads = looked((0, 0), (GREATEST, 10 * S))
    assert passed(heads, 0, 2**62, GREATEST - 1) == [(10 * S, False)] * 3


def test_an_end_that_falls_keeps_what_is_below_it_and_is_counted():
    heads = looked((0, 0), (100, 10 * S), (200, 20 * S), (120, 30 * S), (140, 40 * S))
    assert heads.fallen == 1
    assert heads.end.tolist() == [140]
    # What was above is written anew; what is below was there when the end first passed it.
    assert passed(heads, 50, 110, 119, 120, 139, 140) == [
        (5050, True),
        (15250, True),
        (19750, True),
        (30250, True),
        (39750, True),
        (-1, False),
    ]


def test_a_stable_offset_falls_with_the_end():
    heads = looked((100, 0))
    heads.note_stable(places(0), longs(90))
    heads.note(places(0), longs(40), T + S)
    assert heads.stable.tolist() == [40]


def test_only_the_places_that_fell_are_changed():
    heads = Heads()
    heads.claim(3)
    heads.note(places(0, 1, 2), longs(100, 100, 100), T)
    heads.note(places(0, 1, 2), longs(110, 50, 100), T + 10 * S)
    times, exact = heads.passed_ms(places(0, 1, 2), longs(100, 60, 60))
    assert (times.tolist(), exact.tolist()) == ([T + 500, -1, T], [True, False, False])
    assert heads.fallen == 1


def test_an_end_may_fall_to_nothing_and_rise_again():
    heads = looked((100, 0), (0, 10 * S), (10, 20 * S))
    assert passed(heads, 0, 9) == [(10_500, True), (19_500, True)]


def test_a_clock_set_back_takes_later_times_down_to_its_own():
    heads = looked((0, 0), (100, 100 * S), (200, 110 * S), (300, 50 * S), (400, 60 * S))
    found = passed(heads, 50, 150, 250, 350)
    # Between looks of one instant nothing tells when that was.
    assert found == [(25_250, True), (50_000, False), (50_000, False), (55_050, True)]
    assert heads.sampled_ms.tolist() == [T + 60 * S]


def test_times_never_run_backwards_whatever_the_clock_does():
    heads = looked(*((number, ms) for number, ms in enumerate([0, 9, 3, -(10**9), 5, 2**60, 4, -(2**63), 1])))
    times = heads.passed_ms(np.zeros(8, np.int32), np.arange(8))[0]
    assert (np.diff(times) >= 0).all()
    assert (times >= 0).all()


def test_after_a_leap_of_years_the_old_looks_are_old_and_no_longer_exact():
    heads = looked((0, 0), (100, 10 * S), (200, 4000 * DAY), (300, 4000 * DAY + 10 * S))
    (old, sure), between, (new, still) = passed(heads, 50, 150, 250)
    assert not sure
    assert old <= 4000 * DAY - 12 * DAY
    assert not between[1]
    assert (new, still) == (4000 * DAY + 5050, True)


def test_a_fortnight_of_looks_loses_no_millisecond():
    heads, every = Heads(), EveryPoll()
    heads.claim(1)
    for day in range(60):
        for ms in (day * DAY, day * DAY + 7):
            heads.note(places(0), longs(2 * day + (ms % DAY > 0)), T + ms)
            every.note(2 * day + (ms % DAY > 0), T + ms)
    offsets = np.arange(112, 119)
    times, exact = heads.passed_ms(np.zeros(7, np.int32), offsets)
    assert exact.tolist() == [True, False] * 3 + [True]  # every other was written while nobody looked
    assert times.tolist() == [every.passed(int(offset))[0] for offset in offsets]


def test_more_rows_than_are_dealt_with_at_once_are_all_seen():
    heads = Heads()
    every = heads.claim(40_000)
    shuffled = np.random.default_rng(5).permutation(every)
    heads.note(every, every.astype(np.int64) + 10, T)
    heads.note(shuffled, shuffled.astype(np.int64) + 12, T + 10 * S)
    assert (heads.end == np.arange(40_000) + 12).all()
    times, exact = heads.passed_ms(shuffled, shuffled.astype(np.int64) + 11)
    assert exact.all()
    assert (times == T + 7500).all()


@pytest.mark.parametrize("later_looks", [0, 1, 8, 9, 10, 11, 30])
@pytest.mark.parametrize("gap_s", [120, 121, 600, 3600])
def test_what_came_while_nobody_looked_came_at_the_look_after_it(gap_s, later_looks):
    looks = [(100 + number, number * 10 * S) for number in range(30)]
    back_ms = looks[-1][1] + gap_s * S
    heads = looked(*looks, (1129, back_ms), *((1139 + n, back_ms + n * 10 * S) for n in range(later_looks)))
    line = (290_000 + round(gap_s * S * 0.5005), True)
    assert passed(heads, 629, 1128)[0] == (line if gap_s == 120 else (back_ms, False))
    assert heads.end.tolist() == [1129 if not later_looks else 1138 + later_looks]
    assert passed(heads, 128)[0] == (285_000, True)  # what was there before keeps its time


def test_an_end_that_stood_while_nobody_looked_has_a_bracket_when_it_moves():
    heads = looked((100, 0), (200, 10 * S), (200, 700 * S), (300, 710 * S))
    assert passed(heads, 150, 200) == [(5050, True), (700_050, True)]


def test_an_end_below_the_start_is_of_another_log_whose_start_is_not_known():
    heads = Heads()
    heads.claim(3)
    heads.note(places(0, 1, 2), longs(900, 900, 900), T)
    heads.note_starts(places(0, 1, 2), longs(300, 300, 300), longs(T, T, T))
    heads.note_starts(places(0, 1, 2), longs(400, 400, 400), longs(T, T, T), read_ms=T + S)
    heads.note(places(0, 1, 2), longs(399, 400, -1), T + 10 * S)
    assert heads.start.tolist() == [-1, 400, 400]
    assert heads.start_at_ms.tolist() == [-1, T, T]
    assert (heads.fallen, heads.fallen_below_start) == (2, 1)
    heads.note_starts(places(0), longs(0), read_ms=T + 11 * S)
    assert heads.starts.as_of(places(0, 1), heads.start[:2], longs(T, T)).tolist() == [0, 300]


@given(st.lists(st.integers(0, 12), min_size=1, max_size=40), st.integers(0, 13))
@settings(deadline=None)
def test_a_fall_changes_no_answer_of_burrows_ring(ends, offset):
    # Burrow keeps the last ten ends as they were read, and asks whether any is at or below a commit.
    heads = looked(*((end, number * S) for number, end in enumerate(ends)))
    ring = heads.recent(places(0))[0]
    known = ring[ring >= 0]
    assert len(known) == min(len(ends), 10)
    assert (known <= offset).any() == any(end <= offset for end in ends[-10:])


@given(
    st.lists(
        st.tuples(st.integers(0, 30 * S), st.lists(st.integers(-1, 50), min_size=3, max_size=3)), max_size=24
    ),
    st.permutations([0, 1, 2]),
)
@settings(deadline=None)
def test_as_long_as_there_is_room_the_times_are_those_of_all_looks(looks, order):
    heads, references = Heads(), [EveryPoll() for _ in range(3)]
    heads.claim(3)
    at_ms = T
    for pause_ms, ends in looks:
        at_ms += pause_ms
        heads.note(places(*order), longs(*(ends[place] for place in order)), at_ms)
        for reference, end in zip(references, ends, strict=True):
            reference.note(end, at_ms)
    for place, reference in enumerate(references):
        times, exact = heads.passed_ms(np.full(52, place, np.int32), np.arange(-1, 51))
        expected = [reference.passed(offset) or (-1, False) for offset in range(-1, 51)]
        assert exact.tolist() == [sure for _, sure in expected]
        assert times.tolist() == [ms for ms, _ in expected]


def known_of(heads, place, offset):
    """Return when the record at or before an offset was written by its own word, -1 not known."""
    return int(heads.records.around(places(place), longs(offset)).at_ms[0])


def test_what_records_tell_is_forgotten_with_their_log():
    heads = Heads()
    heads.claim(3)
    heads.note(places(0, 1, 2), longs(9, 9, 9), T)
    heads.note_records(places(0, 1, 2), longs(3, 3, 3), longs(5, 5, 5), longs(T, T, T))
    heads.note(places(0, 1), longs(5, 6), T + S)  # the record at 5 was cut off, and stayed
    assert [known_of(heads, place, 4) for place in range(3)] == [-1, T, T]
    heads.forget(places(1))
    heads.release(places(2))
    assert [known_of(heads, place, 4) for place in range(3)] == [-1, -1, -1]


@pytest.mark.parametrize(
    ("first", "record", "at_ms", "known"),
    [
        (4, 4, T - S, T - S),
        (4, 6, T - S, T - S),  # compacted from the start on
        (5, 6, T - S, -1),  # not from the start
        (2, 3, T - S, -1),  # before it
        (4, 4, 5, -1),  # no time of this century
    ],
)
def test_the_time_of_the_logs_first_record_is_kept_with_the_start(first, record, at_ms, known):
    heads = looked((9, 0))
    heads.note_starts(places(0), longs(4))
    heads.note_records(places(0), longs(first), longs(record), longs(at_ms))
    assert heads.start_at_ms.tolist() == [known]
