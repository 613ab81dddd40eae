"""Values of a KIP-848 group's members, version 0, flexible.

ConsumerGroupMemberMetadataValue, under a key of version 5:

    nullable text instance id, nullable text rack, text client id, text client host, array of text topics,
    nullable text regular expression, INT32 rebalance timeout, nullable text assignor

ConsumerGroupCurrentMemberAssignmentValue, under a key of version 8:

    INT32 epoch, INT32 previous epoch, INT8 state, array of partitions that it owns, array of partitions that
    it is to give up; each element is a topic id and an array of INT32, with tagged fields of its own
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import MalformedError
from fleet.wire.commit_records import MemberAssigned, MemberDescribed
from fleet.wire.compact import RecordReader
from fleet.wire.group_metadata import MAX_GROUP_BYTES

if TYPE_CHECKING:
    from fleet.wire.commit_records import Assigned

_MEMBER = "value of a group's member"
_ASSIGNMENT = "assignment of a group's member"


def decode_member(group: str, member: str, value: bytes | None) -> MemberDescribed:
    """Read who a member is; raise MalformedError where the value does not say it."""
    reader = RecordReader(value, _MEMBER, longest=MAX_GROUP_BYTES)
    reader.versions(0, flexible_from=0)
    instance_id = reader.text_or_null("instance id")
    reader.text_or_null("rack")
    client_id = reader.text("client id")
    client_host = reader.text("client host")
    subscribed = tuple(reader.text("topic") for _ in range(reader.count("topics")))
    subscribed_regex = reader.text_or_null("regular expression")
    reader.int32("rebalance timeout")
    reader.text_or_null("assignor")
    reader.tags()
    return MemberDescribed(
        group, member, instance_id, client_id, client_host, subscribed, subscribed_regex=subscribed_regex
    )


def decode_assignment(group: str, member: str, value: bytes | None) -> MemberAssigned:
    """Read what a member owns; raise MalformedError where the value does not say it."""
    reader = RecordReader(value, _ASSIGNMENT, longest=MAX_GROUP_BYTES)
    reader.versions(0, flexible_from=0)
    reader.int32("epoch")
    reader.int32("previous epoch")
    reader.skip(1, "state")
    assigned = _partitions(reader, "partitions")
    _partitions(reader, "partitions to give up")
    reader.tags()
    return MemberAssigned(group, member, assigned)


def _partitions(reader: RecordReader, field: str) -> Assigned:
    return tuple(_of_topic(reader) for _ in range(reader.count(field)))


def _of_topic(reader: RecordReader) -> tuple[str, tuple[int, ...]]:
    topic_id = reader.topic_id("topic id")
    if topic_id is None:
        raise MalformedError(f"The topic id in the {_ASSIGNMENT} is all zeros, and no topic has that one.")
    partitions = reader.partitions("partitions")
    reader.tags()
    return topic_id, partitions
