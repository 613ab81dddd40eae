"""Add records of `__consumer_offsets` to the windows of groups, many at once. Pure.

A known key costs one lookup in an index. New keys, tombstones and records without a commit are read one by
one (fleet.wire.commits). The order within a partition of that topic is the order of the commits, and all
commits of one group are in one partition.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fleet.errors import MalformedError
from fleet.wire.commits import (
    About,
    CommitGone,
    CommitKey,
    Committed,
    GroupDescribed,
    GroupGone,
    GroupKey,
    MemberAssigned,
    MemberDescribed,
    MemberGone,
    OtherRecord,
    decode_commit_record,
    decode_key,
)
from lagmon.arrays.growing import more_rows
from lagmon.arrays.key_index import ABSENT, KeyIndex, hashes_of
from lagmon.cluster.membership import every_group
from lagmon.groups.trail import Trail
from lagmon.ingest.columns import read_values, usual_key
from lagmon.ingest.malformed import MalformedNotice, sample_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from lagmon.cluster.membership import Membership, Owner
    from lagmon.cluster.names import Places, Slots
    from lagmon.groups.rings import Rings
    from lagmon.ingest.columns import Columns

_NEW = ABSENT
_PASSED_OVER = -1  # an unwanted group or topic
MAX_PASSED_OVER = 200_000  # unwanted keys that are remembered
# brokers accept commits on partitions that do not exist; places are created up to this
MAX_PARTITION = 100_000
MAX_UNLISTED = 150_000  # such places in all topics together; each takes 0.5 KB


@dataclass(slots=True)
class Taken:
    """Counters of records: every record counts in exactly one of these."""

    commits: int = 0
    gone: int = 0  # deleted positions
    members: int = 0  # descriptions of groups and their members
    passed_over: int = 0  # of unwanted groups and topics, or of groups of another shard
    other: int = 0  # known, without a position
    absurd: int = 0  # a negative offset, a partition beyond MAX_PARTITION or MAX_UNLISTED
    malformed: int = 0
    sample: str = ""  # the first malformed one

    @property
    def records(self) -> int:
        """Return the number of all records."""
        counted = (self.commits, self.gone, self.members, self.passed_over, self.other)
        return sum(counted) + self.absurd + self.malformed


def none_hidden(_group: str, _topic: str | None) -> bool:
    """Return that no offset is hidden."""
    return False


@dataclass(slots=True)
class Intake:
    """Adds the commits of one cluster to its windows; `wanted` selects groups and topics.

    `hidden` selects those that are kept for mirrors only. The topic None means any. `belongs` selects the
    groups of this process's shard.
    """

    places: Places
    slots: Slots
    rings: Rings
    membership: Membership
    wanted: Callable[[str, str | None], bool]
    ends: Callable[[NDArray[np.int32]], NDArray[np.int64]]  # newest log ends of places, -1 if unknown
    trail: Trail = field(default_factory=Trail)
    taken: Taken = field(default_factory=Taken)
    hidden: Callable[[str, str | None], bool] = none_hidden
    belongs: Callable[[str], bool] = every_group
    has_strays: bool = False  # whether a record of a group of another shard was read
    notice: MalformedNotice = field(default_factory=lambda: MalformedNotice("Kafka's brokers"))
    seen_ms: NDArray[np.int64] = field(default_factory=lambda: np.full(1024, -1, np.int64))
    # Which slots have a newest commit that could not be read.
    unreadable: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1024, np.bool_))
    _index: KeyIndex = field(default_factory=KeyIndex)  # the slot of each key, or _PASSED_OVER
    _met: dict[bytes, int] = field(default_factory=dict)  # the same, of the current batch
    _ended: set[str] = field(default_factory=set)  # groups that ended in the current batch
    _passed_over: int = 0  # unwanted keys that are remembered
    _asked: tuple[str, str] = ("", "")  # group and topic of the newest key; the next often has the same
    _is_wanted: bool | None = None  # the result for these
    _is_hidden: bool = False

    def take(
        self, keys: Sequence[bytes | None], values: Sequence[bytes | None], *, read_ms: int, live: bool
    ) -> None:
        """Add records in the order in which they were read.

        `live`: they were read when they were written, at `read_ms` by our wall clock.
        """
        slots = self._look_up(keys, values)
        if None in values:
            slots = self._bury(slots, keys, values)
            # A group's end is read before the tombstones of its offsets, and supersedes them.
            self.membership.forget_commits(self._ended)
            self._ended.clear()
        at = np.flatnonzero(slots >= 0)
        if not len(at):
            return
        slots = slots[at]
        present: Sequence[bytes] = values if len(at) == len(values) else [values[one] for one in at.tolist()]  # type: ignore[assignment, misc]
        columns = read_values(present)
        for place in np.flatnonzero(~columns.good).tolist():
            self._read_singly(columns, place, keys[at[place]], present[place])
        self.unreadable[slots] = ~columns.good  # of several commits of a slot the last one counts
        good = columns.good & (columns.offset >= 0)
        if not good.all():
            self.taken.absurd += int(np.count_nonzero(columns.good & ~good))
            self._give_back(np.setdiff1d(slots[~good], slots[good]))
            slots = slots[good]
        offset = columns.offset[good]
        ends = self.ends(self.slots.place[slots])
        lag = np.where(ends >= 0, np.maximum(ends - offset, 0), -1)
        committed_ms = np.maximum(columns.committed_ms[good], 0)
        # Sorted once for both; sorting a sorted array is fast.
        order = np.argsort(slots, kind="stable")
        slots, offset, committed_ms, lag = slots[order], offset[order], committed_ms[order], lag[order]
        self.trail.take(self.rings, slots, offset, committed_ms, lag, live=live)
        self.rings.note_moves(slots, offset, committed_ms, read_ms=read_ms, live=live)
        self.rings.append(slots, offset, committed_ms, lag, live=live)
        # By our clock; for commits from before the start, the broker's.
        self.seen_ms[slots] = read_ms if live else np.minimum(committed_ms, read_ms)
        self.taken.commits += len(slots)

    def known_offsets(self, part: slice) -> NDArray[np.int64]:
        """Return the newest offset of each of these slots, -1 if the newest commit could not be read."""
        offsets: NDArray[np.int64] = self.rings.offset[part, -1]
        return np.where(self.unreadable[part], -1, offsets)

    def owned_topics(self, group: str) -> set[str]:
        """Return the topics with an assigned partition, without hidden ones."""
        return {topic for topic in self.membership.owned_topics(group) if not self.hidden(group, topic)}

    def owners(self, group: str) -> dict[tuple[str, int], Owner]:
        """Return the owner by topic and partition, without hidden topics."""
        shown, owned = self.owned_topics(group), self.membership.owners(group)
        return {place: owner for place, owner in owned.items() if place[0] in shown}

    def drop_places(self, places: Sequence[int]) -> int:
        """Forget all positions at these places; return how many there were."""
        found = np.flatnonzero(np.isin(self.slots.place[: len(self.slots)], places))
        self._drop(found.astype(np.int32))
        return len(found)

    def forget_all(self) -> None:
        """Forget all positions; counters stay."""
        self._drop(np.flatnonzero(self.slots.place[: len(self.slots)] >= 0).astype(np.int32))
        self._index.clear()  # and of unwanted keys
        self._passed_over, self._is_wanted, self.has_strays = 0, None, False

    def _look_up(self, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> NDArray[np.int32]:
        """Return the slot of every record, negative if it is not a wanted commit."""
        slots = self._index.find(hashes_of(keys, len(keys)))
        if slots.min(initial=0) >= 0:
            return slots
        met = self._met
        for place in np.flatnonzero(slots == _NEW).tolist():
            key = keys[place]
            # An earlier record of the same batch may have added the key.
            slot = met.get(key, _NEW) if key is not None else _NEW
            slots[place] = self._meet(key, values[place]) if slot == _NEW else slot
        self._keep_met()
        self.taken.passed_over += int(np.count_nonzero(slots == _PASSED_OVER))
        return slots

    def _meet(self, key: bytes | None, value: bytes | None) -> int:
        """Read a record with a new key; return its slot, or _NEW if it is done."""
        if key is not None and value is not None:
            usual = usual_key(key)
            if usual is not None:
                return self._begin(key, *usual)  # its value is read with the others
        about: CommitKey | GroupKey | None = None
        try:
            about = decode_key(key)
            if isinstance(about, CommitKey) and value is not None:
                return self._begin(key or b"", about.group, about.topic, about.partition)
            record = decode_commit_record(key, value)
        except MalformedError as error:
            self._count_malformed(key, value, str(error))
            self._note_unreadable_member(about)
            return _NEW
        match record:
            case CommitGone():
                self.taken.gone += 1
            case GroupDescribed() | GroupGone() | MemberDescribed() | MemberAssigned() | MemberGone():
                if not self._keeps(record.group, there=value is not None):
                    self.taken.passed_over += 1
                    return _NEW
                self.membership.take(record)
                self.taken.members += 1
                if isinstance(record, GroupGone):
                    self._ended.add(record.group)
            case _:
                # A tombstone: something of the group was deleted, perhaps the group.
                if (
                    isinstance(record, OtherRecord)
                    and value is not None
                    and self._keeps(record.group, there=True)
                ):
                    self.membership.note_there(record.group, record.kind)
                self.taken.other += 1
        return _NEW

    def _keeps(self, group: str, *, there: bool) -> bool:
        """Return whether to keep the members of a group; `there`: this record shows that the group exists."""
        if self.belongs(group):
            return True
        self.has_strays |= there
        return self.wanted(group, None)  # for a mirror

    def _begin(self, key: bytes, group: str, topic: str, partition: int) -> int:
        if partition >= self.places.count(topic) and self._is_absurd(topic, partition):
            self.taken.absurd += 1
            return _NEW
        if self._is_wanted is None or self._asked != (group, topic):
            self._asked, self._is_wanted = (group, topic), self.wanted(group, topic)
            self.has_strays |= not self.belongs(group)
            self._is_hidden = self._is_wanted and self.hidden(group, topic)
            if not self._is_wanted and self.wanted(group, None):
                self.membership.note_committed(group)
                self._ended.discard(group)  # it has begun again
        if not self._is_wanted:
            if self._passed_over < MAX_PASSED_OVER:
                self._passed_over += 1
                self._met[key] = _PASSED_OVER
            return _PASSED_OVER
        slot = self.slots.take(group, self.places.take(topic, partition), hidden=self._is_hidden)
        if slot >= len(self.seen_ms):
            self.rings.hold(slot + 1)
            self.trail.hold(len(self.rings.filled))
            more_rows(self, "seen_ms", len(self.rings.filled), -1)
            more_rows(self, "unreadable", len(self.rings.filled), 0)
        self._met[key] = slot
        return slot

    def _keep_met(self) -> None:
        """Add the new keys to the index."""
        count = len(self._met)
        self._index.put(hashes_of(self._met, count), np.fromiter(self._met.values(), np.int32, count))
        self._met.clear()

    def _is_absurd(self, topic: str, partition: int) -> bool:
        return partition > MAX_PARTITION or self.places.unlisted(topic, partition) > MAX_UNLISTED

    def _bury(
        self, slots: NDArray[np.int32], keys: Sequence[bytes | None], values: Sequence[bytes | None]
    ) -> NDArray[np.int32]:
        """Remove what tombstones deleted; return the slots of records that are still valid."""
        last: dict[int, int] = {}
        ended: list[int] = []
        cleared: list[int] = []
        buried: list[tuple[bytes | None, bytes]] = []  # keys and values followed by a tombstone
        for place, value in enumerate(values):
            if value is None and slots[place] >= 0:
                last[int(slots[place])] = place
                self.taken.gone += 1
        kept = slots.copy()
        for slot, place in last.items():
            of_it = np.flatnonzero(slots == slot)
            before = [(keys[one], values[one]) for one in of_it[of_it < place].tolist()]
            buried += [(key, value) for key, value in before if value is not None]
            kept[of_it[of_it <= place]] = _NEW
            (ended if of_it[-1] == place else cleared).append(slot)
        self._drop(np.array(ended, np.int32))
        self._clear(np.array(cleared, np.int32))
        self._count_buried(buried)
        return kept

    def _count_buried(self, records: Sequence[tuple[bytes | None, bytes]]) -> None:
        """Count records that a tombstone of the same batch deleted, as if it came in a later batch."""
        if not records:
            return
        columns = read_values([value for _, value in records])
        for place in np.flatnonzero(~columns.good).tolist():
            self._read_singly(columns, place, *records[place])
        commits = int(np.count_nonzero(columns.good & (columns.offset >= 0)))
        self.taken.commits += commits
        self.taken.absurd += int(np.count_nonzero(columns.good)) - commits

    def _drop(self, slots: NDArray[np.int32]) -> None:
        if len(slots):
            self._index.drop(slots)
        for slot in slots.tolist():
            self.membership.note_dropped(self.slots.group_name(int(self.slots.group[slot])))
            self.slots.drop(slot)
        self._clear(slots)
        self.seen_ms[slots] = -1

    def _give_back(self, slots: NDArray[np.int32]) -> None:
        """Free slots without any commit."""
        self._drop(slots[(self.rings.filled[slots] == 0) & ~self.unreadable[slots]])

    def _note_unreadable_member(self, about: CommitKey | GroupKey | None) -> None:
        """Record that the value of a member could not be read; other keys are left alone."""
        if isinstance(about, GroupKey) and about.version == About.CONSUMER_MEMBER:
            self.membership.note_unreadable(about.group, about.member)

    def _clear(self, slots: NDArray[np.int32]) -> None:
        self.unreadable[slots] = False
        self.rings.clear(slots)
        self.trail.clear(slots)

    def _read_singly(self, columns: Columns, place: int, key: bytes | None, value: bytes) -> None:
        """Read a value without the usual layout, such as one with metadata of more than 126 bytes."""
        try:
            record = decode_commit_record(key, value)
        except MalformedError as error:
            self._count_malformed(key, value, str(error))
            return
        if isinstance(record, Committed):
            columns.good[place] = True
            columns.offset[place], columns.committed_ms[place] = record.offset, record.committed_at_ms

    def _count_malformed(self, key: bytes | None, value: bytes | None, why: str) -> None:
        self.taken.malformed += 1
        if not self.taken.sample:
            self.taken.sample = sample_of(why, key, value)
