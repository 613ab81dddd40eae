"""Losses by offsets that several processes counted in one incident."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerts.incidents.losses import Loss, increase, joined, lost_in
from fleet.quantity import Bounds
from fleet.verdicts.words import HOLD_S


def loss(started_at, bad_until_at, lost, before=0, *, is_first=False):
    exact = Bounds(before, before), Bounds(before + lost, before + lost)
    return Loss(started_at, bad_until_at, Bounds(lost, lost), *exact, is_first)


CASES = {
    "one process": ([loss(0, 20, 100)], (100, 100)),
    "a restart goes on from the last total": (
        [loss(0, 20, 100), loss(25, 60, 50, before=100, is_first=True)],
        (150, 150),
    ),
    "what was lost during the restart counts": (
        [loss(0, 20, 100), loss(25, 60, 50, before=107, is_first=True)],
        (157, 157),
    ),
    "a new process may list old losses only later": (
        [loss(0, 20, 100), loss(25, 60, 150, before=0, is_first=True)],
        (150, 250),
    ),
    "what was lost before it does not": ([loss(0, 20, 100, before=40)], (100, 100)),
    "but what no process counted before it does": ([loss(0, 20, 100, before=40, is_first=True)], (140, 140)),
    "two replicas saw the same": ([loss(0, 100, 100), loss(3, 103, 90)], (100, 100)),
    "one of two replicas was restarted": (
        [loss(0, 50, 40), loss(80, 200, 60, before=40, is_first=True), loss(0, 203, 100)],
        (100, 100),
    ),
    "a takeover while the former still works is known with bounds": (
        [loss(0, 100, 100), loss(60, 200, 60, before=80)],
        (100, 160),
    ),
    "after long, new losses may have replaced old ones in the total": (
        [loss(0, HOLD_S, 100), loss(HOLD_S + 20, HOLD_S + 40, 5, before=100, is_first=True)],
        (105, 205),
    ),
    "without an upper bound there is none": ([Loss(0, 9, Bounds(3, None)), loss(20, 30, 4)], (7, None)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_losses_of_an_incident(case):
    losses, expected = CASES[case]
    assert lost_in(losses, after_another=False) == expected
    assert lost_in(reversed(losses), after_another=False) == expected


def test_the_first_total_of_a_process_shortly_after_another_incident_is_an_upper_bound():
    assert lost_in([loss(0, 20, 100, before=40, is_first=True)], after_another=True) == (100, 140)


@pytest.mark.parametrize(
    ("former", "total", "expected"),
    [
        ((5, 8), (15, 18), (10, 10)),
        ((5, 8), (0, 0), (0, 0)),  # old losses have left it
        ((5, 5), (9, None), (4, None)),
        ((0, None), (100, 100), (100, 100)),
    ],
)
def test_a_total_increases_by(former, total, expected):
    assert increase(Bounds(*former), Bounds(*total)) == expected


_losses = st.builds(
    lambda start, length, lost, before, is_first: loss(
        start, start + length, lost, before, is_first=is_first
    ),
    st.integers(0, 3000),
    st.integers(0, 900),
    st.integers(0, 50),
    st.integers(0, 50),
    st.booleans(),
)


@given(st.lists(_losses, min_size=1, max_size=6), st.booleans())
def test_bounds_are_in_order_and_hold_the_largest_count(losses, after_another):
    found = lost_in(losses, after_another=after_another)
    assert 0 <= found.least <= found.most
    assert found.most >= max(one.lost.most for one in losses)


@given(_losses, _losses)
def test_joined_covers_both(one, other):
    first, second = sorted((one, other), key=lambda each: each.started_at)
    both = joined(first, second)
    assert (both.started_at, both.bad_until_at) == (
        first.started_at,
        max(one.bad_until_at, other.bad_until_at),
    )
