"""The one function that decides how a flow is and why, from evidence alone.

Rules are tried worst first; the first that holds gives the verdict. Loss, change and repetition hold for
HOLD_S after their last evidence. What we know of a fault never comes in: only what was seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.evidence import CanaryState, Control, FindingKind
from fleet.quantity import duration_text
from fleet.vocabulary import Cause, Evidence, FlowVerdict, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fleet.evidence import Finding, FlowEvidence, PartitionEvidence

HOLD_S = 900.0
MAX_ROWS = 10  # rows of evidence for one verdict; the books have the count


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict at one instant; `cause` is None for healthy, and where data is only missing."""

    verdict: Verdict
    cause: Cause | None
    sentence: str
    evidence: tuple[Evidence, ...] = ()


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


# --- losing


def _losing(flow: FlowEvidence, now_at: float) -> Judgement | None:
    lost = _findings(flow, now_at, FindingKind.LOST)
    misrouted = _findings(flow, now_at, FindingKind.MISROUTED)
    if not lost and not misrouted:
        return None
    count = sum(finding.count for finding in lost or misrouted)
    where = _partitions_text({finding.partition for finding in lost or misrouted})
    if misrouted:
        return Judgement(
            Verdict.LOSING,
            Cause.MISROUTED,
            f"{_records(count)} of {flow.flow} stand in a place that is not theirs ({where}): something on"
            f" the way routes records elsewhere.",
            _rows(misrouted + lost),
        )
    if any(finding.overtaken for finding in lost):
        cause = Cause.OVERTAKEN
        why = f"the log on {flow.source.alias} starts after them, so they were deleted before they were read"
    elif flow.topic.source_recreated_at is not None or flow.topic.target_recreated_at is not None:
        cause = Cause.TOPIC_RECREATED
        side = flow.source.alias if flow.topic.source_recreated_at is not None else flow.target.alias
        why = f"the topic was re-created on {side}"
    else:
        cause = Cause.FILTERED
        why = "newer records of the same partitions came through: something on the way drops records"
    return Judgement(
        Verdict.LOSING,
        cause,
        f"{_records(count)} of {where} are on {flow.source.alias} and will not come to"
        f" {flow.target.alias}: {why}.",
        _rows(lost),
    )


# --- altered


def _altered(flow: FlowEvidence, now_at: float) -> Judgement | None:
    altered = _findings(flow, now_at, FindingKind.ALTERED)
    if not altered:
        return None
    count = sum(finding.count for finding in altered)
    return Judgement(
        Verdict.ALTERED,
        Cause.TRANSFORMED,
        f"{_records(count)} came to {flow.target.alias} changed: {altered[-1].sentence}. Look for a transform"
        f" or a converter other than ByteArrayConverter.",
        _rows(altered),
    )


# --- stalled


def _stalled(flow: FlowEvidence, now_at: float) -> Judgement | None:
    canary = flow.canary
    if canary.state is not CanaryState.RUNNING:
        return None
    if flow.source.control is Control.FAILING and any(
        (one.unacked_age_s or 0) > canary.threshold_s for one in canary.partitions
    ):
        standing = [one for one in canary.partitions if (one.unacked_age_s or 0) > canary.threshold_s]
        return _stall(flow, standing, Cause.SOURCE_DOWN, now_at)
    if canary.impaired is not None and flow.target.control is not Control.FAILING:
        return None
    standing = [one for one in canary.partitions if _stands(flow, one)]
    if not standing:
        return None
    return _stall(flow, standing, _stall_cause(flow, standing), now_at)


def _stall_cause(flow: FlowEvidence, standing: Sequence[PartitionEvidence]) -> Cause:
    carrying = [one for one in flow.canary.partitions if one.carried]
    if flow.source.control is Control.FAILING:
        return Cause.SOURCE_DOWN
    if flow.target.control is Control.FAILING:
        return Cause.TARGET_DOWN
    if flow.topic.target_exists is False:
        return Cause.TOPIC_MISSING if carrying else Cause.NOT_MIRRORED
    if _lacks_partitions(flow) and not any(one.carried for one in standing):
        return Cause.PARTITION_MISSING
    if Control.UNKNOWN in (flow.source.control, flow.target.control):
        return Cause.UNEXPLAINED
    return Cause.TASK_STUCK if _others_move(flow, standing) else Cause.MIRROR_DOWN


def _others_move(flow: FlowEvidence, standing: Sequence[PartitionEvidence]) -> bool:
    """Tell whether a probe that was due after one that waits has come through another partition."""
    waiting = {one.partition for one in standing}
    youngest_s = min(one.pending_age_s or 0 for one in standing)
    return any(
        one.present_age_s is not None and one.present_age_s < youngest_s
        for one in flow.canary.partitions
        if one.partition not in waiting
    )


def _stall(
    flow: FlowEvidence, standing: Sequence[PartitionEvidence], cause: Cause, now_at: float
) -> Judgement:
    source, target = flow.source.alias, flow.target.alias
    where = _partitions_text({one.partition for one in standing})
    age = max(max(one.pending_age_s or 0, one.unacked_age_s or 0) for one in standing)
    why = {
        Cause.SOURCE_DOWN: f"{source} does not take our own records either ({flow.source.sentence})",
        Cause.TARGET_DOWN: f"{target} does not take our own records either ({flow.target.sentence})",
        Cause.TOPIC_MISSING: f"the topic {flow.topic.target_topic} is gone from {target}",
        Cause.NOT_MIRRORED: f"the topic {flow.topic.target_topic} was never made on {target}",
        Cause.PARTITION_MISSING: f"{target} has {flow.topic.target_partitions} partitions of"
        f" {flow.topic.target_topic}, {source} has {flow.topic.source_partitions}",
        Cause.UNEXPLAINED: "a cluster has no control probe, so which side is at fault is not known",
        Cause.MIRROR_DOWN: "both clusters answer, so the mirror stands still",
        Cause.TASK_STUCK: "newer probes came through other partitions, so one of the mirror's tasks stands",
    }[cause]
    rows = tuple(_stall_row(flow, one, now_at) for one in standing[:MAX_ROWS])
    return Judgement(
        Verdict.STALLED,
        cause,
        f"Nothing has come through {where} of {flow.flow} for {duration_text(age)}: {why}.",
        rows,
    )


def _stall_row(flow: FlowEvidence, one: PartitionEvidence, now_at: float) -> Evidence:
    if one.pending_age_s is None:
        sentence = f"no acknowledgement from {flow.source.alias} for {duration_text(one.unacked_age_s or 0)}"
    else:
        sentence = f"a probe waits on {flow.source.alias} for {duration_text(one.pending_age_s)}"
        if one.arrival_age_s is not None:
            sentence += f"; the last arrival was {duration_text(one.arrival_age_s)} ago"
    return Evidence(
        part="canary",
        sentence=sentence,
        at=now_at,
        topic=flow.topic.source_topic,
        partition=one.partition,
        source_offset=one.pending_offset,
    )


def _stands(flow: FlowEvidence, one: PartitionEvidence) -> bool:
    """Tell whether a partition stands: a probe is past its threshold, and nothing newer arrives.

    After a late arrival the next is given twice that latency, or a flow that is evenly late would look as
    if it stood between two arrivals.
    """
    canary = flow.canary
    pending_s = one.pending_age_s
    if pending_s is None or pending_s <= canary.threshold_s:
        return False
    if one.arrival_age_s is not None and one.arrival_age_s <= canary.threshold_s:
        return False
    late_s = one.latency_s if one.latency_s is not None and one.latency_s > canary.threshold_s else 0.0
    return pending_s > min(2 * late_s, canary.horizon_s)


def _lacks_partitions(flow: FlowEvidence) -> bool:
    source, target = flow.topic.source_partitions, flow.topic.target_partitions
    return source is not None and target is not None and target < source


# --- repeating


def _repeating(flow: FlowEvidence, now_at: float) -> Judgement | None:
    looped = _findings(flow, now_at, FindingKind.LOOPED)
    if looped or flow.canary.state is CanaryState.LATCHED:
        return Judgement(
            Verdict.REPEATING,
            Cause.LOOPING,
            f"Records of {flow.flow} come back to {flow.source.alias}, where they began: the mirrors go in a"
            f" circle and keep the topics' names.",
            _rows(looped),
        )
    repeated = _findings(flow, now_at, FindingKind.DUPLICATED)
    if not repeated:
        return None
    count = sum(finding.count for finding in repeated)
    if flow.exactly_once:
        why = "the mirror is set to deliver exactly once"
    else:
        # A restart repeats what was not yet committed, all within a horizon; what goes on is no restart.
        spans = _spans(repeated, gap_s=flow.canary.horizon_s)
        longest = max(spans, key=lambda span: span[1] - span[0])
        if longest[1] - longest[0] <= flow.canary.horizon_s:
            return None
        why = f"it went on for {duration_text(longest[1] - longest[0])}, so it is no mere restart"
    return Judgement(
        Verdict.REPEATING,
        Cause.DUPLICATING,
        f"{_records(count)} came to {flow.target.alias} more than once: {why}. Look for a second mirror on"
        f" this flow.",
        _rows(repeated),
    )


def _spans(findings: Sequence[Finding], *, gap_s: float) -> list[tuple[float, float]]:
    """Join findings whose distance is at most gap_s; return first and last instant of each group."""
    spans: list[tuple[float, float]] = []
    for finding in findings:
        if spans and finding.at - spans[-1][1] <= gap_s:
            spans[-1] = (spans[-1][0], finding.at)
        else:
            spans.append((finding.at, finding.at))
    return spans


# --- late, unknown, healthy


def _late(flow: FlowEvidence, now_at: float) -> Judgement | None:
    canary = flow.canary
    if canary.state is not CanaryState.RUNNING or canary.impaired is not None:
        return None
    late = [
        one
        for one in canary.partitions
        if (one.latency_s is not None and one.latency_s > canary.threshold_s)
        or (one.pending_age_s is not None and one.pending_age_s > canary.threshold_s)
    ]
    if not late:
        return None
    worst_s = max(max(one.latency_s or 0, one.pending_age_s or 0) for one in late)
    rows = tuple(
        Evidence(
            part="canary",
            sentence="the newest arrival took " + duration_text(one.latency_s)
            if one.latency_s is not None
            else "a probe is past its threshold",
            at=now_at,
            topic=flow.topic.target_topic,
            partition=one.partition,
            source_offset=one.pending_offset,
        )
        for one in late[:MAX_ROWS]
    )
    return Judgement(
        Verdict.LATE,
        Cause.UNEXPLAINED,
        f"Records arrive, but {_partitions_text({one.partition for one in late})} of {flow.flow} take up to"
        f" {duration_text(worst_s)}; the threshold is {duration_text(canary.threshold_s)}.",
        rows,
    )


def _unknown(flow: FlowEvidence, now_at: float) -> Judgement | None:
    del now_at
    canary = flow.canary
    match canary.state:
        case CanaryState.OFF:
            return Judgement(Verdict.UNKNOWN, None, f"The canary of {flow.flow} is off: {canary.sentence}")
        case CanaryState.WAITING:
            down = _down_cause(flow)
            return Judgement(Verdict.UNKNOWN, down, f"No probe of {flow.flow} runs yet: {canary.sentence}")
        case _:
            pass
    if canary.impaired is not None:
        return Judgement(
            Verdict.UNKNOWN,
            Cause.PROBER,
            f"Mirrorwatch cannot see {flow.flow} properly at present: {canary.impaired}.",
        )
    if not canary.partitions:
        return Judgement(Verdict.UNKNOWN, None, f"No probe of {flow.flow} has been sent yet.")
    quiet = [one for one in canary.partitions if one.arrival_age_s is None]
    if len(quiet) == len(canary.partitions):
        return Judgement(
            Verdict.UNKNOWN,
            _down_cause(flow),
            f"Nothing of {flow.flow} has arrived yet. A mirror takes up new topics at its next refresh; until"
            f" then probes are warm-up and judged by nobody.",
        )
    stale_s = 2 * canary.interval_s + canary.threshold_s
    old = [one for one in canary.partitions if one.arrival_age_s is not None and one.arrival_age_s > stale_s]
    if len(old) + len(quiet) == len(canary.partitions):
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


def _healthy(flow: FlowEvidence, now_at: float) -> Judgement | None:
    del now_at
    latest = [one.latency_s for one in flow.canary.partitions if one.latency_s is not None]
    took = f"; the newest took {duration_text(max(latest))} at most" if latest else ""
    return Judgement(
        Verdict.HEALTHY,
        None,
        f"Probes of {flow.flow} arrive within {duration_text(flow.canary.threshold_s)}{took}.",
    )


_RULES: tuple[Callable[[FlowEvidence, float], Judgement | None], ...] = (
    _losing,
    _altered,
    _stalled,
    _repeating,
    _late,
    _unknown,
    _healthy,
)


# --- words


def _canary_sentence(flow: FlowEvidence) -> str:
    canary = flow.canary
    if canary.state is not CanaryState.RUNNING:
        return canary.sentence
    if canary.impaired is not None:
        return canary.impaired
    moving = sum(
        one.arrival_age_s is not None and one.arrival_age_s <= canary.threshold_s + canary.interval_s
        for one in canary.partitions
    )
    return f"{moving} of {len(canary.partitions)} partitions deliver"


def _findings(flow: FlowEvidence, now_at: float, kind: FindingKind) -> list[Finding]:
    return [one for one in flow.canary.findings if one.kind is kind and now_at - one.at <= HOLD_S]


def _rows(findings: Sequence[Finding]) -> tuple[Evidence, ...]:
    newest = sorted(findings, key=lambda finding: finding.at, reverse=True)[:MAX_ROWS]
    return tuple(
        Evidence(
            part="canary",
            sentence=finding.sentence,
            at=finding.at,
            topic=finding.topic,
            partition=finding.partition,
            source_offset=finding.source_offset,
            target_offset=finding.target_offset,
        )
        for finding in newest
    )


def _records(count: int) -> str:
    return "1 probe" if count == 1 else f"{count} probes"


def _partitions_text(partitions: set[int]) -> str:
    numbers = sorted(partitions)
    shown = ", ".join(str(number) for number in numbers[:6])
    more = f" and {len(numbers) - 6} more" if len(numbers) > 6 else ""
    return f"partition {shown}" if len(numbers) == 1 else f"partitions {shown}{more}"
