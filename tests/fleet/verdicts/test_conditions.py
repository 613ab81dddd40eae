"""What holds now, whatever the verdict: a loop until it is fixed, a finding until the next one may come."""

from dataclasses import replace

import pytest

from fleet.verdicts.evidence import CanaryState, FindingKind
from fleet.verdicts.judgement import follow, judge
from fleet.verdicts.vocabulary import Cause, Verdict
from tests.fleet.offsets import deleted, lag, seen
from tests.fleet.verdicts.test_judgement import ALL_STAND, LOST, NOW, finding, flow, moving

LATCHED = {"state": CanaryState.LATCHED, "sentence": "No canary records are sent: probe 7 came back to A"}


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        (seen(offsets=lag(Verdict.STALLED, standing=("orders",)), **LATCHED), Verdict.STALLED),
        (seen(offsets=lag(findings=[deleted()]), **LATCHED), Verdict.LOSING),
        (flow(findings=(finding(LOST, ago_s=1),), **LATCHED), Verdict.LOSING),
        (flow(findings=(finding(FindingKind.ALTERED, ago_s=1),), **LATCHED), Verdict.ALTERED),
    ],
)
def test_a_loop_is_reported_also_whatever_is_worse(evidence, verdict):
    told = follow(None, evidence, now_at=NOW)
    assert told.verdict is verdict
    assert told.also is not None
    assert (told.also.verdict, told.also.cause) == (Verdict.REPEATING, Cause.LOOPING)
    assert told.also.sentence == f"{LATCHED['sentence']}."
    assert told.conditions >= {verdict, Verdict.REPEATING}


def test_a_loop_is_reported_once():
    told = follow(None, flow(findings=(finding(FindingKind.LOOPED),), **LATCHED), now_at=NOW)
    assert (told.verdict, told.also) == (Verdict.REPEATING, None)


@pytest.mark.parametrize(
    ("interval_s", "threshold_s", "recent_s"), [(1.0, 5.0, 60.0), (1.0, 90.0, 92.0), (300.0, 5.0, 605.0)]
)
def test_a_finding_is_a_condition_until_the_next_probe_should_have_arrived(interval_s, threshold_s, recent_s):
    evidence = flow(
        interval_s=interval_s,
        threshold_s=threshold_s,
        findings=(finding(FindingKind.ALTERED, ago_s=0.0),),
    )
    for after_s, held in ((recent_s, {Verdict.ALTERED}), (recent_s + 0.1, set())):
        assert follow(None, evidence, now_at=NOW + after_s).conditions == held


def test_findings_of_offsets_are_recent_for_a_minute_whatever_the_interval():
    evidence = replace(flow(interval_s=300.0), lag=lag(findings=[deleted(ago_s=61)]))
    assert follow(None, evidence, now_at=NOW).conditions == set()


@pytest.mark.parametrize(("interval_s", "pause_s"), [(1.0, 5.0), (60.0, 180.0)])
def test_findings_of_every_interval_never_end_although_it_is_longer_than_the_horizon(interval_s, pause_s):
    """The one that does not arrive intact is no stall, and the mirror still alters records."""
    evidence = flow(*ALL_STAND, interval_s=interval_s, findings=(finding(FindingKind.ALTERED, ago_s=0.0),))
    assert not judge(evidence, now_at=NOW + pause_s).ended
    assert judge(evidence, now_at=NOW + pause_s + 0.1).ended


def test_a_restart_twice_within_an_hour_is_no_second_mirror_whatever_the_interval():
    repeated = tuple(finding(FindingKind.DUPLICATED, ago_s=ago_s) for ago_s in (610.0, 10.0))
    evidence = flow(*(moving(number) for number in range(2)), interval_s=600.0, findings=repeated)
    assert judge(evidence, now_at=NOW).verdict is Verdict.HEALTHY
