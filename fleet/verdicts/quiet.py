"""Rules: unknown and healthy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quantity import duration_text
from fleet.verdicts.evidence import CanaryState, Control
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.verdicts.words import Judgement, ended, latency_text, partitions_text

if TYPE_CHECKING:
    from fleet.verdicts.evidence import FlowEvidence, PartitionEvidence

NO_REASON = "the canary is starting"


def unknown(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold if there is not enough data."""
    canary = flow.canary
    why = ended(canary.sentence or NO_REASON)  # for a moment there is none, between two topics
    if canary.state is CanaryState.OFF:
        return Judgement(Verdict.UNKNOWN, None, f"{flow.flow} has no canary: {why}")
    if canary.state is CanaryState.WAITING:
        sentence = f"No canary records are sent: {why}"
        return Judgement(Verdict.UNKNOWN, _down_cause(flow), sentence)
    if canary.impaired is not None:
        return Judgement(
            Verdict.UNKNOWN,
            Cause.PROBER,
            f"Mirrorwatch cannot measure {flow.flow} reliably: {ended(canary.impaired)}",
        )
    return _not_enough(flow, now_at) or _partly_blind(flow)


def _not_enough(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Return a judgement if no probe arrived, or only old ones."""
    canary = flow.canary
    if not canary.partitions:
        return Judgement(Verdict.UNKNOWN, None, "No canary record has been sent yet.")
    ages = [one.arrival_age_s for one in canary.partitions if one.arrival_age_s is not None]
    if not ages:
        return _nothing_yet(flow, now_at)
    if min(ages) <= flow.canary.patience_s:
        return None
    return Judgement(
        Verdict.UNKNOWN,
        _down_cause(flow),
        f"No canary record has arrived for {duration_text(min(ages))}, and none is known to wait: not enough"
        f" data for a verdict.{_down_sentence(flow)}",
    )


def _nothing_yet(flow: FlowEvidence, now_at: float) -> Judgement:
    down, why = _down_cause(flow), _down_sentence(flow)
    if any(one.carried for one in flow.canary.partitions):
        sentence = f"No canary record has arrived since Mirrorwatch started.{why}"
        return Judgement(Verdict.UNKNOWN, down, sentence)
    for alias, at in (
        (flow.source.alias, flow.topic.source_recreated_at),
        (flow.target.alias, flow.topic.target_recreated_at),
    ):
        if at is not None:
            ago = duration_text(max(0.0, now_at - at))
            sentence = (
                f"The canary topic was re-created on {alias} {ago} ago, and no record of the new one has"
                f" arrived yet.{why}"
            )
            return Judgement(Verdict.UNKNOWN, down or Cause.TOPIC_RECREATED, sentence)
    return Judgement(
        Verdict.UNKNOWN,
        down,
        f"No canary record has arrived yet.{why} A mirror replicates a new topic after its next refresh of"
        " topics.",
    )


def _partly_blind(flow: FlowEvidence) -> Judgement | None:
    """Return a judgement if no probe reaches some partitions of the source."""
    blind = [
        one
        for one in flow.canary.partitions
        if (one.unacked_age_s or 0.0) > flow.canary.threshold_s or _went_silent(flow, one)
    ]
    if not blind:
        return None
    where = partitions_text({one.partition for one in blind})
    whose = "its" if len(blind) == 1 else "their"
    others = "; the others arrive" if len(blind) < len(flow.canary.partitions) else ""
    return Judgement(
        Verdict.UNKNOWN,
        None,
        f"No canary record reaches {where} of {flow.topic.source_topic} on {flow.source.alias}, so {whose}"
        f" state is unknown{others}.",
    )


def _went_silent(flow: FlowEvidence, one: PartitionEvidence) -> bool:
    """Return whether a partition delivered before, and now has neither arrivals nor waiting probes."""
    return one.pending_age_s is None and (one.arrival_age_s or 0.0) > flow.canary.patience_s


def _down_cause(flow: FlowEvidence) -> Cause | None:
    if flow.source.control is Control.FAILING:
        return Cause.SOURCE_DOWN
    return Cause.TARGET_DOWN if flow.target.control is Control.FAILING else None


def _down_sentence(flow: FlowEvidence) -> str:
    down = [one.alias for one in (flow.source, flow.target) if one.control is Control.FAILING]
    match down:
        case []:
            return ""
        case [alias]:
            return f" Control probes fail on {alias}."
        case _:
            return f" Control probes fail on {down[0]} and on {down[1]}."


def healthy(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold always: it is the last rule."""
    del now_at
    latest = [one.latency_s for one in flow.canary.partitions if one.latency_s is not None]
    fresh = {one.partition for one in flow.canary.partitions if one.arrival_age_s is None}
    waits = f" None has arrived on {partitions_text(fresh)} yet." if fresh else ""
    sentence = arriving(flow.canary.threshold_s, max(latest, default=None))
    return Judgement(Verdict.HEALTHY, None, sentence + waits)


def arriving(threshold_s: float, latency_s: float | None) -> str:
    """Return that canary records arrive in time, and how long the newest took at most, if that is known."""
    took = "" if latency_s is None else f"; the newest took {latency_text(latency_s)}"
    return f"Canary records arrive within {duration_text(threshold_s)}{took}."
