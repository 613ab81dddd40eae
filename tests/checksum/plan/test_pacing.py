"""Slices read everything once, hold no more than they may, and keep the rate over any time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum.plan.pacing import (
    LEAST_FETCH_BYTES,
    LEAST_SHARE_BYTES,
    MOST_FETCH_BYTES,
    UNKNOWN_RECORD_BYTES,
    UNPACED,
    RatePacer,
    SliceLimits,
    Stretch,
    ahead_bytes,
    corrected,
    estimate,
    expected_bytes,
    fetch_bytes,
    next_slice,
    slice_limits,
)

SPANS = st.lists(st.integers(1, 2000), min_size=1, max_size=12)
SIZES = st.lists(st.floats(1, 5_000), min_size=12, max_size=12)
MEASURES = st.builds(
    SliceLimits, size_bytes=st.floats(1e5, 1e7), offsets=st.integers(50, 10_000), places=st.integers(1, 14)
)


def stretches(spans):
    return [Stretch(number, 100 * number, 100 * number + span) for number, span in enumerate(spans)]


def sliced(left, sizes, most):
    """Return the slices that read all of `left`; fail where one does not get on."""
    found = []
    while left:
        before = sum(one.span for one in left)
        taken, left = next_slice(left, sizes, most)
        assert sum(one.span for one in left) == before - sum(one.span for one in taken) < before
        found.append(taken)
    return found


@given(SPANS, SIZES, MEASURES)
def test_every_offset_is_read_once_and_in_order(spans, sizes, most):
    slices = sliced(stretches(spans), dict(enumerate(sizes)), most)
    for one in stretches(spans):
        pieces = [piece for taken in slices for piece in taken if piece.place == one.place]
        assert [piece.first for piece in pieces] == [one.first, *(piece.until for piece in pieces[:-1])]
        assert pieces[-1].until == one.until
        assert all(piece.span > 0 for piece in pieces)


@given(SPANS, SIZES, MEASURES)
def test_a_slice_holds_no_more_than_it_may_but_one_offset_of_each_place(spans, sizes, most):
    for taken in sliced(stretches(spans), dict(enumerate(sizes)), most):
        assert len(taken) <= most.places
        assert sum((one.span - 1) * sizes[one.place] for one in taken) <= most.size_bytes * (1 + 1e-9)
        assert sum(one.span for one in taken) <= max(most.offsets, len(taken))


def test_what_a_short_place_leaves_goes_to_the_others():
    left = [Stretch(0, 0, 10), Stretch(1, 0, 1000), Stretch(2, 0, 1000)]
    taken, rest = next_slice(left, {0: 1.0, 1: 1.0, 2: 1.0}, SliceLimits(210, 1000, 8))
    assert [one.span for one in taken] == [10, 100, 100]
    assert rest == [Stretch(1, 100, 1000), Stretch(2, 100, 1000)]


def test_places_beyond_the_most_wait_for_their_turn():
    left = stretches([10, 10, 10])
    taken, rest = next_slice(left, dict.fromkeys(range(3), 1.0), SliceLimits(1e6, 1000, 2))
    assert taken == left[:2]
    assert rest == left[2:]


def test_a_place_that_is_read_whole_is_not_divided_and_waits_for_its_turn():
    left, sizes = stretches([10, 50, 5, 15, 10, 3]), dict.fromkeys(range(6), 1.0)
    slices, most = [], SliceLimits(20, 1000, 8)
    while left:
        taken, left = next_slice(left, sizes, most, whole={1, 2, 3, 5})
        slices.append([(one.place, one.span) for one in taken])
    assert slices == [[(0, 10)], [(1, 50)], [(2, 5), (3, 15)], [(4, 10)], [(5, 3)]]


def test_without_a_rate_slices_are_large():
    assert slice_limits(None) == UNPACED
    assert fetch_bytes(None, places=1) == MOST_FETCH_BYTES
    assert RatePacer(None, now_s=0.0).wait_s(1e9, now_s=0.0) == 0.0


@pytest.mark.parametrize(
    ("rate", "places"), [(1.0, 1), (LEAST_SHARE_BYTES, 10), (LEAST_SHARE_BYTES * 1e6, UNPACED.places)]
)
def test_a_low_rate_reads_few_places_at_a_time(rate, places):
    # Kafka hands out whole batches: a share of a few bytes of each of many places would read far more.
    assert slice_limits(rate).places == places


@pytest.mark.parametrize(
    ("rate", "places", "size"),
    [
        (1.0, 4, LEAST_FETCH_BYTES),
        (1_200_000.0, 4, 187_500),  # 12 MB in a slice, 3 MB of a partition
        (1_200_000.0, 1, 750_000),
        (1_200_000.0, 5000, LEAST_FETCH_BYTES),
        (1e9, 1, MOST_FETCH_BYTES),
    ],
)
def test_a_fetch_is_little_of_a_place_s_share_of_a_slice(rate, places, size):
    assert fetch_bytes(rate, places=places) == size
    assert ahead_bytes(rate, places=places) == 2 * min(places, slice_limits(rate).places) * size


class Reader:
    """Reads slices as Spark does, in time made up here: it waits until they are due, then at its own speed."""

    def __init__(self, speeds, max_rate):
        self.now_s = 5.0
        self.read = []  # (from, until, bytes)
        self._speeds = speeds
        self._dues = RatePacer(max_rate, now_s=self.now_s)

    def take(self, size_bytes, expected):
        self.now_s += self._dues.wait_s(expected, now_s=self.now_s)
        took_s = size_bytes / self._speeds[len(self.read) % len(self._speeds)]
        self.read.append((self.now_s, self.now_s + took_s, size_bytes))
        self.now_s += took_s
        self._dues.pay(size_bytes)

    def between(self, first_s, last_s):
        """Return the bytes counted from one moment to another."""
        return sum(
            size * max(0.0, min(until, last_s) - max(first, first_s)) / (until - first)
            for first, until, size in self.read
        )


@given(
    SPANS,
    st.lists(st.tuples(st.integers(1, 20_000), st.floats(1, 20_000)), min_size=12, max_size=12),
    st.floats(1000, 1e7),
    st.lists(st.floats(1e3, 1e9), min_size=1, max_size=4),
    st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_the_rate_is_kept_over_any_time(spans, sizes_of_records, rate, speeds, window):
    truly, guessed = zip(*sizes_of_records, strict=True)
    reader, left, sizes = Reader(speeds, rate), stretches(spans), dict(enumerate(guessed))
    most = slice_limits(rate)
    while left:
        taken, left = next_slice(left, sizes, most)
        reader.take(sum(piece.span * truly[piece.place] for piece in taken), expected_bytes(taken, sizes))
        for piece in taken:
            size = piece.span * truly[piece.place]
            sizes[piece.place] = corrected(sizes[piece.place], records=piece.span, size_bytes=size)
    first_s, last_s = sorted(share * reader.now_s for share in window)
    at_the_ends = 2 * max(size for _, _, size in reader.read)
    assert reader.between(first_s, last_s) <= (rate * (last_s - first_s) + at_the_ends) * (1 + 1e-6)


@given(SPANS, SIZES, st.floats(20_000, 1e7), st.lists(st.floats(1e3, 1e9), min_size=1, max_size=4))
def test_what_is_expected_rightly_is_never_ahead_of_the_rate(spans, sizes_of_records, rate, speeds):
    reader, left, sizes = Reader(speeds, rate), stretches(spans), dict(enumerate(sizes_of_records))
    begun_s = reader.now_s
    while left:
        taken, left = next_slice(left, sizes, slice_limits(rate))
        reader.take(expected_bytes(taken, sizes), expected_bytes(taken, sizes))
        read = sum(size for _, _, size in reader.read)
        assert read <= rate * (reader.now_s - begun_s) * (1 + 1e-6)


def test_time_that_passes_unused_is_saved_up_for_one_slice_only():
    dues = RatePacer(100.0, now_s=0.0)
    assert dues.wait_s(1000, now_s=0.0) == 10
    dues.pay(3000)  # three times what was expected
    assert dues.wait_s(1000, now_s=10.0) == 30
    dues.pay(1000)
    assert dues.wait_s(1000, now_s=500.0) == 0
    dues.pay(1000)
    assert dues.wait_s(1000, now_s=500.0) == 10


def test_an_estimate_rises_at_once_and_falls_by_half():
    assert estimate(0) == UNKNOWN_RECORD_BYTES
    assert estimate(200) == 212
    assert corrected(100.0, records=10, size_bytes=5000) == 500
    assert corrected(1000.0, records=10, size_bytes=10) == 500
    assert corrected(100.0, records=0, size_bytes=0) == 100
    assert corrected(1.0, records=10, size_bytes=0) == 1
