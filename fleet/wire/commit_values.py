"""Values of offset commits, versions 0 to 4.

The layouts are those of Kafka's OffsetCommitValue and LegacyOffsetCommitValue:

    0, 2   INT16 version, INT64 offset,                      text metadata, INT64 commit time
    1      INT16 version, INT64 offset,                      text metadata, INT64 commit time, INT64 expiry
    3      INT16 version, INT64 offset, INT32 leader epoch,  text metadata, INT64 commit time
    4      the same as 3 but flexible, and tag 0 is the topic's id

Kafka 3.9 writes 3 and 4.3 writes 4, either of them 1 where the client asked for an expiry. A
commit within a transaction has no topic id (seen on 4.3.0).
"""

from __future__ import annotations

from fleet.errors import MalformedError
from fleet.wire.bytes import MAX_STRING_BYTES, put_version
from fleet.wire.commit_records import Committed
from fleet.wire.compact import (
    MAX_VARINT_BYTES,
    NO_TOPIC_ID,
    RecordReader,
    put_number,
    put_tags,
    put_text_or_null,
    topic_id_bytes,
    topic_id_text,
)

_WHAT = "value of an offset commit"
_HIGHEST = 4
_WITH_EXPIRY = 1
_WITH_EPOCH = 3
_FLEXIBLE = 4
_TOPIC_ID_TAG = 0
_NOT_SET = -1

OFFSET_AT = 2
"""Where in a value of any known version the eight bytes of the offset start."""

_PLAIN_HEADS = {0: 10, 1: 10, 2: 10, 3: 14}  # bytes before the length of the metadata


def decode_commit_value(group: str, topic: str, partition: int, value: bytes | None) -> Committed:
    """Decode the value of an offset commit for its key; raises MalformedError."""
    reader = RecordReader(value, _WHAT)
    version = reader.versions(_HIGHEST, flexible_from=_FLEXIBLE)
    offset = reader.int64("offset")
    leader_epoch = reader.int32("leader epoch") if version >= _WITH_EPOCH else _NOT_SET
    metadata = reader.text("metadata")
    committed_at_ms = reader.int64("commit time")
    expires_at_ms = reader.int64("expiry") if version == _WITH_EXPIRY else _NOT_SET
    topic_id = reader.tags().get(_TOPIC_ID_TAG, NO_TOPIC_ID)
    if len(topic_id) != len(NO_TOPIC_ID):
        raise MalformedError(f"The topic id in the {_WHAT} has {len(topic_id)} bytes, and one has 16.")
    return Committed(
        group,
        topic,
        partition,
        offset=offset,
        leader_epoch=None if leader_epoch == _NOT_SET else leader_epoch,
        metadata=metadata,
        committed_at_ms=committed_at_ms,
        expires_at_ms=None if expires_at_ms == _NOT_SET else expires_at_ms,
        topic_id=topic_id_text(topic_id),
    )


def encode_commit_value(
    offset: int,
    committed_at_ms: int,
    *,
    metadata: str = "",
    leader_epoch: int | None = None,
    expires_at_ms: int | None = None,
    topic_id: str | None = None,
    version: int = _HIGHEST,
) -> bytes:
    """Encode the value of an offset commit, without fields that its version lacks.

    Raises ValueError for an unknown version and values out of range.
    """
    if not 0 <= version <= _HIGHEST:
        raise ValueError(f"Unknown version {version} of an offset commit: known are 0 to {_HIGHEST}.")
    flexible = version >= _FLEXIBLE
    value = put_version(version) + put_number(offset, 8, "offset")
    if version >= _WITH_EPOCH:
        value += put_number(_NOT_SET if leader_epoch is None else leader_epoch, 4, "leader epoch")
    value += put_text_or_null(metadata, "metadata", flexible=flexible)
    value += put_number(committed_at_ms, 8, "commit time")
    if version == _WITH_EXPIRY:
        value += put_number(_NOT_SET if expires_at_ms is None else expires_at_ms, 8, "expiry")
    tags = {} if topic_id is None else {_TOPIC_ID_TAG: topic_id_bytes(topic_id)}
    return value + put_tags(tags, flexible=flexible)


def commit_layout(value: bytes) -> tuple[int, int] | None:
    """Return the positions of the eight bytes of offset and commit time, by version and length alone.

    For decoding many values at once. If `decode_commit_value` accepts a value, the positions are those that
    it reads; if this returns None, that one raises. Text, expiry and tagged fields are not checked.
    """
    if len(value) < OFFSET_AT or value[0] != 0:
        return None
    version = value[1]
    if version == _FLEXIBLE:
        time_at = _behind_compact_text(value, 14)
    elif version in _PLAIN_HEADS:
        head = _PLAIN_HEADS[version]
        length = int.from_bytes(value[head : head + 2], "big")
        time_at = head + 2 + length if length <= MAX_STRING_BYTES else len(value)  # -1, null, among others
    else:
        return None
    return (OFFSET_AT, time_at) if time_at + 8 <= len(value) else None


def _behind_compact_text(value: bytes, at: int) -> int:
    """Return the end of the flexible text at `at`, or the end of the value if it is invalid."""
    raw = value[at : at + MAX_VARINT_BYTES]  # a writer may encode a length with more bytes than needed
    length = 0
    for place, byte in enumerate(raw):
        length |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return at + place + length if 1 <= length <= MAX_STRING_BYTES + 1 else len(value)
    return len(value)
