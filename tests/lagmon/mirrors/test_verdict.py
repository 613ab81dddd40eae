"""A flow's verdict if its partitions differ: which of them it is about, and what it may say of all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.detectors.rewinds.steps import Rewound, Step
from lagmon.mirrors.verdict import judge_flow
from tests.lagmon.mirror_flows import S, busy, busy_for_a_minute


@pytest.fixture
def flow():
    return busy_for_a_minute()


@pytest.mark.parametrize(("means", "told"), [(Rewound.LATE, "orders-1: "), (Rewound.OPEN, "orders-0: ")])
def test_one_that_is_not_known_is_reported_behind_one_of_which_nothing_is_wrong(flow, means, told):
    at = flow.ends["orders", 0]
    flow.commit(to=at - 40)
    flow.flow.windows.take("orders", 1, (1 << 63) - 1, flow.now, live=True)  # no fact
    flow.poll()
    step = Step(at, at - 40, flow.now, means)
    verdict = judge_flow(flow.flow, replace(flow.snapshot(), rewinds={("orders", 0): step}))
    assert (verdict.verdict, verdict.cause) == (Verdict.UNKNOWN, None)
    assert verdict.sentence.startswith(told)


def test_since_when_no_offset_is_written_holds_for_each_that_it_is_reported_for(flow):
    first = flow.now
    flow.go(20, each=lambda: busy(flow, commits=(1,)))
    flow.go(90, each=lambda: busy(flow, commits=()))
    verdict = flow.verdict()
    assert (verdict.verdict, verdict.cause) == (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING)
    newest = int(flow.flow.windows.committed_ms[flow.slot(partition=1)])
    assert newest == first + 20 * S
    assert "No offset stored for 2 partitions (orders-0 among them) since" in verdict.sentence
    assert f" since {instant_text(newest)}, though records reach B: " in verdict.sentence


@pytest.mark.parametrize(("away", "cause"), [("A", Cause.SOURCE_DOWN), ("B", Cause.TARGET_DOWN)])
def test_what_is_not_known_because_a_cluster_does_not_answer_is_reported_with_that(flow, away, cause):
    lag = flow.a if away == "A" else flow.b
    since = instant_text(flow.now)
    lag.note_answer(flow.now, f"cluster {away}: no broker answers.")
    assert (flow.verdict().verdict, flow.verdict().cause) == (Verdict.HEALTHY, None)  # it was, a moment ago
    flow.now += 90 * S
    lag.note_answer(flow.now, f"cluster {away}: no broker answers.")
    verdict = flow.verdict()
    assert (verdict.verdict, verdict.cause) == (Verdict.UNKNOWN, cause)
    assert verdict.sentence.endswith(
        f" {away} has not answered since {since}: cluster {away}: no broker answers."
    )
    lag.note_answer(flow.now)
    assert (flow.verdict().verdict, flow.verdict().cause) == (Verdict.UNKNOWN, None)


def test_a_cluster_that_does_not_answer_takes_no_known_cause_away(flow):
    flow.go(20, each=lambda: busy(flow, commits=(1,)))
    flow.go(90, each=lambda: busy(flow, commits=()))
    flow.b.note_answer(flow.now, "cluster B: no broker answers")
    assert flow.verdict().cause is Cause.OFFSETS_NOT_COMMITTING
