"""Records of `__consumer_offsets`: commits, groups, assignments and removals.

`decode_commit_record` decodes key and value of one record. The kind of the key decides how the value is
read: `fleet.wire.commit_keys` has the list. A value

- of an offset commit (keys 0 and 1) is `Committed`, a null one `CommitGone`;
- of a classic group (2) is `GroupDescribed`;
- of a KIP-848 group's member is `MemberDescribed` (5) and `MemberAssigned` (8); a null one of either is
  `MemberGone`, because brokers take away both together, and only when the member goes;
- of any other known key is not read: `OtherRecord`, which names the group.

A null value under the key that a group itself has (2, 3, 11 and 17) is `GroupGone`. A group that changes its
kind, classic to KIP-848 or back, is gone as the one right before it is there as the other.

Decoding leaves bytes behind the last field and unknown tagged fields alone, and raises `MalformedError`, and
nothing else, for a version that is not known, a field cut short, a text that is not UTF-8, a null where none
may be, a negative partition or length, a missing key, and a key or value that is longer than one can be.
Transactions are the reader's business: with `read_committed` only what was committed comes here.
"""

from __future__ import annotations

from fleet.wire.commit_keys import (
    About,
    CommitKey,
    GroupKey,
    decode_key,
    encode_commit_key,
    encode_group_key,
)
from fleet.wire.commit_records import (
    CommitGone,
    CommitRecord,
    Committed,
    GroupDescribed,
    GroupGone,
    Member,
    MemberAssigned,
    MemberDescribed,
    MemberGone,
    MemberRecord,
    OtherRecord,
)
from fleet.wire.commit_values import commit_layout, decode_commit_value, encode_commit_value
from fleet.wire.consumer_groups import decode_assignment, decode_member
from fleet.wire.group_metadata import decode_group_metadata, encode_group_metadata

__all__ = [
    "About",
    "CommitGone",
    "CommitKey",
    "CommitRecord",
    "Committed",
    "GroupDescribed",
    "GroupGone",
    "GroupKey",
    "Member",
    "MemberAssigned",
    "MemberDescribed",
    "MemberGone",
    "MemberRecord",
    "OtherRecord",
    "commit_layout",
    "decode_commit_record",
    "decode_key",
    "encode_commit_key",
    "encode_commit_value",
    "encode_group_key",
    "encode_group_metadata",
]

_GROUPS = frozenset({About.CLASSIC_GROUP, About.CONSUMER_GROUP, About.SHARE_GROUP, About.STREAMS_GROUP})
_MEMBERS = frozenset({About.CONSUMER_MEMBER, About.CONSUMER_ASSIGNMENT})


def decode_commit_record(key: bytes | None, value: bytes | None) -> CommitRecord:
    """Decode one record of `__consumer_offsets`; raises MalformedError."""
    about = decode_key(key)
    if isinstance(about, GroupKey):
        return _gone(about) if value is None else _described(about, value)
    if value is None:
        return CommitGone(about.group, about.topic, about.partition)
    return decode_commit_value(about.group, about.topic, about.partition, value)


def _described(about: GroupKey, value: bytes) -> MemberRecord | OtherRecord:
    match about.version:
        case About.CLASSIC_GROUP:
            return decode_group_metadata(about.group, value)
        case About.CONSUMER_MEMBER:
            return decode_member(about.group, about.member, value)
        case About.CONSUMER_ASSIGNMENT:
            return decode_assignment(about.group, about.member, value)
        case _:
            return OtherRecord(about.kind, about.group)


def _gone(about: GroupKey) -> MemberRecord | OtherRecord:
    if about.version in _GROUPS:
        return GroupGone(about.group)
    if about.version in _MEMBERS:
        return MemberGone(about.group, about.member)
    return OtherRecord(about.kind, about.group)
