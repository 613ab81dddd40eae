"""The causes of whatever is wrong now, as series: alerts ask for them."""

import pytest

from fleet.series import catalogue as series
from fleet.verdicts.evidence import CanaryState
from fleet.verdicts.judgement import follow
from fleet.verdicts.vocabulary import Cause, Verdict
from mirrorwatch.service.samples import _verdict
from tests.fleet.offsets import lag, seen
from tests.fleet.verdicts.test_judgement import ALL_STAND, LOST, NOW, finding, flow

LOOPS = {"state": CanaryState.LATCHED, "sentence": "No canary records are sent: probe 7 came back to A"}
ORDERS_STAND = lag(Verdict.STALLED, Cause.TASK_FAILED, standing=("orders",))


@pytest.mark.parametrize(
    ("evidence", "causes"),
    [
        (flow(), set()),
        (flow(*ALL_STAND), {Cause.MIRROR_DOWN}),
        (flow(**LOOPS), {Cause.LOOPING}),
        # The alert on a loop is not resolved by a stall of another topic, nor the ticket on that by a loop.
        (seen(offsets=ORDERS_STAND, **LOOPS), {Cause.LOOPING, Cause.TASK_FAILED}),
        (flow(findings=(finding(LOST, ago_s=1),), **LOOPS), {Cause.LOOPING, Cause.FILTERED}),
        (flow(*ALL_STAND, findings=(finding(LOST, ago_s=30),)), {Cause.FILTERED, Cause.MIRROR_DOWN}),
        (flow(*ALL_STAND, findings=(finding(LOST, ago_s=80),)), {Cause.MIRROR_DOWN}),
        (flow(findings=(finding(LOST, ago_s=80),)), {Cause.FILTERED}),
    ],
)
def test_each_condition_of_now_has_its_cause(evidence, causes):
    verdict = follow(None, evidence, now_at=NOW)
    shown = {
        Cause(labels[-1])
        for one, labels, value in _verdict(("A->B", "A", "B"), verdict)
        if one is series.FLOW_CAUSE and value == 1
    }
    assert shown == causes
