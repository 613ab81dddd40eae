"""Values that describe a classic group, versions 0 to 4.

The layout is that of Kafka's GroupMetadataValue, flexible from version 4 on:

    text protocol type, INT32 generation, nullable text protocol, nullable text leader,
    from 2: INT64 time of the present state, array of members, each:
        text id, from 3: nullable text instance id, text client id, text client host,
        from 1: INT32 rebalance timeout, INT32 session timeout, bytes subscription, bytes assignment

What a member's subscription and assignment hold is the protocol type's business. For "consumer" it is
ConsumerProtocolSubscription and ConsumerProtocolAssignment, each behind an INT16 version of its own; later
versions only add at the end, so that any version is read as the first, the way Kafka's consumers do:

    subscription   array of: text topic, and more that is left alone
    assignment     array of: text topic, array of INT32 partitions; and bytes of the assignor's own
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import MalformedError
from fleet.wire.bytes import put_text, put_version
from fleet.wire.commit_records import GroupDescribed, Member
from fleet.wire.compact import (
    RecordReader,
    put_blob,
    put_length,
    put_number,
    put_partitions,
    put_tags,
    put_text_or_null,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from fleet.wire.commit_records import Assigned

    Said = TypeVar("Said")

MAX_GROUP_BYTES = 8 << 20
"""A broker keeps a group in one record, which message.max.bytes holds to 1 MiB unless raised."""

_WHAT = "value of a group"
_HIGHEST = 4
_WITH_REBALANCE_TIMEOUT = 1
_WITH_STATE_TIME = 2
_WITH_INSTANCE_ID = 3
_FLEXIBLE = 4
_CONSUMER = "consumer"
_NOT_SET = -1


def decode_group_metadata(group: str, value: bytes | None) -> GroupDescribed:
    """Read the value of a classic group; raise MalformedError where it is none.

    A subscription or assignment that cannot be read is that of a foreign client: it becomes empty.
    """
    reader = RecordReader(value, _WHAT, longest=MAX_GROUP_BYTES)
    version = reader.versions(_HIGHEST, flexible_from=_FLEXIBLE)
    protocol_type = reader.text("protocol type")
    generation = reader.int32("generation")
    protocol = reader.text_or_null("protocol")
    leader = reader.text_or_null("leader")
    state_since_ms = reader.int64("time of its state") if version >= _WITH_STATE_TIME else _NOT_SET
    members = tuple(_member(reader, version, protocol_type) for _ in range(reader.count("members")))
    reader.tags()
    return GroupDescribed(
        group,
        protocol_type=protocol_type,
        generation=generation,
        protocol=protocol,
        leader=leader,
        state_since_ms=None if state_since_ms == _NOT_SET else state_since_ms,
        members=members,
    )


def _member(reader: RecordReader, version: int, protocol_type: str) -> Member:
    member = reader.text("member id")
    instance_id = reader.text_or_null("instance id") if version >= _WITH_INSTANCE_ID else None
    client_id = reader.text("client id")
    client_host = reader.text("client host")
    if version >= _WITH_REBALANCE_TIMEOUT:
        reader.int32("rebalance timeout")
    reader.int32("session timeout")
    subscription = reader.blob("subscription")
    assignment = reader.blob("assignment")
    reader.tags()
    consumes = protocol_type == _CONSUMER
    return Member(
        member,
        instance_id=instance_id,
        client_id=client_id,
        client_host=client_host,
        assigned=_or_nothing(_assigned, assignment) if consumes else (),
        subscribed=_or_nothing(_subscribed, subscription) if consumes else (),
    )


def _or_nothing(read: Callable[[RecordReader], tuple[Said, ...]], raw: bytes) -> tuple[Said, ...]:
    try:
        reader = RecordReader(raw, "protocol of a member", longest=MAX_GROUP_BYTES)
        return read(reader) if reader.int16("version") >= 0 else ()
    except MalformedError:
        return ()


def _assigned(reader: RecordReader) -> Assigned:
    return tuple(
        (reader.text("topic"), reader.partitions("partitions")) for _ in range(reader.count("topics"))
    )


def _subscribed(reader: RecordReader) -> tuple[str, ...]:
    return tuple(reader.text("topic") for _ in range(reader.count("topics")))


def encode_group_metadata(described: GroupDescribed, *, version: int = _HIGHEST) -> bytes:
    """Write the value of a classic group, without what its version has no room for; timeouts are invented.

    Raises ValueError for an unknown version and values out of range.
    """
    if not 0 <= version <= _HIGHEST:
        raise ValueError(f"Unknown version {version} of a group's value: known are 0 to {_HIGHEST}.")
    flexible = version >= _FLEXIBLE
    value = put_version(version)
    value += put_text_or_null(described.protocol_type, "protocol type", flexible=flexible)
    value += put_number(described.generation, 4, "generation")
    value += put_text_or_null(described.protocol, "protocol", flexible=flexible)
    value += put_text_or_null(described.leader, "leader", flexible=flexible)
    if version >= _WITH_STATE_TIME:
        since_ms = described.state_since_ms
        value += put_number(_NOT_SET if since_ms is None else since_ms, 8, "time of its state")
    value += put_length(len(described.members), 4, flexible=flexible)
    value += b"".join(_put_member(member, version) for member in described.members)
    return value + put_tags({}, flexible=flexible)


def _put_member(member: Member, version: int) -> bytes:
    flexible = version >= _FLEXIBLE
    raw = put_text_or_null(member.id, "member id", flexible=flexible)
    if version >= _WITH_INSTANCE_ID:
        raw += put_text_or_null(member.instance_id, "instance id", flexible=flexible)
    raw += put_text_or_null(member.client_id, "client id", flexible=flexible)
    raw += put_text_or_null(member.client_host, "client host", flexible=flexible)
    if version >= _WITH_REBALANCE_TIMEOUT:
        raw += put_number(300_000, 4, "rebalance timeout")
    raw += put_number(45_000, 4, "session timeout")
    raw += put_blob(_put_subscribed(member.subscribed), flexible=flexible)
    raw += put_blob(_put_assigned(member.assigned), flexible=flexible)
    return raw + put_tags({}, flexible=flexible)


def _put_subscribed(topics: tuple[str, ...]) -> bytes:
    raw = put_version(0) + put_length(len(topics), 4, flexible=False)
    return raw + b"".join(put_text(topic, "topic") for topic in topics) + _no_user_data()


def _put_assigned(assigned: Assigned) -> bytes:
    raw = put_version(0) + put_length(len(assigned), 4, flexible=False)
    for topic, partitions in assigned:
        raw += put_text(topic, "topic") + put_partitions(partitions, flexible=False)
    return raw + _no_user_data()


def _no_user_data() -> bytes:
    return put_length(_NOT_SET, 4, flexible=False)
