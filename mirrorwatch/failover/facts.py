"""The facts of a flow's groups, read once from both clusters."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from fleet.errors import MirrorwatchError
from lagmon.failover.places import runs_of
from lagmon.failover.readiness import GroupReadiness, PartitionFacts, judge_group, worst_first
from lagmon.ingest.admin_plan import WITHOUT_MEMBERS
from lagmon.mirrors.answers.orders import EQUAL_OFFSETS
from lagmon.syncs.pairs import SyncPair
from runtime.kafka.positions import Which

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fleet.verdicts.flow import Decision, Flow
    from mirrorwatch.failover.cluster import ClusterReader, Place
    from mirrorwatch.failover.mirror_topics import MirrorTopics

    Runs = Sequence[Sequence[SyncPair]]


_LEFT_OUT = ("filtered", "internal")  # rules of decisions


class Waiting(NamedTuple):
    """A source partition: the first offset not replicated yet, None if unknown, and the log end offset."""

    replicated: int | None
    end: int

    @property
    def left(self) -> int | None:
        """Return how many offsets are not replicated yet; None if unknown."""
        if not self.end:
            return 0
        return None if self.replicated is None else max(0, self.end - self.replicated)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFailover:
    """The groups of a flow, worst first, and what could not be read.

    `waiting` is the mirror's progress in the source partitions that they read. `elsewhere` are topics that a
    group reads and the flow leaves out, so that nothing of them is judged. `running_on_source` and
    `running_on_target` are groups with members there, `excluded` those that the mirror's group filter
    excludes. `source_problem` is why the source was not read: then groups are judged by their checkpoints.
    """

    flow: Flow
    groups: tuple[GroupReadiness, ...]
    waiting: Mapping[Place, Waiting] = field(default_factory=dict)
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    running_on_source: frozenset[str] = frozenset()
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

    mirror: MirrorTopics
    now_ms: int
    source_read: bool = False
    source_topics: dict[str, int] = field(default_factory=dict)
    source_committed: dict[str, dict[Place, int]] = field(default_factory=dict)
    source_ends: dict[Place, int] = field(default_factory=dict)
    target_topics: dict[str, int] = field(default_factory=dict)
    target_committed: dict[str, dict[Place, int]] = field(default_factory=dict)
    target_starts: dict[Place, int] = field(default_factory=dict)
    target_ends: dict[Place, int] = field(default_factory=dict)
    compacted: frozenset[str] = frozenset()
    decisions: dict[str, Decision] = field(default_factory=dict)  # of topics of the source

    def _decided(self, topic: str) -> Decision:
        if topic not in self.decisions:
            self.decisions[topic] = self.mirror.order.flow.decide(topic)
        return self.decisions[topic]

    def places(self, wanted: Callable[[str], bool]) -> dict[str, dict[Place, Place]]:
        """Return by wanted group the source partitions that it would continue, each with the target's.

        They are those of its committed offsets, and without an answer of the source those of its checkpoints.
        """
        found: dict[str, dict[Place, Place]] = defaultdict(dict)
        flow = self.mirror.order.flow
        for group, committed in self.source_committed.items():
            for topic, number in committed:
                there = self._decided(topic).remote_topic
                if there is not None:
                    found[group][topic, number] = there, number
        for group, (held, number) in () if self.source_read else self.mirror.checkpoints:
            upstream = flow.upstream_topic(held)
            if upstream is not None and wanted(group):
                found[group][upstream, number] = held, number
        return found

    def elsewhere(self, groups: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Return by group the topics that it reads and the flow leaves out, except those from the target."""
        found = {}
        for group in groups:
            topics = {topic for topic, _ in self.source_committed.get(group, ())}
            out = [topic for topic in topics if self._decided(topic).rule in _LEFT_OUT]
            if out:
                found[group] = tuple(sorted(out))
        return found

    def judged(self, places: Mapping[str, Mapping[Place, Place]]) -> tuple[GroupReadiness, ...]:
        """Return the groups, worst first."""
        runs = cache(self._runs)  # many groups read the same partition
        return worst_first(
            judge_group(group, [self._facts(group, place, there, runs) for place, there in of_group.items()])
            for group, of_group in places.items()
        )

    def waiting(self, places: Mapping[str, Mapping[Place, Place]]) -> dict[Place, Waiting]:
        """Return the mirror's progress in those of these partitions whose log end offset is known."""
        known = {place: there for of_group in places.values() for place, there in of_group.items()}
        found = {}
        for place, there in known.items():
            if (end := self.source_ends.get(place)) is not None:
                replicated = self._replicated(place, there)
                is_other = replicated is not None and replicated > end  # of a log before this one
                found[place] = Waiting(None if is_other else replicated, end)
        return found

    def _replicated(self, place: Place, there: Place) -> int | None:
        """Return the first source offset that is not replicated yet."""
        if self._has_equal_offsets:
            return self.target_ends.get(there)
        return self.mirror.replicated.get(place)

    def _facts(
        self, group: str, place: Place, there: Place, runs: Callable[[Place, Place], Runs]
    ) -> PartitionFacts:
        checkpoint = self.mirror.checkpoints.get((group, there))
        return PartitionFacts(
            topic=place[0],
            partition=place[1],
            committed=self.source_committed.get(group, {}).get(place),
            committed_least=None if self.source_read or checkpoint is None else checkpoint.upstream,
            source_end=self.source_ends.get(place),
            replicated=self._replicated(place, there),
            checkpoint=checkpoint,
            checkpoint_is_old=checkpoint is not None and self.now_ms - checkpoint.at_ms > self._old_ms,
            runs=runs(place, there),
            target_committed=self.target_committed.get(group, {}).get(there),
            target_start=self.target_starts.get(there),
            target_end=self.target_ends.get(there),
            on_target=there[1] < self.target_topics.get(there[0], 0),
            compacted=there[0] in self.compacted,
            in_transactions=self.mirror.order.flow.exactly_once,
            equal_offsets=self._has_equal_offsets,
        )

    def _runs(self, place: Place, there: Place) -> Runs:
        """Return the runs of offset syncs of a partition.

        Cluster Linking and mirrors of bytes write none: each offset is the same on both sides.
        """
        if not self._has_equal_offsets:
            return runs_of(self.mirror.pairs.get(place, ()))
        if there not in self.target_ends:
            return ()
        far = max(self.target_ends[there], self.source_ends.get(place, 0)) + 1
        return [[SyncPair(0, 0, 0, 0, -1), SyncPair(0, 1, far, far, -1)]]

    @property
    def _has_equal_offsets(self) -> bool:
        return self.mirror.order.lag_from == EQUAL_OFFSETS

    @property
    def _old_ms(self) -> float:
        """Return the age from which a checkpoint is old: ten of the mirror's intervals, a minute at least."""
        interval_s = self.mirror.order.flow.emit_checkpoints_interval_s
        return max(60.0, 10 * (60.0 if interval_s is None else interval_s)) * 1000


def read_flow(
    readers: Mapping[str, ClusterReader],
    mirror: MirrorTopics,
    *,
    wanted: Callable[[str], bool],
    now_ms: int,
) -> FlowFailover:
    """Return how the groups of a flow would start on its target now, those with a wanted name; blocks.

    Raises MirrorwatchError if the target does not answer.
    """
    flow = mirror.order.flow
    source, target = readers[flow.source], readers[flow.target]
    found, problem = Answers(mirror, now_ms), ""
    here: dict[str, str] = {}
    try:
        found.source_topics = source.topics()
        here = {name: state for name, state in source.groups().items() if wanted(name)}
        found.source_read = True
    except MirrorwatchError as error:
        found.source_topics, problem = {}, str(error)
    # The target's before the source's: of a group that moves on in between, a start looks too far ahead else.
    found.target_topics, states = target.topics(), target.groups()
    mirror.read_checkpoints(target, found.target_topics)
    known = {*here, *(name for name, _ in mirror.checkpoints if wanted(name))}
    found.target_committed = target.committed(sorted(known & states.keys()))
    accepted = [name for name in here if flow.group_filter.matches(name)]
    if found.source_read:
        found.source_committed = source.committed(accepted)
    topics = {flow.source: found.source_topics, flow.target: found.target_topics}
    mirror.read_progress(readers, topics, now_ms=now_ms)
    places = found.places(wanted)
    there = sorted({remote for one in places.values() for remote in one.values()})
    there = [(topic, number) for topic, number in there if number < found.target_topics.get(topic, 0)]
    found.target_starts = target.offsets(there, Which.START)
    found.target_ends = target.offsets(there, Which.END)
    found.compacted = target.compacted({topic for topic, _ in there})
    if found.source_read:
        read = sorted({place for one in places.values() for place in one})
        read = [(topic, number) for topic, number in read if number < found.source_topics.get(topic, 0)]
        found.source_ends = source.offsets(read, Which.END)
    return FlowFailover(
        flow=flow,
        groups=found.judged(places),
        waiting=found.waiting(places),
        elsewhere=found.elsewhere(places),
        running_on_source=_running(here) & places.keys(),
        running_on_target=_running(states) & places.keys(),
        excluded=tuple(sorted({*here} - {*accepted})),
        source_problem=problem,
        source_cluster_id=source.cluster_id,
        target_cluster_id=target.cluster_id,
    )


def _running(states: Mapping[str, str]) -> frozenset[str]:
    """Return the groups with members."""
    return frozenset(name for name, state in states.items() if state not in WITHOUT_MEMBERS)
