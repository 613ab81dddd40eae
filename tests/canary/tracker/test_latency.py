"""The histogram and the recent quantiles against a naive computation."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canary.tracker.latency import EDGES_S, SLICE_S, SLICES, Histogram, RecentLatency

S = 1_000_000_000
values = st.lists(st.floats(0, 1000), max_size=60)


@given(values, st.sampled_from([0.3, 2.0, 5.0, 7.5]))
@settings(deadline=None)
def test_the_histogram_counts_up_to_each_edge(values, threshold_s):
    histogram = Histogram(threshold_s)
    for value in values:
        histogram.observe(value)
    rows = histogram.cumulative()
    assert [edge for edge, _ in rows] == [*map(repr, sorted({*EDGES_S, threshold_s})), "+Inf"]
    for edge, count in rows:
        assert count == sum(value <= float(edge) for value in values)
    assert histogram.sum_s == pytest.approx(sum(values))


@given(st.integers(1, 10**12), st.integers(-2, 2))
@settings(deadline=None)
def test_the_edge_at_the_threshold_parts_good_from_late_to_the_nanosecond(threshold_ns, more_ns):
    histogram = Histogram(threshold_ns / 1e9)
    latency_ns = max(0, threshold_ns + more_ns)
    histogram.observe(latency_ns / 1e9)
    at_edge = dict(histogram.cumulative())[repr(threshold_ns / 1e9)]
    assert at_edge == (latency_ns <= threshold_ns)


@given(st.lists(st.floats(1e-5, 1000), min_size=1, max_size=80))
@settings(deadline=None)
def test_recent_quantiles_are_within_five_percent_above_the_true_ones(values):
    recent = RecentLatency()
    for value in values:
        recent.observe(value, 5 * S)
    newest = recent.summary(6 * S)[-1]
    ordered = sorted(values)
    for share, found in ((0.5, newest.p50_s), (0.99, newest.p99_s)):
        true = ordered[math.ceil(len(ordered) * share) - 1]
        assert true * (1 - 1e-9) <= found <= true * 1.0501
    assert newest.max_s == ordered[-1]


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(0, 3000)), max_size=60), st.integers(0, 4000))
@settings(deadline=None)
def test_slices_hold_what_fell_into_them_in_whatever_order_it_was_told(observed, now_s):
    recent = RecentLatency()
    newest, naive = -1, {}
    for value, at_s in observed:
        number = at_s // SLICE_S
        newest = max(newest, number)
        if number > newest - SLICES:
            naive.setdefault(number, []).append(value)
        recent.observe(value, at_s * S)
    summary = recent.summary(now_s * S)
    assert len(summary) == SLICES
    for one in summary:
        number = one.start_ns // (SLICE_S * S)
        told = naive.get(number) if number > newest - SLICES else None
        assert one.max_s == (max(told) if told else None)
        assert (one.p50_s is None) == (told is None)


def test_a_quiet_year_between_two_values_costs_nothing():
    recent = RecentLatency()
    for day in range(0, 365 * 86400, 86400):
        recent.observe(1.0, day * S)
        assert len(recent._slices) == 1


def test_a_copy_of_a_histogram_stays_as_it_was():
    histogram = Histogram(5.0)
    histogram.observe(1.0)
    copy = histogram.copy()
    histogram.observe(2.0)
    assert copy.cumulative()[-1] == ("+Inf", 1)
    assert histogram.cumulative()[-1] == ("+Inf", 2)
    assert (copy.sum_s, copy.edges_s) == (1.0, histogram.edges_s)


def test_a_slice_that_was_summed_up_still_takes_what_falls_into_it():
    recent = RecentLatency()
    recent.observe(1.0, 5 * S)
    assert recent.summary(6 * S)[-1].max_s == 1.0
    recent.observe(3.0, 6 * S)
    assert recent.summary(7 * S)[-1].max_s == 3.0
    assert recent.summary(7 * S)[-1].p99_s == pytest.approx(3.0)
