"""Decoded records of `__consumer_offsets`.

Times are epoch milliseconds by the broker's clock. Offsets and times are as in the record, absurd ones
included: the user of a value checks it. Partitions are never negative. A topic
id is text, as librdkafka spells it (`fleet.wire.compact`).
"""

from __future__ import annotations

from dataclasses import dataclass

Assigned = tuple[tuple[str, tuple[int, ...]], ...]
"""Partitions by topic: by its name in a classic group, by its id in a group of KIP-848."""


@dataclass(frozen=True, slots=True)
class Committed:
    """A group's committed offset on one partition: the next record to read."""

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
    """A removed offset of a group: expired, deleted, or its topic was deleted."""

    group: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a classic group; assigned and subscribed are known if it is a consumer."""

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    assigned: Assigned
    subscribed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupDescribed:
    """A classic group after a rebalance, with its members."""

    group: str
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_since_ms: int | None
    members: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class GroupGone:
    """A group of any kind that was removed, or is changing its kind.

    Its offsets have their own tombstones.
    """

    group: str


@dataclass(frozen=True, slots=True)
class MemberDescribed:
    """A member of a KIP-848 group and its subscription."""

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
    """A known record about neither commits nor owners: it shows that the group exists.

    `kind` is the group's, in Kafka's terms: consumer (KIP-848), share or streams.
    """

    kind: str
    group: str


MemberRecord = GroupDescribed | GroupGone | MemberDescribed | MemberAssigned | MemberGone
"""Records about the members of groups."""

CommitRecord = Committed | CommitGone | MemberRecord | OtherRecord
