"""Why canary records were lost, and how many."""

import pytest

from fleet.verdicts.evidence import MAX_FINDINGS, FindingKind
from fleet.verdicts.judgement import judge
from fleet.verdicts.vocabulary import Cause
from fleet.verdicts.words import HOLD_S
from tests.fleet.verdicts.test_judgement import LOST, NOW, finding, flow


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize(
    ("after_s", "cause"),
    [
        (-10.1, Cause.FILTERED),
        (-10.0, Cause.TOPIC_RECREATED),
        (0.0, Cause.TOPIC_RECREATED),
        (70.0, Cause.TOPIC_RECREATED),
        (70.1, Cause.FILTERED),
        (600.0, Cause.FILTERED),
    ],
)
def test_only_losses_within_a_horizon_are_due_to_a_topic_that_was_re_created(side, after_s, cause):
    topic = {f"{side}_recreated_at": NOW - after_s}
    assert judge(flow(findings=(finding(LOST, ago_s=0.0),), topic=topic), now_at=NOW).cause is cause


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (LOST, "At least 1,000 canary records lost ("),
        (FindingKind.MISROUTED, "At least 1,000 canary records misrouted,"),
        (FindingKind.ALTERED, "At least 1,000 canary records changed on B."),
        (FindingKind.SECOND_WRITER, ": at least 1,000 canary records (partition 0) arrived on B twice,"),
    ],
)
def test_the_number_is_the_least_once_the_canary_has_dropped_findings(kind, says):
    found = tuple(finding(kind, ago_s=float(number), count=2) for number in range(MAX_FINDINGS))
    assert says in judge(flow(findings=found), now_at=NOW).sentence
    fewer = judge(flow(findings=found[1:]), now_at=NOW).sentence
    assert "at least" not in fewer.lower()
    assert "998 canary records" in fewer
    # What was dropped is older than the oldest, which holds no more.
    exact = (*found[1:], finding(kind, ago_s=HOLD_S + 1))
    assert "at least" not in judge(flow(findings=exact), now_at=NOW).sentence.lower()
