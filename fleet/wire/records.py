"""The records that MirrorMaker 2 and Kafka Connect write about a mirror, as plain frozen values.

Offsets and partitions are never negative here: a record that says otherwise is malformed, so nothing that
computes with these has to ask. A record with a null value (a tombstone of its compacted topic) is a
`Tombstone` with the record's key, never a record with a hole in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT")


@dataclass(frozen=True, slots=True)
class Tombstone(Generic[KeyT]):
    """A key whose value was taken away: a heartbeat withdrawn, a checkpoint or a source offset reset."""

    key: KeyT


@dataclass(frozen=True, slots=True)
class HeartbeatKey:
    """The direction that a heartbeat speaks for: the aliases of the herder that emitted it."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """One beat, stamped by the worker's wall clock in epoch milliseconds."""

    key: HeartbeatKey
    sent_at_ms: int


@dataclass(frozen=True, slots=True)
class CheckpointKey:
    """A consumer group and one partition; `topic` is the name on the target's side."""

    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A group's committed offset on the source and where it may continue on the target."""

    key: CheckpointKey
    upstream_offset: int
    downstream_offset: int
    metadata: str


@dataclass(frozen=True, slots=True)
class OffsetSyncKey:
    """One partition; `topic` is the name on the source's side."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class OffsetSync:
    """An exact pair: the source offset of one record and the offset of its replica on the target."""

    key: OffsetSyncKey
    upstream_offset: int
    downstream_offset: int


@dataclass(frozen=True, slots=True)
class SourceOffsetKey:
    """One partition as the source connector keeps it; `connector` is the connector's name in its worker."""

    connector: str
    cluster: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """The source offset of the last mirrored record of a partition: the mirror resumes one after it."""

    key: SourceOffsetKey
    offset: int


@dataclass(frozen=True, slots=True)
class NotMirrored:
    """An entry of another connector in the same offsets topic, not a mirrored partition."""

    connector: str
