"""The rules about what is on its way: stalled and late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.evidence import CanaryState, Control
from fleet.judgement_words import MAX_ROWS, Judgement, partitions_text
from fleet.quantity import duration_text
from fleet.vocabulary import Cause, Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.evidence import FlowEvidence, PartitionEvidence


def stalled(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while a probe is past its threshold and nothing newer arrives in its partition."""
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
    where = partitions_text({one.partition for one in standing})
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


def late(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while probes arrive past their threshold, or some wait while others arrive."""
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
        f"Records arrive, but {partitions_text({one.partition for one in late})} of {flow.flow} take up to"
        f" {duration_text(worst_s)}; the threshold is {duration_text(canary.threshold_s)}.",
        rows,
    )
