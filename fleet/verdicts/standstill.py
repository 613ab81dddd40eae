"""The cause of a stall: the first of these that the evidence shows, from the clusters to the mirror.

1. A cluster is down if its control probes fail. If it failed while the probe waited, it is still the cause
   until the mirror has had time to recover.
2. The topics: removed, never created, re-created, with settings that reject the records, or with fewer
   partitions on the target.
3. Newer probes arrived on other partitions: a task of the mirror hangs, or is throttled.
4. Both clusters answered after the probe should have arrived, and no partition moves: the mirror hangs or is
   down. If its heartbeats still arrive, it runs without the canary topic (`heartbeats`). If it committed
   offsets of other topics, the tasks of those run, and the others hang once they have had time to follow.

A cause that is not proved yet is `unexplained`, with what is missing: a wrong cause is worse than a late one.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

from fleet.quantity import duration_text
from fleet.verdicts.evidence import Control
from fleet.verdicts.heartbeats import why_running
from fleet.verdicts.offsets import RETURN_S, moved_elsewhere_s
from fleet.verdicts.vocabulary import Cause
from fleet.verdicts.words import clause, partitions_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.verdicts.evidence import ClusterEvidence, FlowEvidence, PartitionEvidence
    from fleet.verdicts.heartbeats import Why

SHOWN_TASKS = 3
_OR_THROTTLED = "or {} throttled by a quota"  # no probe can distinguish that from a hang while it lasts
_LEAST_GRACE_S = 1.0


def why_standing(flow: FlowEvidence, standing: Sequence[PartitionEvidence], now_at: float) -> Why:
    """Return the cause, and a clause that explains it, for at least one stalled partition."""
    return (
        _cluster_down(flow, standing)
        or _cluster_back(flow, standing, now_at)
        or _topics(flow, standing, now_at)
        or _mirror(flow, standing, now_at)
    )


def _mirror(flow: FlowEvidence, standing: Sequence[PartitionEvidence], now_at: float) -> Why:
    moving = _moving(flow, standing)
    if moving:
        what = f"newer ones arrived on other partitions, so {_stuck_tasks(flow, standing, moving)}"
        return Cause.TASK_STUCK, what
    why = _undecided(flow, standing, now_at)
    if why is not None:
        return why
    if not any(one.carried for one in flow.canary.partitions):
        what = f"both clusters are up, and none has ever arrived on {flow.target.alias}"
        return Cause.NOT_MIRRORED, f"{what}, so the mirror is down or does not replicate this topic"
    oldest_s, grace_s = _oldest_s(standing), max(_grace_s(flow, one) for one in standing)
    running = why_running(flow, waits_s=oldest_s, grace_s=grace_s)
    if running is not None:
        return running
    elsewhere_s = moved_elsewhere_s(flow, now_at, waits_s=oldest_s)
    if elsewhere_s is not None:
        return _advances_elsewhere(flow, standing, elsewhere_s)
    what = "both clusters are up, so the mirror is down or hangs"
    if any(one.late_age_s is not None and one.late_age_s <= flow.canary.horizon_s for one in standing):
        what += f", {_OR_THROTTLED.format('is')}"  # it replicated some late, and stalls again
    return Cause.MIRROR_DOWN, what


def _advances_elsewhere(flow: FlowEvidence, standing: Sequence[PartitionEvidence], elsewhere_s: float) -> Why:
    """Name the stuck tasks, after the time in which a mirror recovers task by task."""
    if elsewhere_s < RETURN_S:
        ago = duration_text(max(0.0, elsewhere_s))
        what = f"the mirror's offsets of other topics advanced {ago} ago"
        return Cause.UNEXPLAINED, f"{what}, and the next polls show whether this topic follows"
    what = f"the mirror's offsets of other topics advance, so {_stuck_tasks(flow, standing, [])}"
    return Cause.TASK_STUCK, what


def _undecided(flow: FlowEvidence, standing: Sequence[PartitionEvidence], now_at: float) -> Why | None:
    """Return the evidence that is missing to prove that the mirror is the cause."""
    for cluster in (flow.source, flow.target):
        if cluster.control is Control.UNKNOWN:
            what = f"{cluster.alias} has no control probe, so the fault may be there or in the mirror"
            return Cause.UNEXPLAINED, what
    for cluster in (flow.target, flow.source):
        if not _has_answered_since(cluster, flow, standing, now_at):
            what = f"the next control probe shows whether the fault is on {cluster.alias} or in the mirror"
            return Cause.UNEXPLAINED, what
    if not _others_silent(flow, standing):
        return Cause.UNEXPLAINED, "the next probes show whether other partitions are stalled too"
    return None


def _cluster_down(flow: FlowEvidence, standing: Sequence[PartitionEvidence]) -> Why | None:
    source, target = flow.source, flow.target
    down = [one for one in (source, target) if one.control is Control.FAILING]
    if not down:
        return None
    first = min(down, key=lambda one: one.since_at)  # the other may only be slow because of it
    cause = Cause.SOURCE_DOWN if first is source else Cause.TARGET_DOWN
    alias = first.alias
    if len(down) > 1:
        return cause, f"control probes fail on {source.alias} and on {target.alias}"
    moving = _moving(flow, standing)
    if moving:  # the control topic has one partition, so it shows one broker
        through = partitions_text({one.partition for one in moving})
        what = f"newer canary records arrived on {through}, so only some brokers of {alias} are down"
        return cause, f"control probes fail on {alias} too, but {what}"
    return cause, f"control probes fail on {alias} too"


def _cluster_back(flow: FlowEvidence, standing: Sequence[PartitionEvidence], now_at: float) -> Why | None:
    """Name a cluster that failed while the oldest probe waited, and recovered a moment ago."""
    due_at = now_at - _oldest_s(standing)
    back = [
        (one.last_failed_at, cause, one.alias)
        for cause, one in ((Cause.SOURCE_DOWN, flow.source), (Cause.TARGET_DOWN, flow.target))
        if one.last_failed_at is not None
        and due_at <= one.last_failed_at
        and now_at - one.last_failed_at <= RETURN_S
    ]
    if not back:
        return None
    failed_at, cause, alias = max(back, key=itemgetter(0))  # of two, the one that recovered last
    ago = duration_text(max(0.0, now_at - failed_at))
    return cause, f"{alias} was down until {ago} ago, and the mirror has not recovered yet"


def _topics(flow: FlowEvidence, standing: Sequence[PartitionEvidence], now_at: float) -> Why | None:
    topic, source, target = flow.topic, flow.source.alias, flow.target.alias
    if topic.target_exists is False:
        if any(one.carried for one in flow.canary.partitions):
            return Cause.TOPIC_MISSING, f"topic {topic.target_topic} no longer exists on {target}"
        return Cause.NOT_MIRRORED, f"topic {topic.target_topic} does not exist on {target}"
    arrived_s = min((one.arrival_age_s for one in standing if one.arrival_age_s is not None), default=None)
    for alias, at in ((source, topic.source_recreated_at), (target, topic.target_recreated_at)):
        if at is not None and (arrived_s is None or now_at - arrived_s <= at):
            ago = duration_text(max(0.0, now_at - at))
            return (
                Cause.TOPIC_RECREATED,
                f"the topic was re-created on {alias} {ago} ago, and none has arrived since",
            )
    return _refused(flow, standing, now_at) or _lacking(flow)


def _refused(flow: FlowEvidence, standing: Sequence[PartitionEvidence], now_at: float) -> Why | None:
    """Name settings of the target topic that reject records, or rejected them while probes waited."""
    topic = flow.topic
    if topic.target_refuses:
        return Cause.RECORD_REJECTED, clause(topic.target_refuses)
    refused_at = topic.target_refused_at
    if refused_at is None or refused_at < now_at - _oldest_s(standing):
        return None
    ago = duration_text(max(0.0, now_at - refused_at))
    what = f"{topic.target_topic} on {flow.target.alias} rejected such records until {ago} ago"
    return Cause.RECORD_REJECTED, f"{what}, and the mirror has not recovered yet"


def _lacking(flow: FlowEvidence) -> Why | None:
    """Name the partitions that the target topic lacks."""
    topic, source, target = flow.topic, flow.source.alias, flow.target.alias
    there, here = topic.source_partitions, topic.target_partitions
    if there is not None and here is not None and here < there:
        has = "1 partition" if here == 1 else f"{here} partitions"
        counts = f"{topic.target_topic} has {has} on {target} and {there} on {source}"
        lacking = partitions_text(range(here, there))
        what = f"{counts}; a task that has a record for {lacking} stalls with all its partitions"
        return Cause.PARTITION_MISSING, what
    return None


def _oldest_s(standing: Sequence[PartitionEvidence]) -> float:
    return max(max(one.pending_age_s or 0.0, one.unacked_age_s or 0.0) for one in standing)


def _grace_s(flow: FlowEvidence, one: PartitionEvidence) -> float:
    """Return the time within which a probe of this partition should arrive: twice the newest latency."""
    return min(max(2 * (one.latency_s or 0.0), _LEAST_GRACE_S), flow.canary.threshold_s)


def _stuck_tasks(
    flow: FlowEvidence, standing: Sequence[PartitionEvidence], moving: Sequence[PartitionEvidence]
) -> str:
    """Name the stuck tasks, if the worker's topics show their partitions; a task that moves is left out."""
    waiting, advancing = ({one.partition for one in some} for some in (standing, moving))
    stuck = [
        task for task in flow.tasks if waiting & {*task.partitions} and not advancing & {*task.partitions}
    ]
    if not stuck:
        return f"a task of the mirror hangs {_OR_THROTTLED.format('is')}"
    names = [f"{task.name} ({partitions_text(task.partitions)})" for task in stuck[:SHOWN_TASKS]]
    if len(stuck) > SHOWN_TASKS:
        names.append(f"{len(stuck) - SHOWN_TASKS} more")
    if len(names) == 1:
        return f"task {names[0]} hangs {_OR_THROTTLED.format('is')}"
    return f"tasks {', '.join(names[:-1])} and {names[-1]} hang {_OR_THROTTLED.format('are')}"


def _moving(flow: FlowEvidence, standing: Sequence[PartitionEvidence]) -> list[PartitionEvidence]:
    """Return the other partitions on which a probe arrived that was due after the waiting ones.

    A partition whose backlog arrived a moment ago is left out: it has just recovered, as the others may.
    """
    waits_s = (one.pending_age_s if one.pending_age_s is not None else one.unacked_age_s for one in standing)
    youngest_s = min(age_s or 0.0 for age_s in waits_s)
    return [
        one
        for one in _others(flow, standing)
        if one.present_age_s is not None
        and one.present_age_s < youngest_s
        and (one.pending_age_s or 0.0) <= _grace_s(flow, one)
        and (one.late_age_s is None or one.late_age_s > flow.canary.threshold_s)
    ]


def _others_silent(flow: FlowEvidence, standing: Sequence[PartitionEvidence]) -> bool:
    """Return whether every other replicated partition has an overdue probe by its usual latency."""
    return all(
        not one.carried or (one.pending_age_s or 0.0) > _grace_s(flow, one) for one in _others(flow, standing)
    )


def _others(flow: FlowEvidence, standing: Sequence[PartitionEvidence]) -> list[PartitionEvidence]:
    waiting = {one.partition for one in standing}
    return [one for one in flow.canary.partitions if one.partition not in waiting]


def _has_answered_since(
    cluster: ClusterEvidence, flow: FlowEvidence, standing: Sequence[PartitionEvidence], now_at: float
) -> bool:
    """Return whether a control probe was read back after the oldest waiting probe should have arrived.

    An earlier answer proves nothing: the cluster may have failed together with the flow.
    """
    if cluster.last_ok_at is None:
        return True
    grace_s = max(_grace_s(flow, one) for one in standing)
    return cluster.last_ok_at >= now_at - _oldest_s(standing) + grace_s
