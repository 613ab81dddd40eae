"""Read and write what a mirror says about itself: heartbeats, checkpoints, offset syncs, source offsets.

The layouts are those of org.apache.kafka.connect.mirror (Heartbeat, Checkpoint, OffsetSync), big-endian:

    record       key                                            value
    heartbeat    STRING source, STRING target                   INT16 version 0, INT64 epoch ms
    checkpoint   STRING group, STRING topic, INT32 partition    INT16 version 0, INT64 upstream offset,
                                                                INT64 downstream offset, STRING metadata
    offset sync  STRING topic, INT32 partition                  INT64 upstream offset, INT64 downstream offset

A source offset is JSON: see `fleet.wire.connect`. For each there is a `decode_` that takes the key
and value of a Kafka record, and an `encode_` that gives them back. Decoding

- gives a `Tombstone` with the key for a null value,
- leaves bytes behind the last field alone, so that a later version may add some,
- raises `MalformedError`, and nothing else, for a version that is not known, a field cut short, a negative
  offset or partition, text that is not UTF-8, a missing key, or a key or value beyond MAX_FIELD_BYTES.

Encoding raises ValueError for what the format cannot hold.
"""

from __future__ import annotations

from fleet.wire.bytes import (
    MAX_FIELD_BYTES,
    FieldReader,
    put_count32,
    put_count64,
    put_text,
    put_version,
)
from fleet.wire.connect import decode_source_offset, encode_source_offset
from fleet.wire.records import (
    Checkpoint,
    CheckpointKey,
    Heartbeat,
    HeartbeatKey,
    NotMirrored,
    OffsetSync,
    OffsetSyncKey,
    SourceOffset,
    SourceOffsetKey,
    Tombstone,
)

__all__ = [
    "MAX_FIELD_BYTES",
    "Checkpoint",
    "CheckpointKey",
    "Heartbeat",
    "HeartbeatKey",
    "NotMirrored",
    "OffsetSync",
    "OffsetSyncKey",
    "SourceOffset",
    "SourceOffsetKey",
    "Tombstone",
    "decode_checkpoint",
    "decode_heartbeat",
    "decode_offset_sync",
    "decode_source_offset",
    "encode_checkpoint",
    "encode_heartbeat",
    "encode_offset_sync",
    "encode_source_offset",
]

_VERSION = 0  # of heartbeats and checkpoints alike; an offset sync has none


def decode_heartbeat(key: bytes | None, value: bytes | None) -> Heartbeat | Tombstone[HeartbeatKey]:
    """Read one record of a `heartbeats` topic."""
    reader = FieldReader(key, "key of a heartbeat")
    direction = HeartbeatKey(reader.text("source alias"), reader.text("target alias"))
    if value is None:
        return Tombstone(direction)
    reader = FieldReader(value, "value of a heartbeat")
    reader.version(_VERSION)
    return Heartbeat(direction, reader.count64("timestamp"))


def encode_heartbeat(record: Heartbeat | Tombstone[HeartbeatKey]) -> tuple[bytes, bytes | None]:
    """Write key and value of a heartbeat; the value of a tombstone is None."""
    key = put_text(record.key.source, "source alias") + put_text(record.key.target, "target alias")
    match record:
        case Tombstone():
            return key, None
        case Heartbeat():
            return key, put_version(_VERSION) + put_count64(record.sent_at_ms, "timestamp")


def decode_checkpoint(key: bytes | None, value: bytes | None) -> Checkpoint | Tombstone[CheckpointKey]:
    """Read one record of a checkpoints topic."""
    reader = FieldReader(key, "key of a checkpoint")
    place = CheckpointKey(reader.text("group"), reader.text("topic"), reader.count32("partition"))
    if value is None:
        return Tombstone(place)
    reader = FieldReader(value, "value of a checkpoint")
    reader.version(_VERSION)
    return Checkpoint(
        place,
        upstream_offset=reader.count64("upstream offset"),
        downstream_offset=reader.count64("downstream offset"),
        metadata=reader.text("metadata"),
    )


def encode_checkpoint(record: Checkpoint | Tombstone[CheckpointKey]) -> tuple[bytes, bytes | None]:
    """Write key and value of a checkpoint; the value of a tombstone is None."""
    place = record.key
    key = put_text(place.group, "group") + put_text(place.topic, "topic")
    key += put_count32(place.partition, "partition")
    match record:
        case Tombstone():
            return key, None
        case Checkpoint():
            value = put_version(_VERSION) + put_count64(record.upstream_offset, "upstream offset")
            value += put_count64(record.downstream_offset, "downstream offset")
            return key, value + put_text(record.metadata, "metadata")


def decode_offset_sync(key: bytes | None, value: bytes | None) -> OffsetSync | Tombstone[OffsetSyncKey]:
    """Read one record of an offset-syncs topic."""
    reader = FieldReader(key, "key of an offset sync")
    place = OffsetSyncKey(reader.text("topic"), reader.count32("partition"))
    if value is None:
        return Tombstone(place)
    reader = FieldReader(value, "value of an offset sync")
    return OffsetSync(
        place,
        upstream_offset=reader.count64("upstream offset"),
        downstream_offset=reader.count64("downstream offset"),
    )


def encode_offset_sync(record: OffsetSync | Tombstone[OffsetSyncKey]) -> tuple[bytes, bytes | None]:
    """Write key and value of an offset sync; the value of a tombstone is None."""
    key = put_text(record.key.topic, "topic") + put_count32(record.key.partition, "partition")
    match record:
        case Tombstone():
            return key, None
        case OffsetSync():
            value = put_count64(record.upstream_offset, "upstream offset")
            return key, value + put_count64(record.downstream_offset, "downstream offset")
