"""Members of groups and their assignments, as `__consumer_offsets` describes them. Pure.

A classic group is described in one record. A group of KIP-848 has records for each member, with ids of topics
instead of names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from fleet.wire.commits import GroupDescribed, GroupGone, MemberAssigned, MemberDescribed, MemberGone
from lagmon.groups.kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fleet.wire.commits import MemberRecord

_KIP_848 = "consumer"  # Kafka's name for groups of KIP-848


@dataclass(frozen=True, slots=True)
class Owner:
    """The member that a partition is assigned to."""

    client_id: str
    host: str


@dataclass(slots=True)
class _Group:
    """The last description of a group: members by id, partitions by topic name or id."""

    members: dict[str, Owner] = field(default_factory=dict)
    assigned: dict[str, Mapping[str, tuple[int, ...]]] = field(default_factory=dict)
    by_id: bool = False
    unreadable: set[str] = field(default_factory=set)  # members whose record could not be read


def every_group(_group: str) -> bool:
    """Return that a group belongs to this process."""
    return True


class Membership:
    """The members of all groups of one cluster.

    Groups that do not belong to this process have no kind: another process counts them.
    """

    def __init__(self, belongs: Callable[[str], bool] = every_group) -> None:
        self._belongs = belongs
        self.kinds: dict[str, str] = {}  # kinds of groups that commit no offsets, by name
        self.names: Mapping[str, str] = {}  # names of topics, by id
        # Until a follower has taken them: changed groups, and groups that had no member meanwhile.
        self.changed: set[str] = set()
        self.emptied: set[str] = set()
        self._groups: dict[str, _Group] = {}
        self._joined: set[str] = set()
        self._committed: set[str] = set()  # if no position shows it

    def name_topics(self, names: Mapping[str, str]) -> None:
        """Record the names of topics, by id."""
        if names != self.names:
            self.names = names

    def take(self, record: MemberRecord) -> None:
        """Add a description of a group or of one of its members."""
        self._take(record)
        self.changed.add(record.group)
        if self.members(record.group) <= 0:
            self.emptied.add(record.group)

    def _take(self, record: MemberRecord) -> None:
        match record:
            case GroupDescribed():
                self.note_kind(record.group, record.protocol_type)
                if record.members or record.generation > 0:  # the number of rebalances so far
                    self.note_joined(record.group)
                self._groups[record.group] = _Group(
                    {one.id: Owner(one.client_id, one.client_host) for one in record.members},
                    {one.id: dict(one.assigned) for one in record.members},
                )
            case GroupGone():
                self._groups.pop(record.group, None)
                self.kinds.pop(record.group, None)
                self._joined.discard(record.group)
                self._committed.discard(record.group)
            case MemberDescribed():
                self.note_joined(record.group)
                group = self._groups.setdefault(record.group, _Group())
                group.unreadable.discard(record.member)
                group.members[record.member] = Owner(record.client_id, record.client_host)
            case MemberAssigned():
                group = self._groups.setdefault(record.group, _Group())
                group.assigned[record.member] = dict(record.assigned)
                group.by_id = True
            case MemberGone():
                known = self._groups.get(record.group)
                if known is not None:
                    known.members.pop(record.member, None)
                    known.unreadable.discard(record.member)
                    known.assigned.pop(record.member, None)
            case _:
                assert_never(record)

    def note_kind(self, group: str, protocol_type: str) -> None:
        """Record the kind of a group, by its protocol type or Kafka's group type."""
        kind = kind_of(protocol_type)
        self.changed.add(group)
        if kind and self._belongs(group):
            self.kinds[group] = kind
        else:
            self.kinds.pop(group, None)

    def note_there(self, group: str, kind: str) -> None:
        """Record that a group of KIP-848 exists and has had a member.

        Compaction removes the records of members that have left.
        """
        self.note_kind(group, kind)
        self.note_joined(group)
        if kind == _KIP_848:  # members' records of other kinds are not read
            self._groups.setdefault(group, _Group())

    def note_unreadable(self, group: str, member: str) -> None:
        """Record that a group has a member whose record could not be read."""
        self.note_joined(group)
        self._groups.setdefault(group, _Group()).unreadable.add(member)
        self.changed.add(group)

    def note_joined(self, group: str) -> None:
        """Record that a group has, or had, a member."""
        self._joined.add(group)

    def note_committed(self, group: str) -> None:
        """Record that a group committed, where no position shows it."""
        if group not in self._committed:
            self._committed.add(group)
            self.changed.add(group)

    def note_dropped(self, group: str) -> None:
        """Record that a position of a group was removed, if its end will be read.

        A group that was never described leaves no record of its end.
        """
        if group in self._groups or group in self._joined:
            self.note_committed(group)

    def forget_commits(self, groups: Iterable[str]) -> None:
        """Forget commits of these groups from before they ended."""
        self._committed.difference_update(groups)

    def committed(self, group: str) -> bool:
        """Return whether `note_committed` was called for a group since it began."""
        return group in self._committed

    def joined(self, group: str) -> bool:
        """Return whether a group has or had a member since it began."""
        return group in self._joined

    def forget(self, group: str) -> None:
        """Forget the members of a group; `joined` stays."""
        self._groups.pop(group, None)
        self.changed.add(group)
        self.emptied.add(group)

    def forget_all(self) -> None:
        """Forget all groups."""
        for known in (self._groups, self._joined, self._committed, self.kinds, self.changed, self.emptied):
            known.clear()

    def members(self, group: str) -> int:
        """Return how many members a group has, -1 if it was not described or not readably."""
        known = self._groups.get(group)
        return -1 if known is None or known.unreadable else len(known.members)

    def given(self, group: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the assignments of a group: topic (its id if the name is unknown) and partitions."""
        known = self._groups.get(group)
        if known is not None:
            for member in known.members:
                for topic, partitions in known.assigned.get(member, {}).items():
                    yield self.names.get(topic, topic), partitions

    def given_ids(self) -> set[str]:
        """Return all topic ids that are assigned."""
        by_id = (group for group in self._groups.values() if group.by_id)
        return {topic for group in by_id for given in group.assigned.values() for topic in given}

    def owned_topics(self, group: str) -> set[str]:
        """Return the topics with an assigned partition."""
        known = self._groups.get(group)
        given = () if known is None else (known.assigned.get(member, {}) for member in known.members)
        return {self.names.get(topic, topic) for topics in given for topic, them in topics.items() if them}

    def owners(self, group: str) -> dict[tuple[str, int], Owner]:
        """Return the owner by topic and partition."""
        known = self._groups.get(group)
        if known is None:
            return {}
        return {
            (self.names.get(topic, topic), partition): owner
            for member, owner in known.members.items()
            for topic, partitions in known.assigned.get(member, {}).items()
            for partition in partitions
        }
