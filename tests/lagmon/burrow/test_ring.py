"""What a commit does to Burrow's ring, against vectors worked out from Burrow's own source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagmon.burrow.ring import store
from lagmon.burrow.rules import Commit
from tests.lagmon.burrow_vectors import RINGS, by_name


@pytest.mark.parametrize("vector", RINGS, ids=by_name)
def test_a_ring_takes_commits_as_burrows_does(vector):
    ring = (None,) * vector["length"]
    for offset, order, committed_ms, end in vector["commits"]:
        commit = Commit(offset, committed_ms, None, order)
        ring = store(ring, commit, end, min_distance_s=vector["min_distance_s"])
    assert len(ring) == vector["length"]
    kept = [[one.offset, one.order, one.committed_ms, one.lag] for one in ring if one is not None]
    assert kept == vector["stored"]


commits = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9), st.integers(0, 30)), max_size=25)


@given(commits, st.sampled_from([1, 3, 10]))
def test_read_in_order_with_times_that_never_fall_the_newest_stay(commits, length):
    # What the intake does: append, and drop what no longer fits.
    ring, at_ms, plain = (None,) * length, 0, []
    for order, (offset, later_ms, end) in enumerate(commits):
        at_ms += later_ms
        ring = store(ring, Commit(offset, at_ms, None, order), end)
        plain.append((offset, at_ms, max(0, end - offset)))
    kept = [(one.offset, one.committed_ms, one.lag) for one in ring if one is not None]
    assert kept == plain[-length:]
    assert all(one is None for one in ring[: length - len(kept)])


orders = st.lists(st.integers(0, 15), max_size=20)


@given(orders, st.sampled_from([1, 3, 10]))
def test_the_ring_stays_in_order_without_a_commit_twice(orders, length):
    ring = (None,) * length
    for order in orders:
        ring = store(ring, Commit(order, order * 1000, None, order), 40)
    kept = [one.order for one in ring if one is not None]
    assert kept == sorted(set(kept))
    assert max(orders, default=None) in {*kept, None}
