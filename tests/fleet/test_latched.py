"""A latched canary: repeating, cause looping, for as long as it is latched."""

import pytest

from fleet.verdicts.evidence import CanaryState, FindingKind
from fleet.verdicts.judgement import follow
from fleet.verdicts.vocabulary import Cause, Verdict
from tests.fleet.verdicts.test_judgement import NOW, finding, flow, standing

SAYS = "Nothing is sent to mirrorwatch-canary on A since then: probe 3 came back"


@pytest.mark.parametrize("partitions", [(), (standing(0, 400.0),)])
def test_it_repeats_until_it_is_lifted_however_long_ago_the_loop_was(partitions):
    evidence = flow(*partitions, state=CanaryState.LATCHED, sentence=SAYS)
    verdict = follow(None, evidence, now_at=NOW)
    assert (verdict.verdict, verdict.cause) == (Verdict.REPEATING, Cause.LOOPING)
    assert verdict.sentence == f"{SAYS}."
    assert verdict.parts == (("canary", f"{SAYS}."),)
    assert verdict.evidence == ()


def test_what_was_lost_before_it_goes_first_and_the_loops_are_its_evidence():
    looped = finding(FindingKind.LOOPED, sentence="it stands in the source's log again, at offset 40")
    verdict = follow(None, flow(state=CanaryState.LATCHED, sentence=SAYS, findings=(looped,)), now_at=NOW)
    assert [row.sentence for row in verdict.evidence] == [looped.sentence]
    lost = finding(FindingKind.LOST)
    verdict = follow(None, flow(state=CanaryState.LATCHED, sentence=SAYS, findings=(lost,)), now_at=NOW)
    assert verdict.verdict is Verdict.LOSING
