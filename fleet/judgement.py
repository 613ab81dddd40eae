"""The one function that decides how a flow is and why, from evidence alone.

Rules are tried worst first; the first that holds gives the verdict. Loss, change and repetition hold for
HOLD_S after their last evidence. What we know of a fault never comes in: only what was seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.evidence import CanaryState
from fleet.judgement_words import ended
from fleet.rules_content import altered, losing, repeating
from fleet.rules_delay import late, stalled
from fleet.rules_quiet import healthy, unknown
from fleet.vocabulary import FlowVerdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.evidence import FlowEvidence
    from fleet.judgement_words import Judgement

_RULES: tuple[Callable[[FlowEvidence, float], Judgement | None], ...] = (
    losing,
    altered,
    stalled,
    repeating,
    late,
    unknown,
    healthy,
)


def judge(flow: FlowEvidence, *, now_at: float) -> Judgement:
    """Return the worst verdict that the evidence supports, with its cause, sentence and rows."""
    for rule in _RULES:
        judgement = rule(flow, now_at)
        if judgement is not None:
            return judgement
    raise AssertionError("the last rule always holds")


def follow(before: FlowVerdict | None, flow: FlowEvidence, *, now_at: float) -> FlowVerdict:
    """Judge a flow and keep since when it has had the verdict that it has."""
    judgement = judge(flow, now_at=now_at)
    same = before is not None and before.verdict is judgement.verdict
    return FlowVerdict(
        flow=flow.flow,
        verdict=judgement.verdict,
        cause=judgement.cause,
        sentence=judgement.sentence,
        evidence=judgement.evidence,
        parts=(("canary", _canary_sentence(flow)),),
        since_at=before.since_at if same and before is not None else now_at,
    )


def _canary_sentence(flow: FlowEvidence) -> str:
    canary = flow.canary
    if canary.state is not CanaryState.RUNNING:
        return ended(canary.sentence or "It is about to begin")
    if canary.impaired is not None:
        return f"What it sees cannot be trusted at present: {ended(canary.impaired)}"
    count = len(canary.partitions)
    moving = sum(
        one.arrival_age_s is not None and one.arrival_age_s <= canary.threshold_s + canary.interval_s
        for one in canary.partitions
    )
    if count == 1:
        return "Its one partition delivers." if moving else "Its one partition does not deliver."
    return f"{moving} of {count} partitions {'delivers' if moving == 1 else 'deliver'}."
