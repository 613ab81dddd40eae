"""One flow as offsets show it: its windows, its topics on both sides, and what was lost to retention. Pure.

The caller holds the locks of both clusters.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lagmon.mirror import MirrorWindows
from lagmon.mirror_sight import MirrorPace, MirrorSight, Sides, see
from lagmon.mirror_topics import MirrorTopics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lagmon.cluster import ClusterLag
    from lagmon.mirror_orders import MirrorOrder
    from lagmon.mirror_topics import Missing

DEFAULT_REFRESH_S = 600.0
MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Records of a partition that the source deleted before the mirror had copied them."""

    topic: str
    partition: int
    next_offset: int  # where the mirror stood
    start: int  # where the log began then
    first_at_ms: int
    at_ms: int

    @property
    def records(self) -> int:
        """Return how many."""
        return self.start - self.next_offset


@dataclass(frozen=True, slots=True)
class FlowSight:
    """A flow at one instant."""

    now_ms: int
    read_to_ms: int
    sight: MirrorSight
    missing: tuple[Missing, ...]
    overtaken: tuple[Overtaken, ...]


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
    read_to_ms: int = -1  # up to when the offsets topic is read, -1 not yet
    problem: str = ""  # why it is not read
    _open: dict[tuple[str, int], Overtaken] = field(default_factory=dict)  # the mirror has not passed it yet
    _settled: deque[Overtaken] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))
    _held: tuple[object, ...] = ()
    _places: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None

    def __post_init__(self) -> None:
        self.topics = MirrorTopics(self.order.flow)

    def see(self, now_ms: int) -> FlowSight:
        """Judge every partition."""
        self._follow_topics()
        flow = self.order.flow
        places, target_places = self._find_places()
        sight = see(
            self.windows,
            Sides(self.source.heads, self.target.heads, places, target_places, self._recreated(len(places))),
            MirrorPace(
                int(flow.offset_flush_interval_s * 1000),
                self.read_to_ms,
                flow.isolation_level == "read_committed",
            ),
            now_ms=now_ms,
        )
        self._note_overtaken(sight)
        refresh_s = flow.refresh_topics_interval_s or DEFAULT_REFRESH_S
        missing = (
            self._missing(now_ms, int(refresh_s * 1000) + 2 * sight.stopped_after_ms)
            if self.read_to_ms >= 0 and self.source.topics and self.target.topics
            else []
        )
        recent = (*self._settled, *self._open.values())
        return FlowSight(now_ms, self.read_to_ms, sight, tuple(missing), recent)

    def partitions_without(self) -> list[tuple[str, int, int]]:
        """Return topic, partition and records of each partition to be mirrored that has no offset."""
        heads, found = self.source.heads, []
        with_offset = Counter(topic for topic, _, _ in self.windows.slots())
        for topic in self.topics.remote:
            places = self.source.places.of(topic)
            if with_offset[topic] == len(places):
                continue
            for partition, place in enumerate(places):
                if self.windows.slot(topic, partition) is None:
                    start, end = int(heads.start[place]), int(heads.end[place])
                    found.append((topic, partition, end - max(start, 0) if end >= 0 else -1))
        return found

    def note_ids(self, alias: str, ids: Mapping[str, str], now_ms: int) -> None:
        """Take note of ids of topics of one cluster, by their names there."""
        for topic, remote in self.topics.remote.items():
            here = alias == self.order.flow.source and topic in ids
            if here and self.topics.note_id(topic, "source", ids[topic], now_ms) is not None:
                self.windows.begin_anew(topic)
            if alias == self.order.flow.target and remote in ids:
                self.topics.note_id(topic, "target", ids[remote], now_ms)

    def note_retention(self, topic: str, settings: Mapping[str, str]) -> None:
        """Take note of a source topic's settings: how long it keeps its records, where it deletes them."""
        text = settings.get("retention.ms", "")
        deletes = "delete" in settings.get("cleanup.policy", "delete")
        if not deletes:
            self.retention_ms[topic] = -1
        elif text.lstrip("-").isdigit():
            self.retention_ms[topic] = int(text)

    def _follow_topics(self) -> None:
        if not self.source.topics:
            return
        self.topics.note_source(self.source.topics)
        for topic in {topic for topic, _, _ in self.windows.slots()} - self.source.topics.keys():
            self.windows.drop_topic(topic)

    def _find_places(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        held = (self.source.topics, self.target.topics, self.windows.version)
        known = self._held and held[0] is self._held[0] and held[1] is self._held[1]
        if known and held[2] == self._held[2] and self._places is not None:
            return self._places
        count = len(self.windows)
        found = np.full((2, count), -1, np.int32)
        for topic, partition, slot in self.windows.slots():
            on_source = self.source.places.of(topic)
            on_target = self.target.places.of(self.topics.remote.get(topic, ""))
            found[0, slot] = on_source[partition] if partition < len(on_source) else -1
            found[1, slot] = on_target[partition] if partition < len(on_target) else -1
        self._held, self._places = held, (found[0], found[1])
        return self._places

    def _recreated(self, count: int) -> NDArray[np.int64]:
        found = np.full(count, -1, np.int64)
        newest = {one.topic: one.at_ms for one in self.topics.recreations if one.side == "source"}
        if newest:
            for topic, _, slot in self.windows.slots():
                found[slot] = newest.get(topic, -1)
        return found

    def _missing(self, now_ms: int, patience_ms: int) -> list[Missing]:
        with_offset = Counter(topic for topic, _, _ in self.windows.slots())
        with_records = Counter(topic for topic, _, records in self.partitions_without() if records > 0)
        return self.topics.missing(
            self.source.topics,
            self.target.topics,
            with_offset=with_offset,
            with_records=with_records,
            now_ms=now_ms,
            patience_ms=patience_ms,
        )

    def _note_overtaken(self, sight: MirrorSight) -> None:
        """Keep what was deleted unread, and count it once the mirror has passed it.

        A mirror that is overtaken may have copied more than its last offsets say. When it goes on it writes
        those first: then the loss is smaller than it seemed, and only then it is known exactly.
        """
        gone = np.flatnonzero((sight.deleted > 0) & sight.used).tolist()
        for slot in gone:
            topic, partition = self.windows.name(slot)
            offset = int(sight.known_to[slot])
            start = offset + int(sight.deleted[slot])
            before = self._open.get((topic, partition))
            first_at_ms = before.first_at_ms if before is not None else sight.now_ms
            if before is None or (before.next_offset, before.start) != (offset, start):
                found = Overtaken(topic, partition, offset, start, first_at_ms, sight.now_ms)
                self._open[topic, partition] = found
        still = {self.windows.name(slot) for slot in gone}
        for name in self._open.keys() - still:
            settled = self._open.pop(name)
            self._settled.append(settled)
            self.overtaken_total[settled.topic] += settled.records
