"""Findings that are counted together are judged as each of them alone would be."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.watch.findings import Findings
from fleet.verdicts.evidence import Finding, FindingKind
from fleet.verdicts.judgement import judge
from fleet.verdicts.vocabulary import Verdict
from fleet.verdicts.words import HOLD_S, pause_s
from tests.fleet.verdicts.test_judgement import NOW, finding, flow, nameless

PAUSE_S = pause_s(1.0, 60.0)


def grown(alone: list[Finding]) -> tuple[Finding, ...]:
    """Return what the watch would keep of these."""
    findings = Findings()
    for one in sorted(alone, key=lambda one: one.at):
        findings.add(one, pause_s=PAUSE_S)
    return findings.all()


def at(kind: FindingKind, instant: float, partition: int = 0) -> Finding:
    return replace(finding(kind, partition=partition), at=instant)


@given(st.lists(st.tuples(st.floats(1, 880), st.integers(0, 2)), max_size=80))
def test_bursts_of_copies_that_came_twice_are_told_from_what_never_pauses(plan):
    alone = [at(FindingKind.DUPLICATED, NOW - ago_s, partition) for ago_s, partition in plan]
    together, apart = (judge(flow(findings=found), now_at=NOW) for found in (grown(alone), tuple(alone)))
    assert (together.verdict, together.sentence) == (apart.verdict, apart.sentence)


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [
        (range(61), Verdict.HEALTHY),
        (range(62), Verdict.REPEATING),
        ([0, 1, 50, 51, 100, 101], Verdict.HEALTHY),  # three nodes restarted one after the other
    ],
    ids=["a horizon", "longer", "three restarts"],
)
def test_what_continues_for_longer_than_a_horizon_is_no_restart(seconds, verdict):
    alone = [at(FindingKind.DUPLICATED, NOW - 200.0 + second) for second in seconds]
    assert judge(flow(findings=grown(alone)), now_at=NOW).verdict is verdict


@pytest.mark.parametrize("kind", sorted({*FindingKind} - {FindingKind.DUPLICATED}))
def test_a_verdict_holds_as_long_after_the_newest_as_it_did_before(kind):
    alone = [at(kind, float(second)) for second in range(62)]
    for now_at in (61.0 + HOLD_S, 61.1 + HOLD_S):
        together, apart = (
            judge(flow(findings=found), now_at=now_at) for found in (grown(alone), tuple(alone))
        )
        assert together.verdict is apart.verdict
        assert (together.verdict is Verdict.HEALTHY) is (now_at > 61.0 + HOLD_S)


@pytest.mark.parametrize("proved_s", [0.5, 3.0, 60.0])
def test_nameless_copies_explain_the_losses_of_their_minutes(proved_s):
    copies = [replace(nameless(), at=float(second)) for second in range(150)]
    losses = [at(FindingKind.LOST, second + proved_s) for second in range(150)]
    found = grown(copies) + grown(losses)
    assert len(found) == 6
    told = [judge(flow(findings=found), now_at=float(now_at)).verdict for now_at in range(220, 1200)]
    assert set(told) == {Verdict.ALTERED, Verdict.HEALTHY}


def test_nameless_copies_that_still_come_explain_the_losses_that_are_proved_already():
    copies = [replace(nameless(), at=float(second)) for second in range(60)]
    losses = [at(FindingKind.LOST, second + 0.5) for second in range(30)]
    judgement = judge(flow(findings=grown(copies) + grown(losses)), now_at=60.0)
    assert judgement.verdict is Verdict.ALTERED
    assert judgement.sentence.startswith("60 canary records")


def test_the_evidence_tells_the_newest_of_each():
    alone = [replace(at(FindingKind.LOST, NOW - 9.0 + number), source_offset=number) for number in range(5)]
    judgement = judge(flow(findings=grown(alone)), now_at=NOW)
    assert judgement.sentence.startswith("5 canary records")
    assert [(row.at, row.source_offset) for row in judgement.evidence] == [(NOW - 5.0, 4)]
