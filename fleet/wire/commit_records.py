"""What the records of `__consumer_offsets` say, as plain frozen values.

Times are epoch milliseconds by the broker's clock. Offsets and times are as the record has them, absurd ones
included: whether they may be believed is judged where they are used. Partitions are never negative. A topic
id is text, as librdkafka spells it (`fleet.wire.compact`).
"""

from __future__ import annotations

from dataclasses import dataclass

Assigned = tuple[tuple[str, tuple[int, ...]], ...]
"""Partitions by topic: by its name in a classic group, by its id in a group of KIP-848."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A group's offset on one partition, which is the offset of the next record that it wants."""

    group: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int | None
    metadata: str
    committed_at_ms: int
    expires_at_ms: int | None
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class CommitGone:
    """A group's offset that was taken away: expired, deleted, or its topic was."""

    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a classic group; assigned and subscribed are known where it is a consumer."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    assigned: Assigned
    subscribed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupDescribed:
    """A classic group after a rebalance: everyone in it, nobody where it is empty."""

    group: str
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_since_ms: int | None
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class GroupGone:
    """A group of any kind that was taken away, or is about to be one of another kind.

    Nothing is said of its offsets: each of them has a tombstone of its own.
    """

    group: str


@dataclass(frozen=True, slots=True)
class MemberDescribed:
    """A member of a KIP-848 group: who it is and what it wants."""

    group: str
    member: str
    instance_id: str | None
    client_id: str
    client_host: str
    subscribed: tuple[str, ...]
    subscribed_regex: str | None


@dataclass(frozen=True, slots=True)
class MemberAssigned:
    """The partitions that a member of a KIP-848 group owns, by topic id."""

    group: str
    member: str
    assigned: Assigned


@dataclass(frozen=True, slots=True)
class MemberGone:
    """A member that left a KIP-848 group."""

    group: str
    member: str


@dataclass(frozen=True, slots=True)
class OtherRecord:
    """A known record without a word on commits or owners: it shows that there is such a group.

    `kind` is the group's, in Kafka's words: consumer (KIP-848), share or streams.
    """

    kind: str
    group: str


MemberRecord = GroupDescribed | GroupGone | MemberDescribed | MemberAssigned | MemberGone
"""What tells who is a member of which group."""

CommitRecord = Committed | CommitGone | MemberRecord | OtherRecord
