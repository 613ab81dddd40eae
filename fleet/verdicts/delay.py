"""Rules: canary records that are stalled or late; `standstill` has the causes of a stall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quantity import duration_text
from fleet.verdicts.evidence import CanaryState, Control
from fleet.verdicts.standstill import why_standing
from fleet.verdicts.vocabulary import Cause, Evidence, Verdict
from fleet.verdicts.words import MAX_ROWS, Judgement, partitions_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.verdicts.evidence import CanaryEvidence, ClusterEvidence, FlowEvidence, PartitionEvidence


def stalled(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while a probe is past its threshold and nothing newer arrives in its partition."""
    canary = flow.canary
    if canary.state is not CanaryState.RUNNING or canary.impaired is not None:
        return None
    if flow.source.control is Control.FAILING:
        unacked = [one for one in canary.partitions if _is_unacknowledged(canary, one)]
        if unacked:
            return _stall(flow, unacked, now_at)
    standing = [one for one in canary.partitions if _is_stalled(flow, one)]
    return _stall(flow, standing, now_at) if standing else None


def _is_unacknowledged(canary: CanaryEvidence, one: PartitionEvidence) -> bool:
    """Return whether the source has not acknowledged a probe that is past its threshold, nor any since.

    The producer gives a probe up after a while, perhaps before its threshold. If nothing waits on the source,
    the last arrival shows how long the source has been silent: the next probe was due within an interval.
    """
    if one.unacked_age_s is None:
        return False
    silent_s = (one.arrival_age_s or 0.0) - canary.interval_s if one.pending_age_s is None else 0.0
    return max(one.unacked_age_s, silent_s) > canary.threshold_s


def _stall(flow: FlowEvidence, standing: Sequence[PartitionEvidence], now_at: float) -> Judgement:
    cause, why = why_standing(flow, standing, now_at)
    everywhere = len(standing) == len(flow.canary.partitions) > 1
    where = "any partition" if everywhere else partitions_text({one.partition for one in standing})
    silent_s = min(_silent_s(one) for one in standing)
    rows = [_stall_row(flow, one, now_at) for one in standing[:MAX_ROWS]]
    rows += [_control_row(one, now_at) for one in (flow.source, flow.target) if one.control is not Control.OK]
    return Judgement(
        Verdict.STALLED,
        cause,
        f"No canary records replicated for {duration_text(silent_s)} on {where}: {why}.",
        tuple(rows),
    )


def _silent_s(one: PartitionEvidence) -> float:
    """Return for how long no record has arrived, as far back as is known."""
    if one.arrival_age_s is not None:
        return one.arrival_age_s
    return max(one.pending_age_s or 0.0, one.unacked_age_s or 0.0)


def _stall_row(flow: FlowEvidence, one: PartitionEvidence, now_at: float) -> Evidence:
    if one.pending_age_s is None:
        # An unacknowledged probe expires, so the oldest that waits may not be the first.
        unacked_s = one.unacked_age_s or 0.0
        more = "more than " if _silent_s(one) > unacked_s + 2 * flow.canary.interval_s else ""
        sentence = f"no acknowledgement from {flow.source.alias} for {more}{duration_text(unacked_s)}"
    else:
        sentence = f"a canary record has waited on {flow.source.alias} for {duration_text(one.pending_age_s)}"
        if one.arrival_age_s is not None:
            sentence += f"; the last arrival was {duration_text(one.arrival_age_s)} ago"
    carriers = [task.name for task in flow.tasks if one.partition in task.partitions]
    if len(carriers) == 1:
        sentence += f"; assigned to {carriers[0]} of the mirror"
    return Evidence(
        part="canary",
        sentence=sentence,
        at=now_at,
        topic=flow.topic.source_topic,
        partition=one.partition,
        source_offset=one.pending_offset,
    )


def _control_row(cluster: ClusterEvidence, now_at: float) -> Evidence:
    sentence = cluster.sentence or f"no control probe on {cluster.alias}"
    return Evidence(part="canary", sentence=sentence, at=cluster.since_at or now_at)


def _is_stalled(flow: FlowEvidence, one: PartitionEvidence) -> bool:
    """Return whether a probe of the partition is past its threshold, and none newer arrives.

    After a late arrival the next may take twice that latency: otherwise a flow that is always late would
    count as stalled between two arrivals.
    """
    canary = flow.canary
    pending_s = one.pending_age_s
    if pending_s is None or pending_s <= canary.threshold_s:
        return False
    if one.arrival_age_s is not None and one.arrival_age_s <= canary.threshold_s:
        return False
    late_s = one.latency_s if one.latency_s is not None and one.latency_s > canary.threshold_s else 0.0
    return pending_s > min(2 * late_s, canary.horizon_s)


def late(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while probes arrive past their threshold, or some wait while others arrive."""
    canary = flow.canary
    if canary.state is not CanaryState.RUNNING or canary.impaired is not None:
        return None
    late = [one for one in canary.partitions if _lateness_s(canary, one) > canary.threshold_s]
    if not late:
        return None
    worst_s = max(_lateness_s(canary, one) for one in late)
    where = partitions_text({one.partition for one in late})
    return Judgement(
        Verdict.LATE,
        Cause.UNEXPLAINED,
        f"Canary records arrive late on {where}: up to {duration_text(worst_s)}"
        f" (threshold {duration_text(canary.threshold_s)}).",
        tuple(_late_row(flow, one, now_at) for one in late[:MAX_ROWS]),
    )


def _lateness_s(canary: CanaryEvidence, one: PartitionEvidence) -> float:
    """Return the latency of the newest arrival, or the age of the oldest waiting probe if that is more.

    If no probe waits and none has arrived for a while, that latency is not the current one.
    """
    if one.pending_age_s is None and (one.arrival_age_s or 0.0) > canary.patience_s:
        return 0.0
    return max(one.latency_s or 0.0, one.pending_age_s or 0.0)


def _late_row(flow: FlowEvidence, one: PartitionEvidence, now_at: float) -> Evidence:
    if one.latency_s is not None and one.latency_s > flow.canary.threshold_s:
        sentence = f"the newest canary record took {duration_text(one.latency_s)}"
    else:
        waits_s = one.pending_age_s or 0.0
        sentence = f"a canary record has waited on {flow.source.alias} for {duration_text(waits_s)}"
    return Evidence(
        part="canary",
        sentence=sentence,
        at=now_at,
        topic=flow.topic.target_topic,
        partition=one.partition,
        source_offset=one.pending_offset,
    )
