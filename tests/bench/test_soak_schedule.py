"""The plan of a soak: reproducible, half of it quiet, and one long life in the middle."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bench.soak.faults import BY_NAME, FAULTS, FLOWS, Signal
from bench.soak.schedule import LEAST_QUIET_S, RESTARTS_FROM, RESTARTS_UNTIL, plan, quiet_share

LENGTHS = (5, 10, 30, 120, 600)
SEEDS = range(1, 6)


@pytest.mark.parametrize("minutes", LENGTHS)
@pytest.mark.parametrize("seed", SEEDS)
def test_half_of_a_run_is_quiet_and_windows_do_not_meet(minutes, seed):
    planned = plan(minutes=minutes, seed=seed)
    assert planned
    assert quiet_share(planned, minutes=minutes) >= 0.5
    for one, following in pairwise(planned):
        assert following.at_s - one.until_s >= max(LEAST_QUIET_S, one.window_s) - 0.1
    assert planned[-1].until_s <= minutes * 60 - LEAST_QUIET_S


@pytest.mark.parametrize("minutes", LENGTHS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_service_restarts_in_the_first_third_and_the_last_sixth_only(minutes, seed):
    for one in plan(minutes=minutes, seed=seed):
        share = one.at_s / (minutes * 60)
        assert not one.fault.restarts or share < RESTARTS_UNTIL or share >= RESTARTS_FROM


@pytest.mark.parametrize("seed", SEEDS)
def test_two_hours_have_every_fault(seed):
    assert {one.fault.name for one in plan(minutes=120, seed=seed)} == set(BY_NAME)


def test_a_seed_gives_the_same_plan_again_and_another_seed_another_one():
    assert plan(minutes=120, seed=7) == plan(minutes=120, seed=7)
    assert plan(minutes=120, seed=7) != plan(minutes=120, seed=8)


def test_a_fault_is_held_for_a_time_within_its_bounds():
    for one in plan(minutes=120, seed=1):
        least_s, most_s = one.fault.hold_s
        assert least_s <= one.hold_s <= most_s


def test_chosen_faults_alone_are_planned():
    assert {one.fault.name for one in plan(minutes=10, seed=1, faults=[BY_NAME["kill-A"]])} == {"kill-A"}
    restarting = plan(minutes=10, seed=1, faults=[BY_NAME["cut-leader"]])
    assert any(200 < one.at_s < 500 for one in restarting)


def test_a_run_that_is_too_short_has_no_fault():
    assert plan(minutes=1, seed=1) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)
def test_a_fault_can_be_detected_before_it_ends(fault):
    """A verdict that must be reported is reported only while the fault is held."""
    if fault.expected:
        assert set(fault.expected) == set(FLOWS)
        assert fault.limit_s < fault.hold_s[0]
    assert fault.expected or fault.signal is not Signal.NONE or fault.name == "kill-standby"
    assert fault.limit_s > 0 or fault.name == "kill-standby"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: one.name)
def test_no_fault_explains_records_that_are_lost_altered_or_repeated(fault):
    verdicts = {verdict for flow in FLOWS for verdict, _ in fault.may_be(flow)}
    assert not verdicts & {"losing", "altered", "repeating"}
