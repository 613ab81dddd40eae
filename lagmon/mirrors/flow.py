"""One flow as offsets show it: its windows, its topics on both sides, and what was lost to retention. Pure.

The caller holds the locks of both clusters.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lagmon.mirrors import tails as mirror_tails
from lagmon.mirrors.answers import events as mirror_events
from lagmon.mirrors.answers.orders import CONNECT_OFFSETS, EQUAL_OFFSETS, GROUP, OFFSET_SYNCS
from lagmon.mirrors.distance import DistanceBounds
from lagmon.mirrors.left_out import held as mirror_held
from lagmon.mirrors.left_out.behind import Behind, LeftBehind
from lagmon.mirrors.left_out.filtered import Filtered
from lagmon.mirrors.left_out.passed import LeftOut
from lagmon.mirrors.left_out.topics_behind import TopicsBehind
from lagmon.mirrors.left_out.transactions import OpenTransactions
from lagmon.mirrors.left_out.unlisted import UnlistedTopics
from lagmon.mirrors.left_out.unwatched import Unwatched
from lagmon.mirrors.lost_ends.cuts import SourceCuts
from lagmon.mirrors.progress.beginnings import Beginnings
from lagmon.mirrors.recreated.losses import MirrorLosses
from lagmon.mirrors.retention import emptied as mirror_emptied
from lagmon.mirrors.retention import findings as overtaken_findings
from lagmon.mirrors.retention import overtaken as mirror_overtaken
from lagmon.mirrors.rewinds.repeats import Repeats
from lagmon.mirrors.rewinds.rewinds import Rewinds
from lagmon.mirrors.settings import MirrorSettings, retention_of
from lagmon.mirrors.sight import LOOK_MS, MirrorPace, MirrorSight, Sides, see
from lagmon.mirrors.soonest import Soonest
from lagmon.mirrors.standing import standing
from lagmon.mirrors.starts import StartLooks
from lagmon.mirrors.tasks.assignments import MirrorAssignments
from lagmon.mirrors.tasks.states import MirrorStates
from lagmon.mirrors.topics import MirrorTopics
from lagmon.mirrors.window import MirrorWindows
from lagmon.syncs.runs import SyncRuns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lagmon.cluster.state import ClusterLag
    from lagmon.logs.record_questions import RecordQuestions
    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.answers.orders import MirrorOrder
    from lagmon.mirrors.left_out.held import Held
    from lagmon.mirrors.recreated.followed import Remade
    from lagmon.mirrors.retention.overtaken import Overtaken, Passing
    from lagmon.mirrors.rewinds.repeats import Repeat
    from lagmon.mirrors.rewinds.steps import Step
    from lagmon.mirrors.topics import Missing

    Slots = NDArray[np.intp]

DEFAULT_REFRESH_S = 600.0
LIST_AGAIN_MS = 8_000  # after a list of topics another may be asked for: at the next look, 10 s later
MOST_KEPT = 1000
LONGEST_FLUSH_MS = 86_400_000  # Kafka Connect takes any number: what writes offsets more rarely never does


@dataclass(frozen=True, slots=True)
class FlowSight:
    """A flow at one instant."""

    now_ms: int
    read_to_ms: int
    sight: MirrorSight
    missing: tuple[Missing, ...]
    overtaken: tuple[Overtaken, ...]
    findings: tuple[MirrorFinding, ...] = ()
    undecided: tuple[Remade, ...] = ()  # source topics made anew of which it may still show what was copied
    rewinds: Mapping[tuple[str, int], Step] = field(default_factory=dict)
    uncounted: Mapping[tuple[str, int], Overtaken] = field(default_factory=dict)  # of those overtaken: as yet
    stood: frozenset[int] = frozenset()  # slots that stand before records that were deleted, lost or not
    held: tuple[Held, ...] = ()  # partitions that an open transaction keeps from being read
    unwatched: tuple[str, ...] = ()  # topics that it copies and that are left out of its configuration
    emptied: Slots = field(default_factory=lambda: np.zeros(0, np.intp))  # slots: retention/emptied.py
    repeats: tuple[Repeat, ...] = ()  # what was copied again of late, whatever the verdict is


@dataclass(slots=True)
class MirrorFlow:
    """All that is known of one flow."""

    order: MirrorOrder
    source: ClusterLag
    target: ClusterLag
    windows: MirrorWindows = field(default_factory=MirrorWindows)
    overtaken_total: Counter[str] = field(default_factory=Counter)  # records, by topic
    retention_ms: dict[str, int] = field(default_factory=dict)  # of source topics, -1 for no limit
    topics: MirrorTopics = field(init=False)
    settings: MirrorSettings = field(default_factory=MirrorSettings)
    losses: MirrorLosses = field(default_factory=MirrorLosses)
    starts: StartLooks = field(default_factory=StartLooks)
    states: MirrorStates = field(init=False)  # of its tasks, as its worker tells
    assignments: MirrorAssignments = field(init=False)  # of partitions to its tasks, likewise
    read_to_ms: int = -1  # up to when the offsets topic is read, -1 not yet
    problem: str = ""  # why it is not read
    when_read: Callable[[MirrorFlow], None] | None = None  # called once, as soon as it is read
    groups: tuple[str, ...] = ()  # whose commits tell it, where it is groups
    note: str = ""  # what else is to be known of what tells it
    estimated: set[tuple[str, int]] = field(default_factory=set)  # partitions whose newest offset is that
    open_overtaken: dict[tuple[str, int], Overtaken] = field(default_factory=dict)  # not passed yet
    settled_overtaken: deque[Overtaken] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))
    _passing: dict[tuple[str, int], Passing] = field(default_factory=dict)  # of those that are open
    filtered: Filtered = field(default_factory=Filtered)
    rewinds: Rewinds = field(default_factory=Rewinds)
    cuts: SourceCuts = field(default_factory=SourceCuts)
    _behind: Behind[Any] = field(init=False)
    transactions: OpenTransactions = field(default_factory=OpenTransactions)
    _left_out: LeftOut = field(default_factory=LeftOut)
    beginnings: Beginnings = field(default_factory=Beginnings)
    distance: DistanceBounds = field(default_factory=DistanceBounds)
    syncs: SyncRuns = field(default_factory=SyncRuns)
    _unlisted: UnlistedTopics = field(default_factory=UnlistedTopics)
    _unwatched: Unwatched = field(default_factory=Unwatched)
    soonest: Soonest = field(default_factory=Soonest)
    repeats: Repeats = field(default_factory=Repeats)
    _settled: object = None  # the topics when settings were forgotten last
    _held: tuple[object, ...] = ()
    _places: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None

    def __post_init__(self) -> None:
        self.topics = MirrorTopics(self.order.flow, self._carries)
        self._behind = TopicsBehind() if self.order.lag_from == GROUP else LeftBehind()
        connector = self.order.connector or self.order.flow.connector
        self.states, self.assignments = MirrorStates(connector), MirrorAssignments(connector)

    def see(self, now_ms: int) -> FlowSight:
        """Judge every partition."""
        self._follow_topics(now_ms)
        if self.when_read is not None and self.read_to_ms >= 0:
            self.when_read(self)
            self.when_read = None
        if self.read_to_ms >= 0:
            self.losses.note_read(self)
        self.losses.forget_offsets(self)
        flow = self.order.flow
        places, target_places = self._find_places()
        tails = mirror_tails.read(self, places, self._pace(), now_ms)
        sight = see(
            self.windows,
            Sides(
                self.source.heads,
                self.target.heads,
                places,
                target_places,
                self._recreated(len(places)),
                tails.readable_from,
                tails.unread,
            ),
            self._pace(),
            now_ms=now_ms,
        )
        self.starts.note(self.windows, sight, self.source.heads.start)
        self.distance.note(self, sight)
        stands = standing(self, sight)
        stood = mirror_overtaken.follow(self, sight, self._passing, stands)
        refresh_ms = int((flow.refresh_topics_interval_s or DEFAULT_REFRESH_S) * 1000)
        missing = self._missing(sight, now_ms, refresh_ms + 2 * sight.stopped_after_ms)
        uncounted = mirror_overtaken.uncounted(self, sight, self._passing)
        settled = (mirror_overtaken.with_gaps(self, one) for one in self.settled_overtaken)
        overtaken = (*settled, *uncounted.values())
        findings = self._findings(sight, overtaken, now_ms, refresh_ms)
        repeats = tuple(self.repeats.look(self, now_ms))
        if flow.exactly_once:
            findings += mirror_events.findings_of(repeats, flow.target, now_ms)
        left_out = self.filtered.explained(self)
        return FlowSight(
            now_ms,
            self.read_to_ms,
            sight,
            tuple(one for one in missing if (one.code, one.topic in left_out) != ("not_mirrored", True)),
            overtaken,
            tuple(findings),
            tuple(self.losses.undecided(sight)),
            self.rewinds.steps,
            uncounted,
            frozenset(np.flatnonzero(stood).tolist()),
            mirror_held.held(self, sight),
            self._unwatched.look(self, sight),
            mirror_emptied.still(sight, stands),
            repeats,
        )

    def _findings(
        self, sight: MirrorSight, overtaken: Sequence[Overtaken], now_ms: int, refresh_ms: int
    ) -> list[MirrorFinding]:
        self.losses.look(self, sight)
        self.cuts.follow(self, sight)
        return [
            *overtaken_findings.findings(self, overtaken, now_ms),
            *self.losses.findings(self, now_ms),
            *self.cuts.findings(),
            *self.rewinds.look(self, sight),
            *self.filtered.look(self, sight, now_ms, refresh_ms=refresh_ms),
            *self._suspicions(sight),
            *self.settings.look(
                self.topics.remote, self.target, now_ms, with_markers=self.order.flow.exactly_once
            ),
        ]

    def _suspicions(self, sight: MirrorSight) -> list[MirrorFinding]:
        """Return what may have stayed behind, of each partition once."""
        self.transactions.note(self, sight)
        gapped = self.transactions.topics
        tells = self.order.lag_from in (CONNECT_OFFSETS, GROUP)
        behind = self._behind.look(self, sight, gapped) if tells else []
        left_out = self._left_out.look(self, sight, gapped)
        told = {(one.topic, one.partition, one.side) for one in left_out}
        # What is told of a copy that lost its end is also what the copy grew by too little.
        told |= {(topic, partition, "source") for topic, partition, _ in told}
        return [*(one for one in behind if (one.topic, one.partition, one.side) not in told), *left_out]

    def _forget_syncs(self, is_gone: Callable[[str], bool]) -> None:
        """Forget what the syncs told of topics that are gone, or were made anew on either side."""
        self.repeats.end(is_gone)
        self.syncs.forget(is_gone)
        self._left_out.forget(self, is_gone)

    def _pace(self) -> MirrorPace:
        flow, lag_from = self.order.flow, self.order.lag_from
        looks = lag_from == EQUAL_OFFSETS  # there nothing is written: the target's end is looked at
        flush_ms = min(int(flow.offset_flush_interval_s * 1000), LONGEST_FLUSH_MS)
        return MirrorPace(
            LOOK_MS if looks else flush_ms,
            self.read_to_ms,
            self.committed_only,
            tails=lag_from in (CONNECT_OFFSETS, OFFSET_SYNCS),
            commits=not looks,
            least_ms=self.source.policy.stopped_after_ms if self.asks_groups else 0,
            floor_ms=flush_ms if self.order.flush_is_said else 0,
        )

    @property
    def committed_only(self) -> bool:
        """Tell whether the mirror leaves out records of transactions that were not committed."""
        return self.order.flow.isolation_level == "read_committed" and self.order.lag_from != EQUAL_OFFSETS

    @property
    def gapped(self) -> set[str]:
        """Return the topics whose logs have gaps: of transactions, or because they are compacted."""
        return {*self.transactions.topics, *self.settings.compacted}

    @property
    def questions(self) -> RecordQuestions:
        """Return where to ask whether the source has a record that the mirror may copy."""
        return self.source.tails.questions[self.committed_only]

    @property
    def readable_ends(self) -> NDArray[np.int64]:
        """Return up to where the mirror can read at each place of the source, -1 where that is not known."""
        ends, stable = self.source.heads.end, self.source.heads.stable
        return np.where((stable >= 0) & self.committed_only, np.minimum(stable, ends), ends)

    @property
    def asks_groups(self) -> bool:
        """Tell whether its groups' offsets come from the Admin API, which tells no times of commits."""
        return self.order.lag_from == GROUP and self.source.asking

    def partitions_without(self) -> list[tuple[str, int, int]]:
        """Return topic, partition and records of each partition to be mirrored that has no offset."""
        ends, found = self.readable_ends, []
        for topic, partition, place in self.places_without():
            first, end = self.beginnings.first(self, (topic, partition), place), int(ends[place])
            found.append((topic, partition, max(0, end - first) if end >= 0 else -1))
        return found

    def places_without(self) -> Iterator[tuple[str, int, int]]:
        """Yield topic, partition and place on the source of the same."""
        there = self.source.topics
        with_offset = Counter(
            topic for topic, partition, _ in self.windows.slots() if partition < there.get(topic, 0)
        )
        for topic in self.topics.remote:
            places = self.source.places.listed_of(topic)
            if with_offset[topic] != len(places):
                for partition, place in enumerate(places):
                    if self.windows.slot(topic, partition) is None:
                        yield topic, partition, place

    def note_ids(self, alias: str, ids: Mapping[str, str], now_ms: int) -> None:
        """Take note of ids of topics of one cluster, by their names there.

        Before the cluster's own logs hear of them: these forget what was known of a topic made anew.
        """
        source: dict[str, int] = {}  # those made anew, and when their old ids were read last
        target: dict[str, int] = {}
        for topic, remote in self.topics.remote.items():
            if alias == self.order.flow.source and topic in ids:
                known_ms = self.topics.ids_at_ms.get((topic, "source"), -1)
                remade = self.topics.note_id(topic, "source", ids[topic], now_ms)
                self._unlisted.note_id(self, topic, is_another=remade is not None)
                if remade is not None:
                    source[topic] = known_ms
            if alias == self.order.flow.target and remote in ids:
                known_ms = self.topics.ids_at_ms.get((topic, "target"), -1)
                if self.topics.note_id(topic, "target", ids[remote], now_ms) is not None:
                    target[topic] = known_ms
        if source or target:  # all of them at once: each time all that is known is searched
            self.windows.begin_anew(source)
            self._forget_syncs((source | target).__contains__)
            self._behind.begin_anew(source | target)
            self.transactions.forget(source.__contains__)
        for topic, known_ms in source.items():
            self.losses.note_source(self, topic, known_ms=known_ms, now_ms=now_ms)
        for topic, known_ms in target.items():
            self.losses.note_target(self, topic, known_ms=known_ms, now_ms=now_ms)

    def note_settings(
        self, alias: str, name: str, settings: Mapping[str, str], *, asked_ms: int | None = None
    ) -> None:
        """Take note of the settings of a topic of one cluster, asked for at an instant, by its name there."""
        if alias == self.order.flow.source and name in self.topics.remote:
            self.note_retention(name, settings)
            self.settings.note(name, "source", settings)
        if alias == self.order.flow.target:
            for topic in (topic for topic, remote in self.topics.remote.items() if remote == name):
                self.settings.note(topic, "target", settings, asked_ms=asked_ms)

    def note_retention(self, topic: str, settings: Mapping[str, str]) -> None:
        """Take note of how long a source topic keeps its records, where it deletes them."""
        retention_ms = retention_of(settings)
        if retention_ms is not None:
            self.retention_ms[topic] = retention_ms

    def _follow_topics(self, now_ms: int) -> None:
        there = self.source.topics
        if not there:
            return
        self.topics.note_source(there)
        self.source.mirrored[self.order.name] = self.topics.remote.keys()
        self._unlisted.follow(self, now_ms)
        if self._settled is not self.topics.remote:
            self._settled = self.topics.remote
            kept = self.topics.remembered
            self.settings.forget_others(kept)
            for forget in (self._forget_syncs, self.transactions.forget):
                forget(lambda topic: topic not in kept)
            self.retention_ms = {topic: one for topic, one in self.retention_ms.items() if topic in kept}

    def _carries(self, topic: str, remote: str) -> bool:
        """Tell whether what is seen of the mirror shows that it carries a topic: an offset, or its copy.

        Where copies have their topics' names, one may be there without a mirror. A mirror that is no
        MirrorMaker 2 has none of its versions.
        """
        if self.order.lag_from in (GROUP, EQUAL_OFFSETS):
            return True
        if remote in self.target.topics and not self.order.flow.keeps_names:
            return True
        partitions = range(self.source.topics.get(topic, 0))
        return any(self.windows.slot(topic, number) is not None for number in partitions)

    def _find_places(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        held = (self.source.topics, self.target.topics, self.windows.version, self._unlisted.silent)
        known = self._held and held[0] is self._held[0] and held[1] is self._held[1]
        if known and held[2:] == self._held[2:] and self._places is not None:
            return self._places
        count, silent = len(self.windows), self._unlisted.silent
        found = np.full((2, count), -1, np.int32)
        for topic, partition, slot in self.windows.slots():
            remote = self.topics.remote.get(topic)
            if remote is None or topic in silent:
                continue  # it is left out of the flow, or of the list: its offset stays and says nothing
            on_source = self.source.places.listed_of(topic)
            on_target = self.target.places.listed_of(remote)
            found[0, slot] = on_source[partition] if partition < len(on_source) else -1
            found[1, slot] = on_target[partition] if partition < len(on_target) else -1
        self._held, self._places = held, (found[0], found[1])
        return self._places

    def _recreated(self, count: int) -> NDArray[np.int64]:
        found = np.full(count, -1, np.int64)
        newest = {topic: at_ms for (topic, side), at_ms in self.topics.remade_ms.items() if side == "source"}
        if newest:
            for topic, _, slot in self.windows.slots():
                remade_ms = newest.get(topic, -1)
                found[slot] = remade_ms if remade_ms > self.windows.confirmed_ms(slot) else -1
        return found

    def _missing(self, sight: MirrorSight, now_ms: int, patience_ms: int) -> list[Missing]:
        """Return what is missing, and ask for a list of the target's topics where that tells more."""
        self.target.list_awaited.discard(self.order.name)
        if self.read_to_ms < 0 or not self.source.topics or not self.target.topics:
            return []
        self.beginnings.note(self, now_ms=now_ms, patience_ms=patience_ms)
        with_offset = Counter(topic for topic, _, _ in self.windows.slots())
        waiting = [(topic, number) for topic, number, records in self.partitions_without() if records > 0]
        listed_ms = self.source.listed_ms, self.target.listed_ms
        missing = self.topics.missing(
            self.source.topics,
            self.target.topics,
            listed_ms=listed_ms,
            with_offset=with_offset,
            waiting=waiting,
            now_ms=now_ms,
            patience_ms=patience_ms,
        )
        slack_ms = sight.cadence_ms + LOOK_MS  # until what was copied shows in an offset
        overdue = np.flatnonzero(sight.used & (now_ms - sight.behind_since_ms > slack_ms))
        moved_ms = int(self.windows.moved_ms[overdue].max()) + slack_ms if len(overdue) else -1
        awaits = self.topics.awaits_list(missing, now_ms=now_ms, patience_ms=patience_ms, moved_ms=moved_ms)
        if awaits and now_ms - self.target.listed_ms >= LIST_AGAIN_MS:
            self.target.list_awaited.add(self.order.name)
        return missing
