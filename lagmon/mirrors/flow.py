"""One flow as offsets show it: its facts, its detectors, and the snapshot that both make. Pure.

The caller holds the locks of both clusters.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lagmon.groups.carried import writes
from lagmon.mirrors.detectors.recreated.unlisted import UnlistedTopics
from lagmon.mirrors.detectors.registry import Detectors
from lagmon.mirrors.detectors.unreplicated import blocked as mirror_blocked
from lagmon.mirrors.headroom.soonest import Soonest
from lagmon.mirrors.partitions import tails as mirror_tails
from lagmon.mirrors.partitions.snapshot import POLL_MS, MirrorPace, Sides, take_snapshot
from lagmon.mirrors.snapshot import FlowSnapshot
from lagmon.mirrors.view import FlowView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from fleet.verdicts.flow import Flow
    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.metadata.topics import Missing
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot

LIST_AGAIN_MS = 8_000  # between two requested topic lists: the next poll is 10 s later
LONGEST_FLUSH_MS = 86_400_000  # Kafka Connect takes any number; beyond this it is "never"


@dataclass(slots=True)
class MirrorFlow(FlowView):
    """All that is known of one flow."""

    detectors: Detectors = field(init=False)
    unlisted: UnlistedTopics = field(init=False)
    soonest: Soonest = field(default_factory=Soonest)
    when_read: Callable[[MirrorFlow], None] | None = None  # called once, when its offsets are read first
    _settled: object = None  # the topics at the last clean-up of settings
    _held: tuple[object, ...] = ()
    _places: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None
    _fed_topics: dict[str, bool] = field(default_factory=dict)  # whether another flow writes the target topic

    def __post_init__(self) -> None:
        FlowView.__post_init__(self)  # a dataclass with slots has no super() of no arguments
        self.detectors = Detectors(self.order)
        self.unlisted = UnlistedTopics(self.detectors.recreated)

    def take_snapshot(self, now_ms: int) -> FlowSnapshot:
        """Judge every partition, run every detector, and return both as a snapshot."""
        partitions = self._partitions(now_ms)
        patience_ms = self.refresh_ms + 2 * partitions.stopped_after_ms
        without = self._without(now_ms, patience_ms)
        missing = self._missing(partitions, without, now_ms, patience_ms)
        for detector in self.detectors:
            detector.observe(self, partitions)
        findings = [one for detector in self.detectors for one in detector.findings(self, now_ms)]
        explained = {topic for detector in self.detectors for topic in detector.explained(self)}
        missing = [one for one in missing if one.code != "not_mirrored" or one.topic not in explained]
        return self._snapshot(partitions, missing, findings, sum(records != 0 for *_, records in without))

    def _snapshot(
        self,
        partitions: PartitionsSnapshot,
        missing: list[Missing],
        findings: list[MirrorFinding],
        without_offset: int,
    ) -> FlowSnapshot:
        known = self.detectors
        return FlowSnapshot(
            partitions.now_ms,
            self.read_to_ms,
            partitions,
            tuple(missing),
            overtaken=known.retention.known,
            findings=tuple(findings),
            undecided=tuple(known.recreated.undecided(partitions)),
            rewinds=known.rewinds.steps,
            uncounted=known.retention.uncounted,
            before_deleted=known.retention.waiting,
            blocked=mirror_blocked.blocked_partitions(self, partitions),
            unwatched=known.unwatched.topics,
            emptied=known.retention.emptied,
            repeats=known.repeats.known,
            fell_with_source=known.cuts.fell_with_source(self, partitions),
            without_offset=without_offset,
            restarted=known.rewinds.replays.sentence(self),
        )

    def _partitions(self, now_ms: int) -> PartitionsSnapshot:
        self._follow_topics(now_ms)
        if self.when_read is not None and self.read_to_ms >= 0:
            self.when_read(self)
            self.when_read = None
        if self.read_to_ms >= 0:
            self.detectors.recreated.note_read(self)
        self.detectors.recreated.forget_offsets(self)
        places, target_places = self._find_places()
        tails = mirror_tails.read(self, places, self._pace(), now_ms)
        partitions = take_snapshot(
            self.windows,
            Sides(
                self.source.heads,
                self.target.heads,
                places,
                target_places,
                self._recreated(len(places)),
                tails.readable_from,
                tails.unread,
                self._fed,
                self._topics,
            ),
            self._pace(),
            now_ms=now_ms,
        )
        self.starts.note(self.windows, partitions, self.source.heads.start)
        self.distance.note(self, partitions)
        self.transactions.note(self, partitions)
        return partitions

    def note_ids(self, alias: str, ids: Mapping[str, str], now_ms: int) -> None:
        """Take in ids of topics of one cluster, by their names there.

        Call it before the cluster's own logs learn of them: these forget a re-created topic.
        """
        source: dict[str, int] = {}  # re-created topics, and when their old ids were read last
        target: dict[str, int] = {}
        for topic, remote in self.topics.remote.items():
            if alias == self.order.flow.source and topic in ids:
                known_ms = self.topics.ids_at_ms.get((topic, "source"), -1)
                recreated = self.topics.note_id(topic, "source", ids[topic], now_ms)
                self.unlisted.note_id(self, topic, is_another=recreated is not None)
                if recreated is not None:
                    source[topic] = known_ms
            if alias == self.order.flow.target and remote in ids:
                known_ms = self.topics.ids_at_ms.get((topic, "target"), -1)
                if self.topics.note_id(topic, "target", ids[remote], now_ms) is not None:
                    target[topic] = known_ms
        if source or target:  # all at once: each call searches all that is known
            self.windows.note_recreated(source)
            self._forget((source | target).__contains__)
            self.transactions.forget(source.__contains__)
        for topic, known_ms in source.items():
            self.detectors.recreated.note_source(self, topic, known_ms=known_ms, now_ms=now_ms)
        for topic, known_ms in target.items():
            self.detectors.recreated.note_target(self, topic, known_ms=known_ms, now_ms=now_ms)

    def _forget(self, is_gone: Callable[[str], bool]) -> None:
        """Forget topics that are removed, or were re-created on either side."""
        self.syncs.forget(is_gone)
        self.first_offsets.forget(is_gone)
        for detector in self.detectors:
            detector.forget(self, is_gone)

    def _pace(self) -> MirrorPace:
        flow, progress = self.order.flow, self.order.progress
        flush_ms = min(int(flow.offset_flush_interval_s * 1000), LONGEST_FLUSH_MS)
        return MirrorPace(
            flush_ms if progress.commits else POLL_MS,
            self.read_to_ms,
            self.committed_only,
            tails=progress.tails,
            is_connect=progress.is_mirror_maker,
            commits=progress.commits,
            least_ms=self.source.policy.stopped_after_ms if self.asks_groups else 0,
            floor_ms=flush_ms if self.order.flush_is_configured else 0,
        )

    def _follow_topics(self, now_ms: int) -> None:
        there = self.source.topics
        if not there:
            return
        self.topics.note_source(there)
        self.source.mirrored[self.order.name] = self.topics.remote.keys()
        self.unlisted.follow(self, now_ms)
        if self._settled is not self.topics.remote:
            self._settled = self.topics.remote
            kept = self.topics.remembered
            self._fed_topics.clear()
            self.settings.forget_others(kept)
            for forget in (self._forget, self.transactions.forget):
                forget(lambda topic: topic not in kept)
            self.retention_ms = {topic: one for topic, one in self.retention_ms.items() if topic in kept}

    def _find_places(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        held = (self.source.topics, self.target.topics, self.windows.version, self.unlisted.silent)
        known = self._held and held[0] is self._held[0] and held[1] is self._held[1]
        if known and held[2:] == self._held[2:] and self._places is not None:
            return self._places
        count, silent = len(self.windows), self.unlisted.silent
        found = np.full((2, count), -1, np.int32)
        for topic, partition, slot in self.windows.slots():
            remote = self.topics.remote.get(topic)
            if remote is None or topic in silent:
                continue  # not in the flow or not listed: its offset is kept and not used
            on_source = self.source.places.listed_of(topic)
            on_target = self.target.places.listed_of(remote)
            found[0, slot] = on_source[partition] if partition < len(on_source) else -1
            found[1, slot] = on_target[partition] if partition < len(on_target) else -1
        self._held, self._places = held, (found[0], found[1])
        return self._places

    def _fed(self, slots: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return for each slot whether another flow writes its target topic."""
        others = [flow for flow in self.target.flows if flow.name != self.order.flow.name]
        return np.array(
            [self._is_fed(self.windows.name(slot)[0], others) for slot in slots.tolist()], np.bool_
        )

    def _is_fed(self, topic: str, others: Sequence[Flow]) -> bool:
        if not others:
            return False
        known = self._fed_topics.get(topic)
        if known is None:
            remote = self.topics.remote.get(topic, topic)
            known = self._fed_topics[topic] = any(writes(flow, remote) for flow in others)
        return known

    def _topics(self) -> list[tuple[NDArray[np.intp], NDArray[np.int32]]]:
        """Return the slots of each topic, and all places of its target topic."""
        slots: dict[str, list[int]] = {}
        for topic, _, slot in self.windows.slots():
            slots.setdefault(topic, []).append(slot)
        return [
            (np.array(own, np.intp), np.array(self.target.places.listed_of(remote), np.int32))
            for topic, own in slots.items()
            for remote in [self.topics.remote.get(topic)]
            if remote is not None
        ]

    def _recreated(self, count: int) -> NDArray[np.int64]:
        found = np.full(count, -1, np.int64)
        newest = {
            topic: at_ms for (topic, side), at_ms in self.topics.recreated_ms.items() if side == "source"
        }
        if newest:
            for topic, _, slot in self.windows.slots():
                recreated_ms = newest.get(topic, -1)
                found[slot] = recreated_ms if recreated_ms > self.windows.confirmed_ms(slot) else -1
        return found

    @property
    def _is_read(self) -> bool:
        """Return whether the offsets of the mirror and the topics of both sides are known."""
        return self.read_to_ms >= 0 and bool(self.source.topics) and bool(self.target.topics)

    def _without(self, now_ms: int, patience_ms: int) -> list[tuple[str, int, int]]:
        """Return the partitions without an offset; none until offsets and topics are known."""
        if not self._is_read:
            return []
        self.first_offsets.note(self, now_ms=now_ms, patience_ms=patience_ms)
        return self.partitions_without()

    def _missing(
        self,
        partitions: PartitionsSnapshot,
        without: list[tuple[str, int, int]],
        now_ms: int,
        patience_ms: int,
    ) -> list[Missing]:
        """Return what is missing, and request a list of the target's topics if that helps."""
        self.target.list_awaited.discard(self.order.name)
        if not self._is_read:
            return []
        with_offset = Counter(topic for topic, _, _ in self.windows.slots())
        waiting = [(topic, number) for topic, number, records in without if records > 0]
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
        slack_ms = partitions.cadence_ms + POLL_MS  # until a replicated record shows in an offset
        overdue = np.flatnonzero(partitions.used & (now_ms - partitions.behind_since_ms > slack_ms))
        moved_ms = int(self.windows.moved_ms[overdue].max()) + slack_ms if len(overdue) else -1
        awaits = self.topics.awaits_list(missing, now_ms=now_ms, patience_ms=patience_ms, moved_ms=moved_ms)
        if awaits and now_ms - self.target.listed_ms >= LIST_AGAIN_MS:
            self.target.list_awaited.add(self.order.name)
        return missing
