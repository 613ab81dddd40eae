"""The facts of a flow's groups, read once from both clusters."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from fleet.errors import MirrorwatchError
from lagmon.failover.places import runs_of
from lagmon.failover.readiness import GroupReadiness, PartitionFacts, judge_group, worst_first
from lagmon.ingest.admin_plan import WITHOUT_MEMBERS
from lagmon.mirrors.answers.orders import EQUAL_OFFSETS
from lagmon.syncs.pairs import SyncPair
from runtime.kafka.positions import Which

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fleet.verdicts.flow import Decision, Flow
    from mirrorwatch.failover.cluster import ClusterReader, Place
    from mirrorwatch.failover.mirror_topics import MirrorTopics

    Runs = Sequence[Sequence[SyncPair]]


_LEFT_OUT = ("filtered", "internal")  # rules of decisions
_EXPIRED_MS = 7 * 86_400_000  # the default of the brokers' offsets.retention.minutes


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
    excludes. `by_checkpoints` are groups of which a source that was read has no committed offset.
    `source_problem` is why the source was not read: then all groups are judged by their checkpoints.
    `problem` is why the flow was not read at all. `target_ids` are those of topics of the target.
    """

    flow: Flow
    groups: tuple[GroupReadiness, ...] = ()
    waiting: Mapping[Place, Waiting] = field(default_factory=dict)
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    running_on_source: frozenset[str] = frozenset()
    running_on_target: frozenset[str] = frozenset()
    excluded: tuple[str, ...] = ()
    by_checkpoints: frozenset[str] = frozenset()
    problem: str = ""
    source_problem: str = ""
    source_cluster_id: str = ""
    target_cluster_id: str = ""
    target_ids: Mapping[str, str] = field(default_factory=dict)

    def is_ready(self, group: GroupReadiness) -> bool:
        """Return whether a group can start on the target, and does not run there already."""
        return group.status.is_ready and group.group not in self.running_on_target


@dataclass(slots=True)
class Answers:
    """What both clusters answered about one flow; places of the target have the target's topic names.

    `any_group`: groups that the mirror's filter excludes count too, and so do partitions that a group has
    committed on the target alone.
    """

    mirror: MirrorTopics
    now_ms: int
    any_group: bool = False
    source_problem: str = ""
    source_topics: dict[str, int] = field(default_factory=dict)
    source_states: dict[str, str] = field(default_factory=dict)
    source_committed: dict[str, dict[Place, int]] = field(default_factory=dict)
    source_starts: dict[Place, int] = field(default_factory=dict)  # where the mirror is behind
    source_ends: dict[Place, int] = field(default_factory=dict)
    target_topics: dict[str, int] = field(default_factory=dict)
    target_states: dict[str, str] = field(default_factory=dict)
    target_committed: dict[str, dict[Place, int]] = field(default_factory=dict)
    target_starts: dict[Place, int] = field(default_factory=dict)
    target_ends: dict[Place, int] = field(default_factory=dict)
    target_ids: dict[str, str] = field(default_factory=dict)
    compacted: frozenset[str] = frozenset()
    decisions: dict[str, Decision] = field(default_factory=dict)  # of topics of the source

    @contextmanager
    def asking_source(self) -> Iterator[None]:
        """Note why a query to the source fails; then nothing that it answered before counts."""
        try:
            yield
        except MirrorwatchError as error:
            self.source_problem = str(error)
            self.source_topics, self.source_committed = {}, {}

    @property
    def topics(self) -> dict[str, dict[str, int]]:
        """Return the topics of both clusters with their numbers of partitions."""
        flow = self.mirror.order.flow
        return {flow.source: self.source_topics, flow.target: self.target_topics}

    def accepts(self, group: str) -> bool:
        """Return whether the group is one that counts."""
        return self.any_group or self.mirror.order.flow.group_filter.matches(group)

    def _decided(self, topic: str) -> Decision:
        if topic not in self.decisions:
            self.decisions[topic] = self.mirror.order.flow.decide(topic)
        return self.decisions[topic]

    def places(self, wanted: Callable[[str], bool]) -> dict[str, dict[Place, Place]]:
        """Return by wanted group the source partitions that it would continue, each with the target's.

        They are those of its committed offsets on the source. Without any, they are all partitions of the
        topics of its checkpoints: it may have read more of them than it has checkpoints.
        """
        found: dict[str, dict[Place, Place]] = defaultdict(dict)
        for group, committed in self.source_committed.items():
            for topic, number in committed:
                there = self._decided(topic).remote_topic
                if there is not None:
                    found[group][topic, number] = there, number
        numbers: dict[tuple[str, str], set[int]] = defaultdict(set)
        for group, (held, number) in self._places_on_target(wanted):
            numbers[group, held].add(number)
        for (group, held), known in numbers.items():
            upstream = self.mirror.order.flow.upstream_topic(held)
            if upstream is not None and self._decided(upstream).remote_topic == held:
                for number in known.union(range(self.target_topics.get(held, 0))):
                    found[group][upstream, number] = held, number
        return found

    def _places_on_target(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Place]]:
        """Yield wanted groups with partitions of the target that they would continue."""
        newest: dict[str, int] = defaultdict(int)
        for (group, _), one in self.mirror.checkpoints.items():
            newest[group] = max(newest[group], one.at_ms)
        groups = {name for name in newest if wanted(name) and self._counts_by_checkpoints(name, newest[name])}
        yield from (key for key in self.mirror.checkpoints if key[0] in groups)
        if self.any_group:
            for group, committed in self.target_committed.items():
                yield from ((group, place) for place in committed)

    def _counts_by_checkpoints(self, group: str, newest_ms: int) -> bool:
        """Return whether a group counts without committed offsets on the source.

        Checkpoints of a deleted group stay. But a source that was read does not list a group either while
        the partition with its offsets has no leader.
        """
        if self.source_committed.get(group) or not self.accepts(group):
            return False
        if self.source_problem:
            return True
        if _has_members(self.target_states.get(group)):
            return False  # it has moved to the target
        return bool(self.target_committed.get(group)) or self.now_ms - newest_ms <= _EXPIRED_MS

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
        """Return the first source offset that is not replicated yet, and that retention has not deleted."""
        if self._has_equal_offsets:
            return self.target_ends.get(there)
        known = None if self._recreated(place, there) else self.mirror.replicated.get(place)
        start, end = self.source_starts.get(place), self.source_ends.get(place)
        if start is None or end is None or (known is None and start < end):
            return known
        return max(known or 0, min(start, end))

    def _recreated(self, place: Place, there: Place) -> Literal["", "source", "target"]:
        """Return the side whose topic was re-created after the newest offset sync; "" for neither."""
        since_ms, side = self.mirror.recreation(place[0])
        is_newer = any(one.at_ms >= since_ms for one in self.mirror.pairs.get(place, ())[-1:])
        if self._has_equal_offsets or is_newer or not since_ms or not self.target_ends.get(there):
            return ""  # in an empty log nothing can be wrong
        return "source" if side == "source" else "target"

    def is_behind(self, place: Place) -> bool:
        """Return whether the mirror is behind the log end offset of a source partition, or may be."""
        replicated = self.mirror.replicated.get(place)
        return replicated is None or replicated < self.source_ends.get(place, 0)

    def _facts(
        self, group: str, place: Place, there: Place, runs: Callable[[Place, Place], Runs]
    ) -> PartitionFacts:
        since_ms, _ = self.mirror.recreation(place[0])
        checkpoint = self.mirror.checkpoints.get((group, there))
        if checkpoint is not None and checkpoint.at_ms < since_ms:
            checkpoint = None
        pairs = runs(place, there)
        committed = self.source_committed.get(group, {})
        return PartitionFacts(
            topic=place[0],
            partition=place[1],
            committed=committed.get(place),
            committed_least=None if committed or checkpoint is None else checkpoint.upstream,
            source_end=self.source_ends.get(place),
            replicated=self._replicated(place, there),
            checkpoint=checkpoint,
            checkpoint_is_old=checkpoint is not None and self.now_ms - checkpoint.at_ms > self._old_ms,
            recreated=self._recreated(place, there),
            replicated_from=pairs[-1][0].upstream if since_ms and pairs else 0,
            runs=pairs,
            target_committed=self.target_committed.get(group, {}).get(there),
            target_start=self.target_starts.get(there),
            target_end=self.target_ends.get(there),
            on_target=there[1] < self.target_topics.get(there[0], 0),
            compacted=there[0] in self.compacted,
            in_transactions=self.mirror.order.flow.exactly_once and not self._has_equal_offsets,
            equal_offsets=self._has_equal_offsets,
        )

    def _runs(self, place: Place, there: Place) -> Runs:
        """Return the runs of offset syncs of a partition.

        Cluster Linking and mirrors of bytes write none: each offset is the same on both sides.
        """
        if not self._has_equal_offsets:
            since_ms, _ = self.mirror.recreation(place[0])
            return runs_of([one for one in self.mirror.pairs.get(place, ()) if one.at_ms >= since_ms])
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
    any_group: bool = False,
) -> FlowFailover:
    """Return how the groups of a flow would start on its target now, those with a wanted name; blocks.

    `any_group`: see `Answers`. Raises MirrorwatchError if the target does not answer.
    """
    flow = mirror.order.flow
    source, target = readers[flow.source], readers[flow.target]
    found = Answers(mirror, now_ms, any_group)
    with found.asking_source():
        found.source_topics = source.topics()
        found.source_states = {name: state for name, state in source.groups().items() if wanted(name)}
    # The target's before the source's: of a group that moves on in between, a start looks too far ahead else.
    found.target_topics, found.target_states = target.topics(), target.groups()
    mirror.read_checkpoints(target, found.target_topics)
    known = {name for name, _ in mirror.checkpoints if wanted(name)} | found.source_states.keys()
    if any_group:
        known |= set(filter(wanted, found.target_states))
    found.target_committed = target.committed(sorted(known & found.target_states.keys()))
    if not found.source_problem:
        with found.asking_source():
            found.source_committed = source.committed(list(filter(found.accepts, found.source_states)))
            mirror.read_progress(readers, found.topics, now_ms=now_ms)
    if found.source_problem:
        mirror.read_progress(readers, found.topics, now_ms=now_ms)  # what is on the target
    places = found.places(wanted)
    _read_offsets(found, source, target, places)
    by_checkpoints = places.keys() - {name for name, offsets in found.source_committed.items() if offsets}
    return FlowFailover(
        flow=flow,
        groups=found.judged(places),
        waiting=found.waiting(places),
        elsewhere=found.elsewhere(places),
        running_on_source=_running(found.source_states) & places.keys(),
        running_on_target=_running(found.target_states) & places.keys(),
        excluded=tuple(sorted(name for name in known if not found.accepts(name))),
        by_checkpoints=frozenset() if found.source_problem else frozenset(by_checkpoints),
        source_problem=found.source_problem,
        source_cluster_id=source.cluster_id,
        target_cluster_id=target.cluster_id,
        target_ids=found.target_ids,
    )


def _read_offsets(
    found: Answers,
    source: ClusterReader,
    target: ClusterReader,
    places: Mapping[str, Mapping[Place, Place]],
) -> None:
    """Read log offsets and topic ids, the source's last: what is committed may be the end of the log."""
    there = _existing({remote for one in places.values() for remote in one.values()}, found.target_topics)
    found.target_starts = target.offsets(there, Which.START)
    found.target_ends = target.offsets(there, Which.END)
    found.compacted = target.compacted({topic for topic, _ in there})
    found.target_ids = target.topic_ids(sorted({topic for topic, _ in there}))
    of_replicas = {
        place[0]: found.target_ids[remote]
        for one in places.values()
        for place, (remote, _) in one.items()
        if remote in found.target_ids
    }
    found.mirror.note_ids("target", of_replicas, now_ms=found.now_ms)
    here = _existing({place for one in places.values() for place in one}, found.source_topics)
    with suppress(MirrorwatchError):  # no leader answers: the same as if some do not
        found.source_ends = source.offsets(here, Which.END)
        found.source_starts = source.offsets(list(filter(found.is_behind, here)), Which.START)
        ids = source.topic_ids(sorted({topic for topic, _ in here}))
        found.mirror.note_ids("source", ids, now_ms=found.now_ms)


def _existing(places: Iterable[Place], topics: Mapping[str, int]) -> list[Place]:
    return sorted((topic, number) for topic, number in places if number < topics.get(topic, 0))


def _running(states: Mapping[str, str]) -> frozenset[str]:
    """Return the groups with members."""
    return frozenset(filter(lambda name: _has_members(states[name]), states))


def _has_members(state: str | None) -> bool:
    """Return whether a group in this state has members; None is the state of none."""
    return state is not None and state not in WITHOUT_MEMBERS
