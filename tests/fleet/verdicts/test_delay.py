"""What waits and what is late, however long the source acknowledges nothing."""

from dataclasses import replace

import pytest

from fleet.verdicts.evidence import Control
from fleet.verdicts.judgement import judge
from fleet.verdicts.vocabulary import Cause, Verdict
from tests.fleet.verdicts.test_judgement import NOW, cluster, flow, moving

GIVEN_UP = {"pending_age_s": None, "pending_offset": None, "unacked_age_s": 29.5}  # the producer, after 30 s
DOWN = {"source": cluster("A", Control.FAILING)}


@pytest.mark.parametrize(("threshold_s", "interval_s"), [(31.0, 1.0), (45.0, 60.0), (300.0, 1.0)])
def test_a_source_that_is_down_stalls_a_flow_although_the_producer_gives_up_before_the_threshold(
    threshold_s, interval_s
):
    limit_s = threshold_s + interval_s
    for silent_s, verdict in ((limit_s, Verdict.HEALTHY), (limit_s + 0.1, Verdict.STALLED)):
        silent = moving(0, arrival_age_s=silent_s, present_age_s=silent_s, **GIVEN_UP)
        shown = flow(silent, threshold_s=threshold_s, interval_s=interval_s, horizon_s=600.0, **DOWN)
        judged = judge(shown, now_at=NOW)
        assert judged.verdict is verdict
    assert judged.cause is Cause.SOURCE_DOWN
    assert judged.sentence.endswith("on partition 0: control probes fail on A too.")


def test_a_probe_that_waits_on_the_source_is_judged_by_its_own_age():
    """Each probe is unacknowledged for a moment, also on a flow that is late."""
    slow = moving(0, pending_age_s=9.0, arrival_age_s=8.0, latency_s=7.0, unacked_age_s=0.001)
    assert judge(flow(slow, **DOWN), now_at=NOW).verdict is Verdict.LATE


def test_a_source_that_answers_proves_no_stall_of_what_it_has_not_acknowledged():
    silent = moving(0, arrival_age_s=600.0, present_age_s=600.0, **GIVEN_UP)
    judged = judge(flow(silent, moving(1), threshold_s=45.0), now_at=NOW)
    assert (judged.verdict, judged.cause) == (Verdict.UNKNOWN, None)


@pytest.mark.parametrize("interval_s", [1.0, 600.0])
def test_the_last_arrival_was_late_only_until_the_next_one_is_overdue(interval_s):
    """After it no probe reaches the source: the flow is not late for ever."""
    patience_s = 2 * interval_s + 5.0
    late = moving(0, latency_s=7.0, arrival_age_s=patience_s, pending_age_s=None)
    silent = replace(late, arrival_age_s=patience_s + 0.1, unacked_age_s=29.5)
    for one, verdict in ((late, Verdict.LATE), (silent, Verdict.UNKNOWN)):
        judged = judge(flow(one, moving(1), interval_s=interval_s), now_at=NOW)
        assert judged.verdict is verdict
    assert judged.sentence.startswith("No canary record reaches partition 0 of")


def test_the_last_arrival_is_late_while_a_probe_waits():
    waiting = moving(0, latency_s=40.0, arrival_age_s=30.0, pending_age_s=31.0)
    judged = judge(flow(waiting, moving(1), horizon_s=120.0), now_at=NOW)
    assert (judged.verdict, judged.cause) == (Verdict.LATE, Cause.UNEXPLAINED)
    assert "on partition 0: up to 40 s" in judged.sentence
