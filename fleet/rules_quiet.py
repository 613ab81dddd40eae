"""The rules where nothing is wrong, or nothing is known: unknown and healthy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.evidence import CanaryState, Control
from fleet.judgement_words import Judgement
from fleet.quantity import duration_text
from fleet.vocabulary import Cause, Verdict

if TYPE_CHECKING:
    from fleet.evidence import FlowEvidence


def unknown(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold where there is nothing to judge by."""
    del now_at
    canary = flow.canary
    if canary.state is CanaryState.OFF:
        return Judgement(Verdict.UNKNOWN, None, f"The canary of {flow.flow} is off: {canary.sentence}")
    if canary.state is CanaryState.WAITING:
        down = _down_cause(flow)
        return Judgement(Verdict.UNKNOWN, down, f"No probe of {flow.flow} runs yet: {canary.sentence}")
    if canary.impaired is not None:
        return Judgement(
            Verdict.UNKNOWN,
            Cause.PROBER,
            f"Mirrorwatch cannot see {flow.flow} properly at present: {canary.impaired}.",
        )
    return _not_enough(flow)


def _not_enough(flow: FlowEvidence) -> Judgement | None:
    """Return a judgement where what arrived is nothing, or too old to say anything."""
    canary = flow.canary
    if not canary.partitions:
        return Judgement(Verdict.UNKNOWN, None, f"No probe of {flow.flow} has been sent yet.")
    ages = [one.arrival_age_s for one in canary.partitions if one.arrival_age_s is not None]
    if not ages:
        return Judgement(
            Verdict.UNKNOWN,
            _down_cause(flow),
            f"Nothing of {flow.flow} has arrived yet. A mirror takes up new topics at its next refresh; until"
            f" then probes are warm-up and judged by nobody.",
        )
    if min(ages) > 2 * canary.interval_s + canary.threshold_s:
        return Judgement(
            Verdict.UNKNOWN,
            _down_cause(flow),
            f"No probe of {flow.flow} has arrived lately, and none is known to wait: not enough data.",
        )
    return None


def _down_cause(flow: FlowEvidence) -> Cause | None:
    if flow.source.control is Control.FAILING:
        return Cause.SOURCE_DOWN
    return Cause.TARGET_DOWN if flow.target.control is Control.FAILING else None


def healthy(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold always: it is the last rule."""
    del now_at
    latest = [one.latency_s for one in flow.canary.partitions if one.latency_s is not None]
    took = f"; the newest took {duration_text(max(latest))} at most" if latest else ""
    return Judgement(
        Verdict.HEALTHY,
        None,
        f"Probes of {flow.flow} arrive within {duration_text(flow.canary.threshold_s)}{took}.",
    )
