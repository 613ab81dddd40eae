"""What a sample for incidents takes from the canary and from offsets."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from alerts.incidents import GAP_S
from fleet.quantity import Bounds
from fleet.verdicts.evidence import LagEvidence
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.history.incident_samples import samples_of
from tests.alerts.incidents import FLOW, START, sample
from tests.runtime.fake_clock import FakeClock

SILENT = LagEvidence(Verdict.UNKNOWN, None, "No answer from the lag monitor yet.", START, 0.0)


def sampled(*, interval_s=1.0, evidence=None, lost=None):
    counters = SimpleNamespace(settled=0, good=0, concluded=0, delivered=0, lost=0, confirmed=0)
    watch = SimpleNamespace(counters=counters, interval_s=interval_s)
    name, source, target = FLOW
    held = SimpleNamespace(watch=watch, flow=SimpleNamespace(source=source, target=target))
    lagging = SimpleNamespace(
        lost=lambda: {} if lost is None else {name: lost},
        lost_by_time=lambda _: (),
        recovery_points=dict,
        evidence=lambda _: evidence,
        lag_records=lambda _: None,
    )
    verdicts = {name: sample(0).verdict}
    prober = SimpleNamespace(flows={name: held})
    return samples_of(prober, verdicts, lagging, clock=FakeClock(wall_s=START))[FLOW]


@pytest.mark.parametrize(("interval_s", "gap_s"), [(1.0, GAP_S), (100.0, GAP_S), (600.0, 1800.0)])
def test_the_gap_between_incidents_is_three_intervals_of_the_canary_or_more(interval_s, gap_s):
    assert sampled(interval_s=interval_s).gap_s == gap_s


def test_losses_are_unknown_until_the_lag_monitor_has_answered():
    assert sampled(evidence=SILENT).lost is None
    assert sampled(evidence=SILENT, lost=Bounds(3, 5)).lost == Bounds(3, 5)
    assert sampled(evidence=None).lost == Bounds(0, 0)  # it does not watch this flow
