"""The sweep over arrays against the rules for one window: not one verdict or number may differ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagmon.groups.rules.policy import Policy
from lagmon.groups.rules.table import judge
from lagmon.groups.rules.words import STATUS_OF, Reason
from lagmon.groups.sweep import CHUNK, sweep
from tests.lagmon.groups.rules.test_table import CASES
from tests.lagmon.windows import (
    LENGTH,
    MIN,
    NOW,
    S,
    any_positions,
    any_windows,
    arrays_of_positions,
    arrays_of_windows,
    position,
    window,
)

policies = st.builds(
    Policy,
    allowed_lag=st.sampled_from([0, 0, 2]),
    stale_after_ms=st.sampled_from([MIN, 5 * MIN, S]),
    head_stale_after_ms=st.sampled_from([MIN, 5 * MIN, S]),
    stopped_after_ms=st.sampled_from([MIN, S]),
    in_turns_ms=st.sampled_from([5 * MIN, S]),
    longest_turn_ms=st.sampled_from([15 * MIN, 5 * S]),
    grown_for_ms=st.sampled_from([MIN, 5 * S]),
    grown_lags=st.sampled_from([10, 3, 2]),
    grown_rises=st.sampled_from([5, 1]),
    grown_by_ms=st.sampled_from([10 * S, 0]),
    paced=st.booleans(),
    empty_is_read=st.booleans(),
)
rows = st.lists(st.tuples(any_windows(), any_positions, st.integers(0, LENGTH)), min_size=1, max_size=12)


@given(rows, policies)
@settings(deadline=None, max_examples=200)
def test_the_sweep_says_what_the_rules_say(rows, policy):
    windows = arrays_of_windows([one for one, _, _ in rows], live=[live for _, _, live in rows])
    positions = arrays_of_positions([one for _, one, _ in rows])
    found = sweep(windows, positions, now_ms=NOW, policy=policy)
    for row, (_, where, _) in enumerate(rows):
        assert positions.row(row) == where
        expected = judge(windows.row(row), where, now_ms=NOW, policy=policy)
        assert Reason(int(found.reason[row])) is expected.reason
        assert found.facts(row) == expected.facts
        assert found.status[row] == expected.status
        assert found.sentence(row) == expected.sentence


def test_the_sweep_holds_to_the_cases_of_the_rules():
    shapes, wheres = ([case[index] for case in CASES.values()] for index in range(2))
    windows, positions = arrays_of_windows(shapes), arrays_of_positions(wheres)
    found = sweep(windows, positions, now_ms=NOW, policy=Policy())
    for row, (name, (shape, where, reason)) in enumerate(CASES.items()):
        assert Reason(int(found.reason[row])) is reason, name
        assert found.facts(row) == judge(shape, where, now_ms=NOW, policy=Policy()).facts, name


def test_rows_of_other_chunks_are_judged_alike():
    count = 2 * CHUNK + 3
    windows = arrays_of_windows([window((50, 300, 1), (60, 240, 2))] * count)
    positions = arrays_of_positions([position(90, seen_ago=240, passed_ago=230)] * count)
    found = sweep(windows, positions, now_ms=NOW, policy=Policy())
    assert set(found.reason.tolist()) == {Reason.STOPPED}
    assert set(found.lag.tolist()) == {30}
    assert len(np.unique(found.since_ms)) == 1


def test_nothing_to_judge_is_no_error():
    found = sweep(arrays_of_windows([]), arrays_of_positions([]), now_ms=NOW, policy=Policy())
    assert len(found.reason) == 0


def test_every_reason_of_ours_has_a_status():
    assert set(STATUS_OF) == set(Reason)


@pytest.mark.parametrize(("filled", "live", "known"), [(3, 3, 3), (3, 1, 1), (3, 0, 0), (2, 9, 2)])
def test_a_lag_that_was_not_taken_live_is_not_known(filled, live, known):
    windows = arrays_of_windows([window(*[(index, 9 - index, 5) for index in range(filled)])], live=[live])
    assert windows.row(0).lags == (-1,) * (filled - known) + (5,) * known
