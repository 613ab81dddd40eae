"""What records of `__consumer_offsets` come to, read one after the other, in the words of the Admin API."""

from __future__ import annotations

from fleet.wire.commits import (
    CommitGone,
    Committed,
    GroupDescribed,
    GroupGone,
    MemberAssigned,
    MemberDescribed,
    MemberGone,
    OtherRecord,
    decode_commit_record,
)


class Told:
    """Positions and members of every group after all records so far, and what kind of group each is."""

    def __init__(self):
        self.positions = {}  # group -> (topic, partition) -> Committed
        self.members = {}  # group -> member id -> MemberDescribed or Member
        self.assigned = {}  # group -> member id -> partitions by topic name or id
        self.kinds = {}
        self.seen = set()  # the types of all records

    def take(self, records):
        for key, value in records:
            self._take(decode_commit_record(key, value))

    def _take(self, record):
        self.seen.add(type(record))
        match record:
            case Committed(group, topic, partition):
                self.positions.setdefault(group, {})[topic, partition] = record
            case CommitGone(group, topic, partition):
                self.positions.get(group, {}).pop((topic, partition), None)
            case GroupDescribed(group):
                self.kinds[group] = "classic"
                self.members[group] = {one.id: one for one in record.members}
                self.assigned[group] = {one.id: one.assigned for one in record.members}
            case GroupGone(group):
                for told in (self.kinds, self.members, self.assigned):
                    told.pop(group, None)
            case MemberDescribed(group, member):
                self.members.setdefault(group, {})[member] = record
            case MemberAssigned(group, member, assigned):
                self.assigned.setdefault(group, {})[member] = assigned
            case MemberGone(group, member):
                self.members.get(group, {}).pop(member, None)
                self.assigned.get(group, {}).pop(member, None)
            case OtherRecord(kind, group):
                self.kinds[group] = kind

    def positions_of(self, group):
        return sorted(
            # confluent-kafka 2.16 sends metadata with the NUL that ends it in C, and reads up to that one.
            [one.topic, one.partition, one.offset, one.metadata.rstrip("\0"), one.leader_epoch]
            for one in self.positions.get(group, {}).values()
        )

    def members_of(self, group, topic_ids):
        names = {topic_id: topic for topic, topic_id in topic_ids.items()}
        return sorted(
            [
                member,
                one.instance_id,
                one.client_id,
                one.client_host,
                sorted(
                    [names.get(topic, topic), partition]
                    for topic, partitions in self.assigned[group].get(member, ())
                    for partition in partitions
                ),
            ]
            for member, one in self.members.get(group, {}).items()
        )

    def agrees_with(self, admin):
        """Assert that this is what the Admin API said at the same moment."""
        assert {group: self.positions_of(group) for group in admin["positions"]} == admin["positions"]
        ids = admin["topic_ids"]
        assert {group: self.members_of(group, ids) for group in admin["members"]} == admin["members"]
