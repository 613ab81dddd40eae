"""What the topics of a flow's mirror say: checkpoints, offset syncs and committed source offsets."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from fleet.errors import MalformedError
from fleet.wire.mirror import decode_checkpoint, decode_offset_sync, decode_source_offset
from fleet.wire.records import NotMirrored, Tombstone
from lagmon.failover.readiness import Checkpoint
from lagmon.mirrors.answers.orders import CONNECT_OFFSETS, EQUAL_OFFSETS
from lagmon.syncs.pairs import SyncPair
from lagmon.syncs.thinning import Thinning, thin
from mirrorwatch.failover.cluster import Followed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from lagmon.mirrors.answers.orders import MirrorOrder
    from lagmon.syncs.id_tables import SeenId
    from mirrorwatch.failover.cluster import ClusterReader, Place, TopicRecord

_T = TypeVar("_T")
_MOST_PAIRS = 512  # of a partition; more are thinned
_RULES = Thinning(whole_pairs=64, most=_MOST_PAIRS // 2)


class MirrorTopics:
    """The contents of a flow's topics; each `read` continues where the last one ended.

    `checkpoints` are by group and target partition, `pairs` (in the mirror's order) and `replicated` by
    source partition. `replicated` is the first source offset that is not replicated yet, as the mirror last
    committed it; `committed` is the part of it that is from the worker's topic. Malformed records are left
    out.
    """

    def __init__(
        self,
        order: MirrorOrder,
        *,
        kept: Mapping[Place, Sequence[SyncPair]] | None = None,
        seen: Iterable[SeenId] = (),
    ) -> None:
        """Start with `kept` offset syncs and `seen` topic ids, last seen at the end: those in the store."""
        self.order = order
        self.checkpoints: dict[tuple[str, Place], Checkpoint] = {}
        self.pairs = {place: list(pairs) for place, pairs in (kept or {}).items()}
        self.replicated: dict[Place, int] = {}
        self.committed: dict[Place, int] = {}
        flow = order.flow
        self._checkpoints = Followed(flow.checkpoints_topic)
        self._syncs = Followed(flow.offset_syncs_topic)
        self._offsets = Followed(order.offsets_topic)
        self._ids: dict[str, dict[str, tuple[str, int]]] = {}  # by topic and side, with its `recreation`
        for one in seen:
            self.note_ids(one.side, {one.topic: one.topic_id}, now_ms=one.first_ms)
        # Pairs of a read that is not complete yet; by number of the re-creation of their topic.
        self._fresh: dict[Place, list[SyncPair]] = {}
        self._fresh_creation = self._kept_creation = self._syncs.creation

    def note_ids(self, side: str, ids: Mapping[str, str], *, now_ms: int) -> None:
        """Note the ids of topics, by their names on the source, or those of their replicas."""
        for topic, topic_id in ids.items():
            known = self._ids.setdefault(topic, {})
            if side not in known:
                known[side] = topic_id, 0
            elif known[side][0] != topic_id:
                known[side] = topic_id, now_ms

    def recreation(self, topic: str) -> tuple[int, str]:
        """Return when a topic was first seen after it was re-created (epoch ms), and on which side; or 0, "".

        What the mirror wrote before is of another topic, or may be.
        """
        found = self._ids.get(topic, {})
        return max(((since_ms, side) for side, (_, since_ms) in found.items() if since_ms), default=(0, ""))

    def read_checkpoints(self, target: ClusterReader, topics: Mapping[str, int]) -> None:
        """Read new checkpoints; `topics` are those of the target, with their numbers of partitions."""
        creation = self._checkpoints.creation
        for records in _news(target, self._checkpoints, topics):
            if self._checkpoints.creation != creation:
                creation = self._checkpoints.creation
                self.checkpoints.clear()
            for record, one in _decoded(records, decode_checkpoint):
                key = one.key.group, (one.key.topic, one.key.partition)
                if isinstance(one, Tombstone):
                    self.checkpoints.pop(key, None)
                else:
                    self.checkpoints[key] = Checkpoint(
                        one.upstream_offset, one.downstream_offset, record.at_ms
                    )

    def read_progress(
        self,
        readers: Mapping[str, ClusterReader],
        topics: Mapping[str, Mapping[str, int]],
        *,
        now_ms: int,
    ) -> None:
        """Read new offset syncs and committed source offsets; `topics` are those of both clusters."""
        order, flow = self.order, self.order.flow
        if order.lag_from == EQUAL_OFFSETS:
            return
        home = flow.source if flow.offset_syncs_location == "source" else flow.target
        for records in _news(readers[home], self._syncs, topics[home]):
            if self._syncs.creation != self._fresh_creation:
                self._fresh, self._fresh_creation = {}, self._syncs.creation
            _gather(records, self._fresh, now_ms=now_ms)
        self._take_syncs(now_ms=now_ms)
        alias = order.offsets_cluster
        if order.lag_from == CONNECT_OFFSETS and alias in readers:
            listed = topics[alias] if alias in topics else readers[alias].topics()
            for records in _news(readers[alias], self._offsets, listed):
                self._take_offsets(records)
        self.replicated = dict(self.committed)
        for place, pairs in self.pairs.items():
            self.replicated[place] = max(self.replicated.get(place, 0), pairs[-1].upstream + 1)

    def _take_syncs(self, *, now_ms: int) -> None:
        """Add the pairs of a complete read, which is of another topic if it ends before the newest kept."""
        if not self._fresh:
            return
        kept = max((pairs[-1].number for pairs in self.pairs.values()), default=-1)
        newest = max(pairs[-1].number for pairs in self._fresh.values())
        anew = self._fresh_creation != self._kept_creation or newest < kept
        for place, pairs in self._fresh.items():
            self.pairs[place] = _thinned(_joined(self.pairs.get(place, []), pairs, anew=anew), now_ms=now_ms)
        self._fresh, self._kept_creation = {}, self._fresh_creation

    def _take_offsets(self, records: Sequence[TopicRecord]) -> None:
        flow = self.order.flow
        for _, one in _decoded(records, decode_source_offset):
            if isinstance(one, NotMirrored):
                continue
            place = one.key.topic, one.key.partition
            if one.key.cluster != flow.named_source or flow.connector not in ("", one.key.connector):
                continue  # without a name it may be any connector
            if isinstance(one, Tombstone):
                self.committed.pop(place, None)
            else:
                self.committed[place] = one.offset + 1


def _news(
    reader: ClusterReader, followed: Followed, topics: Mapping[str, int]
) -> Iterator[list[TopicRecord]]:
    if followed.topic in topics:
        yield from reader.news(followed, topics[followed.topic])


def _decoded(
    records: Sequence[TopicRecord], decode: Callable[[bytes | None, bytes | None], _T]
) -> Iterator[tuple[TopicRecord, _T]]:
    """Yield each record with what it says, without malformed ones."""
    for record in records:
        with suppress(MalformedError):
            yield record, decode(record.key, record.value)


def _gather(records: Sequence[TopicRecord], pairs: dict[Place, list[SyncPair]], *, now_ms: int) -> None:
    for record, one in _decoded(records, decode_offset_sync):
        if not isinstance(one, Tombstone):
            pair = SyncPair(0, record.offset, one.upstream_offset, one.downstream_offset, record.at_ms)
            of_place = pairs.setdefault((one.key.topic, one.key.partition), [])
            of_place.append(pair)
            if len(of_place) > 2 * _MOST_PAIRS:
                of_place[:] = _thinned(of_place, now_ms=now_ms)


def _thinned(pairs: list[SyncPair], *, now_ms: int) -> list[SyncPair]:
    return pairs if len(pairs) <= _MOST_PAIRS else thin(pairs, now_ms=now_ms, rules=_RULES)


def _joined(kept: list[SyncPair], fresh: list[SyncPair], *, anew: bool) -> list[SyncPair]:
    """Return kept pairs, and new ones of the topic after them; all of them if the topic was re-created."""
    if not kept:
        return fresh
    era, last = kept[-1].era, kept[-1].number
    if anew:
        era, last = era + 1, -1
    return [*kept, *(one._replace(era=era) for one in fresh if one.number > last)]
