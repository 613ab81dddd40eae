"""Burrow's rules over arrays against those for one partition: not one number may differ."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lagmon.burrow.rules import BurrowPolicy, Commit, burrow_group, burrow_partition
from lagmon.burrow.sweep import burrow_groups, burrow_sweep, lowest_end
from lagmon.groups.rules.groups import Grouping
from lagmon.groups.rules.window import Window
from lagmon.groups.rules.words import Status
from tests.lagmon.burrow_vectors import PARTITIONS, policy_of, ring_of
from tests.lagmon.windows import LENGTH, NOW, any_windows, arrays_of_windows

ends = st.lists(st.integers(0, 30) | st.just(2**55), max_size=10)
policies = st.builds(
    BurrowPolicy,
    allowed_lag=st.sampled_from([0, 0, 2]),
    minimum_complete=st.sampled_from([0.0, 0.0, 0.3, 0.7, 1.0]),
)
rows = st.lists(st.tuples(any_windows(), ends, st.booleans()), max_size=30)


def ends_of(lists):
    recent = np.full((len(lists), 10), -1, np.int64)
    for row, told in enumerate(lists):
        if told:
            recent[row, -len(told) :] = told
    return np.asfortranarray(recent)


def swept(windows, lists, owned, *, now_ms, policy, length=LENGTH):
    recent = ends_of(lists)
    return burrow_sweep(
        arrays_of_windows(windows, length),
        recent[:, -1],
        lowest_end(recent),
        now_ms=now_ms,
        policy=policy,
        owned=np.array(owned, np.bool_),
    )


def ring_from(window, owned, length=LENGTH):
    if not window.offsets and not owned:
        return []
    commits = [
        Commit(offset, at_ms, None if lag < 0 else lag)
        for offset, at_ms, lag in zip(window.offsets, window.committed_ms, window.lags, strict=True)
    ]
    return [None] * (length - len(commits)) + commits


@given(rows, policies, st.sampled_from([NOW, NOW + 999, NOW + 60_000]), st.integers(1, 3))
@settings(deadline=None, max_examples=150)
def test_the_sweep_says_what_burrow_says(rows, policy, now_ms, groups):
    windows, lists, owned = ([row[index] for row in rows] for index in range(3))
    found = swept(windows, lists, owned, now_ms=now_ms, policy=policy)
    expected = [
        burrow_partition(ring_from(window, has), told, now_ms, policy)
        for window, told, has in zip(windows, lists, owned, strict=True)
    ]
    assert found.reason.tolist() == [one.reason for one in expected]
    assert found.status.tolist() == [one.status for one in expected]
    assert found.complete.tolist() == [np.float32(one.complete) for one in expected]
    assert found.current_lag.tolist() == [one.current_lag for one in expected]

    group_of = np.array([index % (groups + 1) - 1 for index in range(len(rows))], np.int32)
    not_found = np.array([False] * groups + [True])
    told = burrow_groups(found, Grouping(group_of, groups + 1), not_found)
    for group in range(groups):
        at = np.flatnonzero(group_of == group)
        one = burrow_group([expected[row] for row in at], now_ms, now_ms, policy)
        assert told.status[group] == one.status
        assert told.complete[group] == np.float32(one.complete)
        assert told.total_lag[group] == one.total_lag
        assert told.max_lag[group] == (-1 if one.max_lag is None else at[one.max_lag])
    assert told.status[groups] == Status.NOTFOUND
    assert told.complete[groups] == 1


def test_the_sweep_holds_to_the_vectors():
    for vector in PARTITIONS:
        ring = ring_of(vector)
        kept = [one for one in ring if one is not None]
        window = Window(
            tuple(one.offset for one in kept),
            tuple(one.committed_ms for one in kept),
            tuple(-1 if one.lag is None else one.lag for one in kept),
        )
        found = swept(
            [window],
            [vector["ends"]],
            [bool(ring)],
            now_ms=vector["now_ms"],
            policy=policy_of(vector),
            length=max(1, len(ring)),
        )
        assert Status(int(found.status[0])).name == vector["status"], vector["name"]
        assert found.complete[0] == np.float32(vector["complete"]), vector["name"]
        assert found.current_lag[0] == vector["current_lag"], vector["name"]
