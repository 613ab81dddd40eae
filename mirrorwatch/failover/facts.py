"""The facts of a flow's groups, read once from both clusters and from the store."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from fleet.errors import MalformedError, MirrorwatchError
from fleet.wire.mirror import decode_checkpoint, decode_offset_sync, decode_source_offset
from fleet.wire.records import NotMirrored, Tombstone
from lagmon.failover.readiness import Checkpoint, GroupReadiness, PartitionFacts, judge_group
from lagmon.ingest.admin_plan import NOBODY
from lagmon.mirrors.answers.orders import CONNECT_OFFSETS, EQUAL_OFFSETS
from lagmon.syncs.pairs import SyncPair
from runtime.kafka.positions import Which

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from fleet.verdicts.flow import Flow
    from lagmon.mirrors.answers.orders import MirrorOrder
    from mirrorwatch.failover.cluster import ClusterReader, Place, TopicRecord

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFailover:
    """The groups of a flow, worst first, and what could not be read.

    `running_on_target` are groups with members on the target, `excluded` those that the mirror's group filter
    excludes. `source_problem` is why the source was not read: then groups are judged by their checkpoints.
    """

    flow: Flow
    groups: tuple[GroupReadiness, ...]
    running_on_target: frozenset[str] = frozenset()
    excluded: tuple[str, ...] = ()
    source_problem: str = ""
    source_cluster_id: str = ""
    target_cluster_id: str = ""

    def is_ready(self, group: GroupReadiness) -> bool:
        """Return whether a group can start on the target, and does not run there already."""
        return group.status.is_ready and group.group not in self.running_on_target


@dataclass(slots=True)
class Answers:
    """What both clusters answered about one flow; places of the target have the target's topic names."""

    source_read: bool = False
    source_topics: dict[str, int] = field(default_factory=dict)
    source_committed: dict[str, dict[Place, int]] = field(default_factory=dict)
    source_ends: dict[Place, int] = field(default_factory=dict)
    checkpoints: dict[tuple[str, Place], Checkpoint] = field(default_factory=dict)
    pairs: dict[Place, list[SyncPair]] = field(default_factory=dict)
    replicated: dict[Place, int] = field(default_factory=dict)
    target_topics: dict[str, int] = field(default_factory=dict)
    target_committed: dict[str, dict[Place, int]] = field(default_factory=dict)
    target_starts: dict[Place, int] = field(default_factory=dict)
    target_ends: dict[Place, int] = field(default_factory=dict)
    compacted: frozenset[str] = frozenset()

    def places(self, flow: Flow) -> dict[str, dict[Place, Place]]:
        """Return by group the source partitions that it would continue, each with the target's.

        They are those of its committed offsets, and without an answer of the source those of its checkpoints.
        """
        found: dict[str, dict[Place, Place]] = defaultdict(dict)
        remote: dict[str, str | None] = {}
        for group, committed in self.source_committed.items():
            for topic, number in committed:
                if topic not in remote:
                    remote[topic] = flow.decide(topic).remote_topic
                there = remote[topic]
                if there is not None:
                    found[group][topic, number] = there, number
        for group, (held, number) in self.checkpoints:
            upstream = flow.upstream_topic(held)
            if not self.source_read and upstream is not None:
                found[group][upstream, number] = held, number
        return found

    def judged(self, flow: Flow) -> tuple[GroupReadiness, ...]:
        """Return the groups, worst first."""
        groups = [
            judge_group(group, [self._facts(flow, group, *both) for both in places.items()])
            for group, places in self.places(flow).items()
        ]
        return tuple(sorted(groups, key=lambda one: (one.status.rank, one.group)))

    def _facts(self, flow: Flow, group: str, place: Place, there: Place) -> PartitionFacts:
        checkpoint = self.checkpoints.get((group, there))
        committed = self.source_committed.get(group, {}).get(place)
        if committed is None and checkpoint is not None and not self.source_read:
            committed = checkpoint.upstream
        return PartitionFacts(
            topic=place[0],
            partition=place[1],
            committed=committed,
            source_end=self.source_ends.get(place),
            replicated=self.replicated.get(place),
            checkpoint=checkpoint,
            pairs=self.pairs.get(place, ()),
            target_committed=self.target_committed.get(group, {}).get(there),
            target_start=self.target_starts.get(there),
            target_end=self.target_ends.get(there),
            on_target=there[1] < self.target_topics.get(there[0], 0),
            compacted=there[0] in self.compacted,
            in_transactions=flow.exactly_once,
        )


def read_flow(
    order: MirrorOrder,
    readers: Mapping[str, ClusterReader],
    *,
    kept: Mapping[Place, Sequence[SyncPair]],
    group: str | None = None,
) -> FlowFailover:
    """Return how the groups of a flow, or one of them, would start on its target now; blocks.

    `kept` are the offset syncs in the store. Raises MirrorwatchError if the target does not answer.
    """
    flow = order.flow
    source, target = readers[flow.source], readers[flow.target]
    found, problem = Answers(), ""
    names: list[str] = []
    try:
        found.source_topics = source.topics()
        names = [name for name in source.groups() if group in (None, name)]
        found.source_read = True
    except MirrorwatchError as error:
        found.source_topics, problem = {}, str(error)
    # The target's before the source's: of a group that moves on in between, a start looks too far ahead else.
    found.target_topics, states = target.topics(), target.groups()
    records = _whole(target, flow.checkpoints_topic, found.target_topics)
    found.checkpoints = {key: one for key, one in checkpoints_of(records).items() if group in (None, key[0])}
    known = {*names, *(name for name, _ in found.checkpoints)}
    found.target_committed = target.committed(sorted(known & states.keys()))
    accepted = [name for name in names if flow.group_filter.matches(name)]
    if found.source_read:
        found.source_committed = source.committed(accepted)
    _read_progress(found, order, readers)
    for place, pairs in kept.items():
        found.pairs[place] = _joined(pairs, found.pairs.get(place, []))
    places = found.places(flow)
    running = {name for name, state in states.items() if state not in NOBODY}
    there = sorted({remote for one in places.values() for remote in one.values()})
    there = [(topic, number) for topic, number in there if number < found.target_topics.get(topic, 0)]
    found.target_starts = target.offsets(there, Which.START)
    found.target_ends = target.offsets(there, Which.END)
    found.compacted = target.compacted({topic for topic, _ in there})
    if found.source_read:
        here = sorted({place for one in places.values() for place in one})
        here = [(topic, number) for topic, number in here if number < found.source_topics.get(topic, 0)]
        found.source_ends = source.offsets(here, Which.END)
    if order.lag_from == EQUAL_OFFSETS:
        _take_equal_offsets(found, flow)
    return FlowFailover(
        flow=flow,
        groups=found.judged(flow),
        running_on_target=frozenset(running & places.keys()),
        excluded=tuple(sorted({*names} - {*accepted})),
        source_problem=problem,
        source_cluster_id=source.cluster_id,
        target_cluster_id=target.cluster_id,
    )


def checkpoints_of(records: Sequence[TopicRecord]) -> dict[tuple[str, Place], Checkpoint]:
    """Return the newest checkpoint of each group and target partition; malformed records are left out."""
    found: dict[tuple[str, Place], Checkpoint] = {}
    for record, one in _decoded(records, decode_checkpoint):
        key = one.key.group, (one.key.topic, one.key.partition)
        if isinstance(one, Tombstone):
            found.pop(key, None)
        else:
            found[key] = Checkpoint(one.upstream_offset, one.downstream_offset, record.at_ms)
    return found


def pairs_of(records: Sequence[TopicRecord]) -> dict[Place, list[SyncPair]]:
    """Return the offset syncs of each source partition, in the mirror's order."""
    found: dict[Place, list[SyncPair]] = defaultdict(list)
    for record, one in _decoded(records, decode_offset_sync):
        if not isinstance(one, Tombstone):
            pair = SyncPair(0, record.offset, one.upstream_offset, one.downstream_offset, record.at_ms)
            found[one.key.topic, one.key.partition].append(pair)
    return found


def replicated_of(records: Sequence[TopicRecord], flow: Flow) -> dict[Place, int]:
    """Return the first source offset that the mirror has not replicated yet, as it last committed."""
    found: dict[Place, int] = {}
    for _, one in _decoded(records, decode_source_offset):
        if isinstance(one, NotMirrored):
            continue
        place = one.key.topic, one.key.partition
        if (one.key.cluster, one.key.connector) != (flow.named_source, flow.connector):
            continue
        if isinstance(one, Tombstone):
            found.pop(place, None)
        else:
            found[place] = one.offset + 1
    return found


def _decoded(
    records: Sequence[TopicRecord], decode: Callable[[bytes | None, bytes | None], _T]
) -> Iterator[tuple[TopicRecord, _T]]:
    """Yield each record with what it says, without malformed ones."""
    for record in records:
        with suppress(MalformedError):
            yield record, decode(record.key, record.value)


def _read_progress(found: Answers, order: MirrorOrder, readers: Mapping[str, ClusterReader]) -> None:
    """Read offset syncs, and how far the mirror is."""
    flow = order.flow
    topics = {flow.source: found.source_topics, flow.target: found.target_topics}
    if order.lag_from == EQUAL_OFFSETS:
        return
    home = flow.source if flow.offset_syncs_location == "source" else flow.target
    found.pairs = pairs_of(_whole(readers[home], flow.offset_syncs_topic, topics[home]))
    alias = order.offsets_cluster
    if order.lag_from == CONNECT_OFFSETS and alias in readers:
        listed = topics[alias] if alias in topics else readers[alias].topics()
        found.replicated = replicated_of(_whole(readers[alias], order.offsets_topic, listed), flow)
    for place, pairs in found.pairs.items():
        found.replicated[place] = max(found.replicated.get(place, 0), pairs[-1].upstream + 1)


def _take_equal_offsets(found: Answers, flow: Flow) -> None:
    """Take each offset of the source as that of the target, as Cluster Linking and mirrors of bytes do."""
    for places in found.places(flow).values():
        for place, there in places.items():
            end = found.target_ends.get(there)
            if end is not None:
                found.replicated[place] = end
                far = max(end, found.source_ends.get(place, 0)) + 1
                found.pairs[place] = [SyncPair(0, 0, 0, 0, -1), SyncPair(0, 1, far, far, -1)]


def _whole(reader: ClusterReader, topic: str, topics: Mapping[str, int]) -> list[TopicRecord]:
    return reader.whole(topic, topics[topic]) if topic in topics else []


def _joined(kept: Sequence[SyncPair], fresh: Sequence[SyncPair]) -> list[SyncPair]:
    """Return kept pairs, and those of the topic after them; all of them if the topic was re-created."""
    if not kept or not fresh:
        return [*kept, *fresh]
    era, last = kept[-1].era, kept[-1].number
    if fresh[-1].number < last:
        era, last = era + 1, -1
    return [*kept, *(one._replace(era=era) for one in fresh if one.number > last)]
