"""Keys of `__consumer_offsets`: their first INT16 is the kind of the record.

    0, 1      a group's offset on a partition     STRING group, STRING topic, INT32 partition
    2         a classic group                     STRING group
    3 to 8    a KIP-848 group and its members     STRING group; 5, 7 and 8 also STRING member
    9 to 15   a share group and its members       STRING group; 10, 13 and 14 also STRING member
    16        a KIP-848 group's subscription      STRING group, STRING regular expression
    17 to 23  a streams group and its members     STRING group; 19, 21 and 22 also STRING member

These are the numbers of Kafka 4.3 (CoordinatorRecordType) with two that only earlier releases wrote: 9 (3.9,
share groups on trial) and 18 (streams groups on trial). No key is flexible.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from fleet.errors import MalformedError
from fleet.wire.bytes import put_count32, put_text, put_version
from fleet.wire.compact import RecordReader

_WHAT = "key of a group's record"


class About(IntEnum):
    """Versions of keys, by the kind of their records."""

    LEGACY_COMMIT = 0
    COMMIT = 1
    CLASSIC_GROUP = 2
    CONSUMER_GROUP = 3
    CONSUMER_MEMBER = 5
    CONSUMER_ASSIGNMENT = 8
    SHARE_GROUP = 11
    STREAMS_GROUP = 17


_COMMITS = frozenset({About.LEGACY_COMMIT, About.COMMIT})
_SECOND_TEXT = frozenset({5, 7, 8, 10, 13, 14, 16, 19, 21, 22})
_KINDS = {
    About.CLASSIC_GROUP: "classic",
    **dict.fromkeys((*range(3, 9), 16), "consumer"),
    **dict.fromkeys(range(9, 16), "share"),
    **dict.fromkeys(range(17, 24), "streams"),
}


@dataclass(frozen=True, slots=True)
class CommitKey:
    """A group and a partition; two versions of keys encode the same."""

    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A group, and in some versions the member (in 16 the expression) of the record."""

    version: int
    kind: str
    group: str
    member: str = ""


def decode_key(key: bytes | None) -> CommitKey | GroupKey:
    """Decode a key; raises MalformedError for an unknown version and a truncated key."""
    reader = RecordReader(key, _WHAT)
    version = reader.int16("version")
    if version in _COMMITS:
        return CommitKey(reader.text("group"), reader.text("topic"), reader.count32("partition"))
    if version not in _KINDS:
        raise MalformedError(f"The {_WHAT} has version {version}, and versions 0 to 23 are known.")
    group = reader.text("group")
    return GroupKey(version, _KINDS[version], group, reader.text("member") if version in _SECOND_TEXT else "")


def encode_commit_key(group: str, topic: str, partition: int, *, version: int = About.COMMIT) -> bytes:
    """Encode the key of an offset commit, version 0 or 1; raises ValueError for values out of range."""
    if version not in _COMMITS:
        raise ValueError(f"A key of version {version} is not an offset commit's: those are 0 and 1.")
    key = put_version(version) + put_text(group, "group") + put_text(topic, "topic")
    return key + put_count32(partition, "partition")


def encode_group_key(version: int, group: str, member: str = "") -> bytes:
    """Encode the key of a record about a group; raises ValueError for an invalid version."""
    if version not in _KINDS:
        raise ValueError(f"A key of version {version} is not about a group: those are 2 to 23.")
    key = put_version(version) + put_text(group, "group")
    return key + put_text(member, "member") if version in _SECOND_TEXT else key
