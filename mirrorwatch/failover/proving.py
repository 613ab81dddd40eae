"""`failover --prove`: reads a group's next record on the source, and finds it on the target. Blocks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.errors import MirrorwatchError
from fleet.quantity import Bounds
from lagmon.failover.readiness import Proof, judge_group, start_of, worst_first
from mirrorwatch.trace.facts import Status
from mirrorwatch.trace.searching import Search

if TYPE_CHECKING:
    from lagmon.failover.readiness import PartitionFacts
    from mirrorwatch.failover.cluster import Place
    from mirrorwatch.failover.facts import FlowFailover
    from mirrorwatch.failover.mirror_topics import MirrorTopics
    from mirrorwatch.trace.clusters import Clusters

MOST_COUNTED = 20_000  # offsets of a partition between start and next record


def prove(found: FlowFailover, mirror: MirrorTopics, clusters: Clusters, *, now_ms: int) -> FlowFailover:
    """Return the groups of a flow, judged by what both logs hold; what is not found keeps its bounds."""
    groups = []
    for group in found.groups:
        facts = group.by_place()
        proofs = {(one.topic, one.partition): _proof(one, mirror, clusters, now_ms=now_ms) for one in facts}
        groups.append(judge_group(group.group, facts, proofs))
    return replace(found, groups=worst_first(groups))


def _proof(facts: PartitionFacts, mirror: MirrorTopics, clusters: Clusters, *, now_ms: int) -> Proof:
    flow = mirror.order.flow
    try:
        last, sentence = _next(facts, mirror, clusters, now_ms=now_ms)
        counted = None
        start, _ = start_of(facts)
        if last is not None and start is not None and last.least == last.most:
            place = flow.remote_topic(facts.topic), facts.partition
            counted = _counted(clusters, flow.target, place, start, last.least)
    except MirrorwatchError as error:
        return Proof(f"not read: {error}")
    return Proof(sentence, last, counted)


def _next(
    facts: PartitionFacts, mirror: MirrorTopics, clusters: Clusters, *, now_ms: int
) -> tuple[Bounds | None, str]:
    """Return bounds of the target offset of the group's next record, and where it is."""
    committed, target_end = facts.committed, facts.target_end
    if committed is None or target_end is None:
        return None, "not read: offsets are missing"
    place, source = (facts.topic, facts.partition), clusters[mirror.order.flow.source]
    starts, ends = source.logs([place])
    if committed < starts[place]:
        return None, f"its next record is not on the source, whose log start offset is {starts[place]}"
    record = source.next_record(place, committed) if committed < ends[place] else None
    if record is None:
        return Bounds(target_end, target_end), f"the group has read {facts.topic}-{facts.partition} whole"
    verdict = Search(mirror, place, (record.offset,), record, clusters).verdict(now_ms=now_ms)
    match verdict.status:
        case Status.FOUND if verdict.remote_partition == facts.partition:
            offsets = verdict.offsets
            where = f"the next record, {record.offset} on the source, is {min(offsets)} on the target"
            return Bounds(min(offsets), max(offsets)), where
        case Status.NOT_YET:
            return Bounds(target_end, target_end), f"the next record, {record.offset}, is not replicated yet"
        case _:  # in another partition, too: the group's offset of that one says nothing of this record
            return None, f"the next record, {record.offset}: {verdict.sentence}"


def _counted(clusters: Clusters, target: str, place: Place, start: int, last: int) -> int | None:
    """Return how many records a consumer finds between two offsets; None if it is too far to read."""
    first, end = sorted((start, last))
    if end - first > MOST_COUNTED:
        return None
    stretch = clusters[target].read(place, first, end)
    return len(stretch.records) if stretch.last >= end else None
