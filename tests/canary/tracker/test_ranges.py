"""Ranges of absent probes against a naive set, their bounds on offsets, and their bound on memory."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from canary.tracker.counters import Outcome
from canary.tracker.ranges import MAX_RANGES, Absent, AbsentRanges

steps = st.lists(
    st.tuples(st.sampled_from(["add", "take"]), st.integers(0, 60), st.integers(0, 8)), max_size=60
)
ENDED = [Outcome.LOST, Outcome.UNKNOWN, Outcome.PRODUCE_UNKNOWN]


def one(
    first: int, last: int | None = None, outcome: Outcome = Outcome.LOST, offset: int | None = None
) -> Absent:
    last = first if last is None else last
    ends = (None, None) if offset is None else (offset, offset + last - first)
    return Absent(first, last, outcome, False, *ends, first * 1000, last * 1000, first * 1000, last * 1000)


def numbers(ranges: AbsentRanges) -> dict[int, Outcome]:
    return {number: held.outcome for held in ranges for number in range(held.first, held.last + 1)}


@given(steps, st.lists(st.sampled_from(ENDED), min_size=60, max_size=60))
@settings(deadline=None)
def test_ranges_hold_what_a_set_would_hold(steps, outcomes):
    ranges, naive = AbsentRanges(), {}
    for step, (what, first, more) in enumerate(steps):
        span = range(first, first + more + 1)
        if what == "add" and not any(number in naive for number in span):
            ranges.add(one(span[0], span[-1], outcomes[step]))
            naive |= dict.fromkeys(span, outcomes[step])
        elif what == "take":
            taken = [n for held in ranges.take(span[0], span[-1]) for n in range(held.first, held.last + 1)]
            assert sorted(taken) == sorted(number for number in span if naive.pop(number, None))
        assert numbers(ranges) == naive
        assert [held.first for held in ranges] == sorted(held.first for held in ranges)


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=40), st.lists(st.integers(0, 39), max_size=10), st.data()
)
@settings(deadline=None)
def test_offsets_of_a_range_are_bounds_and_where_dense_exact(gaps, cuts, data):
    offsets = [sum(gaps[: number + 1]) for number in range(len(gaps))]
    ranges = AbsentRanges()
    for number, offset in enumerate(offsets):
        ranges.add(one(number, offset=offset, outcome=Outcome.OVERDUE))
    assert len(ranges) == 1
    for number in cuts:
        ranges.take(number, number)
    for held in ranges:
        dense = offsets[held.last] - offsets[held.first] == held.last - held.first
        for number in range(held.first, held.last + 1):
            assert held.offset_at_least(number) <= offsets[number] <= held.offset_at_most(number)
            assert held.scheduled_ns(number) == number * 1000
            if dense and held.first_offset == offsets[held.first]:
                assert held.offset_at_least(number) == offsets[number]
        passed = data.draw(st.integers(0, offsets[-1] + 2))
        last = held.last_below(passed + 1)
        for number in range(held.first, min(last, held.last) + 1):
            assert offsets[number] <= passed
        if last < held.last:
            assert held.offset_at_most(last + 1) > passed


def test_neighbours_join_and_others_do_not():
    ranges = AbsentRanges()
    ranges.add(one(1))
    ranges.add(one(3))
    assert len(ranges) == 2
    ranges.add(one(2))
    assert [(held.first, held.last) for held in ranges] == [(1, 3)]
    ranges.add(one(4, outcome=Outcome.UNKNOWN))
    ranges.add(one(0, offset=7))
    assert len(ranges) == 3


def test_every_second_probe_lost_for_a_year_stays_flat():
    ranges = AbsentRanges()
    for number in range(0, 200_000, 2):
        ranges.add(one(number, offset=number))
    assert len(ranges) == MAX_RANGES
    assert list(numbers(ranges)) == list(range(200_000 - 2 * MAX_RANGES, 200_000, 2))


def test_outstanding_ones_are_never_forgotten_however_torn_they_are():
    ranges = AbsentRanges()
    for number in range(0, 20_000, 2):
        ranges.add(one(number, offset=number // 2, outcome=Outcome.OVERDUE))
    assert len(ranges) == MAX_RANGES
    assert sum(held.count for held in ranges) == 10_000
    oldest = ranges.oldest
    assert oldest.holes == oldest.last - oldest.first + 1 - oldest.count > 0
    for number in range(oldest.first, oldest.last + 1, 2):  # bounds hold in spite of the holes
        assert oldest.offset_at_least(number) <= number // 2 <= oldest.offset_at_most(number)
        assert oldest.last_below(number // 2 + 1) <= number + 1
    recovered = sum(part.count for number in range(0, 20_000, 2) for part in ranges.take(number, number))
    assert recovered == 10_000
    assert len(ranges) == 0


@given(st.data())
@settings(deadline=None)
def test_a_range_with_holes_is_cut_without_losing_or_making_a_probe(data):
    span = data.draw(st.integers(1, 30))
    count = data.draw(st.integers(1, span))
    held = Absent(0, span - 1, Outcome.OVERDUE, False, 0, count - 1, 0, span, 0, span * 1000, span - count)
    ranges = AbsentRanges()
    ranges.add(held)
    first = data.draw(st.integers(0, span - 1))
    last = data.draw(st.integers(first, span - 1))
    taken = ranges.take(first, last)
    assert sum(part.count for part in (*taken, *ranges)) == count
    for part in (*taken, *ranges):
        assert 1 <= part.count <= part.last - part.first + 1


@given(
    st.integers(0, 10**13),
    st.integers(1, 90_000),
    st.integers(1, 400),
    st.lists(st.integers(0, 399), max_size=6),
)
@settings(deadline=None)
def test_each_probe_of_a_range_is_counted_in_the_minute_in_which_it_was_due(
    start_ms, interval_ms, length, cuts
):
    ranges, truth = AbsentRanges(), Counter()
    for number in range(length):
        due_ms = start_ms + number * interval_ms
        ranges.add(Absent(number, number, Outcome.OVERDUE, False, number, number, 0, 0, due_ms, due_ms))
        truth[due_ms // 60_000] += 1
    assert len(ranges) == 1
    parts = [part for number in cuts for part in ranges.take(number, number)]
    found = Counter()
    for held in (*parts, *ranges):
        found.update(dict(held.by_minute()))
    assert found == truth


def test_neighbours_across_a_gap_in_the_schedule_are_kept_apart():
    ranges = AbsentRanges()
    for number, due_ms in enumerate([0, 1000, 2000, 600_000, 601_000]):
        ranges.add(Absent(number, number, Outcome.OVERDUE, False, 0, 0, 0, 0, due_ms, due_ms))
    assert [(held.first, held.last) for held in ranges] == [(0, 2), (3, 4)]
