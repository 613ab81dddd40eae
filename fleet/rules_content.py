"""The rules about what came and what did not: losing, altered, repeating."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.evidence import CanaryState, FindingKind
from fleet.judgement_words import Judgement, findings_of, partitions_text, probes_text, rows_of
from fleet.quantity import duration_text
from fleet.vocabulary import Cause, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.evidence import Finding, FlowEvidence


def losing(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while probes are lost for good, or stand where they do not belong."""
    lost = findings_of(flow, now_at, FindingKind.LOST)
    misrouted = findings_of(flow, now_at, FindingKind.MISROUTED)
    if not lost and not misrouted:
        return None
    count = sum(finding.count for finding in lost or misrouted)
    where = partitions_text({finding.partition for finding in lost or misrouted})
    if misrouted:
        return Judgement(
            Verdict.LOSING,
            Cause.MISROUTED,
            f"{probes_text(count)} of {flow.flow} stand in a place that is not theirs ({where}): something on"
            f" the way routes records elsewhere.",
            rows_of(misrouted + lost),
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
        f"{probes_text(count)} of {where} are on {flow.source.alias} and will not come to"
        f" {flow.target.alias}: {why}.",
        rows_of(lost),
    )


def altered(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while copies differ from what was sent."""
    altered = findings_of(flow, now_at, FindingKind.ALTERED)
    if not altered:
        return None
    count = sum(finding.count for finding in altered)
    return Judgement(
        Verdict.ALTERED,
        Cause.TRANSFORMED,
        f"{probes_text(count)} came to {flow.target.alias} changed: {altered[-1].sentence}. Look for a"
        f" transform or a converter other than ByteArrayConverter.",
        rows_of(altered),
    )


def repeating(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while copies come back to the source, or keep coming more than once."""
    looped = findings_of(flow, now_at, FindingKind.LOOPED)
    if looped or flow.canary.state is CanaryState.LATCHED:
        return Judgement(
            Verdict.REPEATING,
            Cause.LOOPING,
            f"Records of {flow.flow} come back to {flow.source.alias}, where they began: the mirrors go in a"
            f" circle and keep the topics' names.",
            rows_of(looped),
        )
    repeated = findings_of(flow, now_at, FindingKind.DUPLICATED)
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
        f"{probes_text(count)} came to {flow.target.alias} more than once: {why}. Look for a second mirror on"
        f" this flow.",
        rows_of(repeated),
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
