"""A cluster in memory that answers like `ClusterReader`."""

from __future__ import annotations

from dataclasses import dataclass, field

from fleet.errors import UnavailableError
from fleet.wire.mirror import encode_checkpoint, encode_offset_sync, encode_source_offset
from fleet.wire.records import (
    Checkpoint,
    CheckpointKey,
    OffsetSync,
    OffsetSyncKey,
    SourceOffset,
    SourceOffsetKey,
)
from mirrorwatch.failover.cluster import TopicRecord
from runtime.kafka.positions import Which

BATCH = 4  # records of a topic at once


@dataclass
class FakeCluster:
    alias: str
    sizes: dict[str, int] = field(default_factory=dict)  # partitions by topic
    states: dict[str, str] = field(default_factory=dict)
    commits: dict[str, dict[tuple[str, int], int]] = field(default_factory=dict)
    starts: dict[tuple[str, int], int] = field(default_factory=dict)
    ends: dict[tuple[str, int], int] = field(default_factory=dict)
    compact: frozenset[str] = frozenset()
    records: dict[str, list[tuple[bytes, bytes | None]]] = field(default_factory=dict)
    away: bool = False
    breaks: bool = False  # a topic is read no further than its first batch
    mute: bool = False  # it does not answer a commit
    withheld: bool = False  # no group's commits are returned
    cluster_id: str = ""
    silent: frozenset[tuple[str, int]] = frozenset()  # partitions whose leader does not answer
    ids: dict[str, str] = field(default_factory=dict)
    workers: dict[str, int] = field(default_factory=dict)  # members by group, of any kind

    def topics(self):
        if self.away:
            raise UnavailableError(f"cluster {self.alias}: cannot connect to any broker")
        return self.sizes | dict.fromkeys(self.records, 1)

    def groups(self):
        return dict(self.states)

    def topic_ids(self, topics):
        return {topic: self.ids.get(topic, f"{self.alias}-{topic}") for topic in topics}

    def members(self, group):
        return self.workers.get(group, 0)

    def committed(self, groups):
        assert {*groups} <= {*self.states}
        if self.withheld:
            raise UnavailableError(f"cluster {self.alias}: committed offsets not returned")
        return {group: dict(self.commits.get(group, {})) for group in groups}

    def offsets(self, places, which):
        assert which is not Which.STABLE
        known = self.starts if which is Which.START else self.ends
        return {place: known.get(place, 0) for place in places if place not in self.silent}

    def offsets_since(self, places, _at_ms):
        return {place: self.ends.get(place, 0) for place in places}

    def commit(self, group, offsets):
        if self.mute:
            raise UnavailableError(f"cluster {self.alias}: no answer")
        self.commits.setdefault(group, {}).update(offsets)
        return {}

    def compacted(self, topics):
        return self.compact & frozenset(topics)

    def news(self, followed, partitions):
        assert partitions == 1
        records = self.records[followed.topic]
        since = followed.offsets.get(0, 0)
        if since > len(records):
            since, followed.creation = 0, followed.creation + 1
        while since < len(records):
            yield [
                TopicRecord(*one, offset, 1000 + offset)
                for offset, one in enumerate(records[since : since + BATCH], start=since)
            ]
            since = followed.offsets[0] = min(since + BATCH, len(records))
            if self.breaks:
                raise UnavailableError("cluster: cannot read")


def checkpoint(group, topic, partition, upstream, downstream):
    return encode_checkpoint(
        Checkpoint(
            CheckpointKey(group, topic, partition),
            upstream_offset=upstream,
            downstream_offset=downstream,
            metadata="",
        )
    )


def sync(topic, partition, upstream, downstream):
    return encode_offset_sync(OffsetSync(OffsetSyncKey(topic, partition), upstream, downstream))


def progress(topic, partition, offset, *, connector="MirrorSourceConnector", cluster="A"):
    return encode_source_offset(SourceOffset(SourceOffsetKey(connector, cluster, topic, partition), offset))
