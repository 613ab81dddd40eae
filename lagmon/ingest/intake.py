"""Take records of `__consumer_offsets` in: from raw keys and values to windows, many at once.

A key that was seen before costs one look into an index; only new ones, tombstones and what is no commit
are read one by one (fleet.wire.commits). The order within a partition of that topic is the order of the
commits, and all commits of one group stand in one partition. No clock, no I/O.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fleet.errors import MalformedError
from fleet.wire.commits import (
    CommitGone,
    CommitKey,
    Committed,
    GroupDescribed,
    GroupGone,
    MemberAssigned,
    MemberDescribed,
    MemberGone,
    OtherRecord,
    decode_commit_record,
    decode_key,
)
from lagmon.arrays.growing import more_rows
from lagmon.arrays.key_index import ABSENT, KeyIndex, hashes_of
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
_PASSED_OVER = -1  # a group or topic that is not wanted
MAX_PASSED_OVER = 200_000  # keys that are remembered as not wanted
MAX_PARTITION = 100_000  # brokers take commits for partitions that no topic has; places are made up to it
MAX_UNLISTED = 150_000  # of these, of all topics together: each takes half a kilobyte


@dataclass(slots=True)
class Taken:
    """What was taken in so far: every record is counted in exactly one of these."""

    commits: int = 0
    gone: int = 0  # positions that were deleted
    members: int = 0  # descriptions of groups and their members
    passed_over: int = 0  # of groups and topics that are not wanted
    other: int = 0  # known, and nothing about positions
    absurd: int = 0  # a negative offset, a partition beyond MAX_PARTITION or MAX_UNLISTED
    malformed: int = 0
    sample: str = ""  # of what was malformed, the first

    @property
    def records(self) -> int:
        """Return how many records that were."""
        counted = (self.commits, self.gone, self.members, self.passed_over, self.other)
        return sum(counted) + self.absurd + self.malformed


def none_hidden(_group: str, _topic: str | None) -> bool:
    """Tell of no offset that it is kept for others' sake."""
    return False


@dataclass(slots=True)
class Intake:
    """Takes the commits of one cluster into its windows; `wanted` tells of (group, topic) whether to.

    Of those `hidden` tells which are kept for the sake of a mirror alone. No topic stands for any.
    """

    places: Places
    slots: Slots
    rings: Rings
    membership: Membership
    wanted: Callable[[str, str | None], bool]
    ends: Callable[[NDArray[np.int32]], NDArray[np.int64]]  # the newest sampled end of places, -1 unknown
    trail: Trail = field(default_factory=Trail)
    taken: Taken = field(default_factory=Taken)
    hidden: Callable[[str, str | None], bool] = none_hidden
    notice: MalformedNotice = field(default_factory=lambda: MalformedNotice("Kafka's brokers"))
    seen_ms: NDArray[np.int64] = field(default_factory=lambda: np.full(1024, -1, np.int64))
    _index: KeyIndex = field(default_factory=KeyIndex)  # the slot of each key, or _PASSED_OVER
    _met: dict[bytes, int] = field(default_factory=dict)  # the same, of what is just taken in
    _ended: set[str] = field(default_factory=set)  # groups that ended in what is just taken in
    _passed_over: int = 0  # keys that are remembered as not wanted
    _asked: tuple[str, str] = ("", "")  # group and topic of the newest key: the next is often of the same
    _is_wanted: bool | None = None  # what was said of these
    _is_hidden: bool = False

    def take(
        self, keys: Sequence[bytes | None], values: Sequence[bytes | None], *, read_ms: int, live: bool
    ) -> None:
        """Take in records in the order in which they were read.

        `live` where they were read as they came, at `read_ms` by our wall clock.
        """
        slots = self._look_up(keys, values)
        if None in values:
            slots = self._bury(slots, keys, values)
            # A group's end follows those of its offsets, and was read before them: it is the last word.
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
        good = columns.good & (columns.offset >= 0)
        if not good.all():
            self.taken.absurd += int(np.count_nonzero(columns.good & ~good))
            self._give_back(np.setdiff1d(slots[~good], slots[good]))
            slots = slots[good]
        offset = columns.offset[good]
        ends = self.ends(self.slots.place[slots])
        lag = np.where(ends >= 0, np.maximum(ends - offset, 0), -1)
        committed_ms = np.maximum(columns.committed_ms[good], 0)
        # In order once, for both: what is in order is put in order again in no time.
        order = np.argsort(slots, kind="stable")
        slots, offset, committed_ms, lag = slots[order], offset[order], committed_ms[order], lag[order]
        self.trail.take(self.rings, slots, offset, committed_ms, lag, live=live)
        self.rings.note_moves(slots, offset, committed_ms, read_ms=read_ms, live=live)
        self.rings.append(slots, offset, committed_ms, lag, live=live)
        # When it was made, by our clock: of what was there before us the broker's word has to do.
        self.seen_ms[slots] = read_ms if live else np.minimum(committed_ms, read_ms)
        self.taken.commits += len(slots)

    def owned_topics(self, group: str) -> set[str]:
        """Return of which topics members were given partitions, without those that are hidden."""
        return {topic for topic in self.membership.owned_topics(group) if not self.hidden(group, topic)}

    def owners(self, group: str) -> dict[tuple[str, int], Owner]:
        """Return who was given which topic and partition, without those that are hidden."""
        shown, owned = self.owned_topics(group), self.membership.owners(group)
        return {place: owner for place, owner in owned.items() if place[0] in shown}

    def drop_places(self, places: Sequence[int]) -> int:
        """Forget every position at these places; return how many there were."""
        found = np.flatnonzero(np.isin(self.slots.place[: len(self.slots)], places))
        self._drop(found.astype(np.int32))
        return len(found)

    def forget_all(self) -> None:
        """Forget every position; what was counted stays counted."""
        self._drop(np.flatnonzero(self.slots.place[: len(self.slots)] >= 0).astype(np.int32))
        self._index.clear()  # of what was passed over too
        self._passed_over, self._is_wanted = 0, None

    def _look_up(self, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> NDArray[np.int32]:
        """Return the slot of every record, less than nothing where it is no commit that is wanted."""
        slots = self._index.find(hashes_of(keys, len(keys)))
        if slots.min(initial=0) >= 0:
            return slots
        met = self._met
        for place in np.flatnonzero(slots == _NEW).tolist():
            key = keys[place]
            # An earlier record of the same batch may have made it known.
            slot = met.get(key, _NEW) if key is not None else _NEW
            slots[place] = self._meet(key, values[place]) if slot == _NEW else slot
        self._keep_met()
        self.taken.passed_over += int(np.count_nonzero(slots == _PASSED_OVER))
        return slots

    def _meet(self, key: bytes | None, value: bytes | None) -> int:
        """Read a record whose key is new; return its slot, or _NEW if it is dealt with."""
        if key is not None and value is not None:
            usual = usual_key(key)
            if usual is not None:
                return self._begin(key, *usual)  # its value is read with the others
        try:
            about = decode_key(key)
            if isinstance(about, CommitKey) and value is not None:
                return self._begin(key or b"", about.group, about.topic, about.partition)
            record = decode_commit_record(key, value)
        except MalformedError as error:
            self._count_malformed(key, value, str(error))
            return _NEW
        match record:
            case CommitGone():
                self.taken.gone += 1
            case GroupDescribed() | GroupGone() | MemberDescribed() | MemberAssigned() | MemberGone():
                self.membership.take(record)
                self.taken.members += 1
                if isinstance(record, GroupGone):
                    self._ended.add(record.group)
            case _:
                # A null one says that something of the group is gone, and perhaps the group too.
                if isinstance(record, OtherRecord) and value is not None:
                    self.membership.note_there(record.group, record.kind)
                self.taken.other += 1
        return _NEW

    def _begin(self, key: bytes, group: str, topic: str, partition: int) -> int:
        if partition >= self.places.count(topic) and self._is_absurd(topic, partition):
            self.taken.absurd += 1
            return _NEW
        if self._is_wanted is None or self._asked != (group, topic):
            self._asked, self._is_wanted = (group, topic), self.wanted(group, topic)
            self._is_hidden = self._is_wanted and self.hidden(group, topic)
            if not self._is_wanted and self.wanted(group, None):
                self.membership.note_committed(group)
                self._ended.discard(group)  # it began again
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
        self._met[key] = slot
        return slot

    def _keep_met(self) -> None:
        """Put the keys that were new into the index, all at once."""
        count = len(self._met)
        self._index.put(hashes_of(self._met, count), np.fromiter(self._met.values(), np.int32, count))
        self._met.clear()

    def _is_absurd(self, topic: str, partition: int) -> bool:
        return partition > MAX_PARTITION or self.places.unlisted(topic, partition) > MAX_UNLISTED

    def _bury(
        self, slots: NDArray[np.int32], keys: Sequence[bytes | None], values: Sequence[bytes | None]
    ) -> NDArray[np.int32]:
        """Take out what tombstones have ended, and return the slots of what came after or stays."""
        last: dict[int, int] = {}
        ended: list[int] = []
        cleared: list[int] = []
        buried: list[tuple[bytes | None, bytes]] = []  # keys and values that a tombstone follows
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
        """Count what tombstones of the same batch ended, as if it had stood in one of its own."""
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
            self.membership.note_committed(self.slots.group_name(int(self.slots.group[slot])))
            self.slots.drop(slot)
        self._clear(slots)
        self.seen_ms[slots] = -1

    def _give_back(self, slots: NDArray[np.int32]) -> None:
        """Take out those that hold no commit: of what was passed over, nothing is to be told."""
        self._drop(slots[self.rings.filled[slots] == 0])

    def _clear(self, slots: NDArray[np.int32]) -> None:
        self.rings.clear(slots)
        self.trail.clear(slots)

    def _read_singly(self, columns: Columns, place: int, key: bytes | None, value: bytes) -> None:
        """Read what does not have the usual shape, such as metadata of more than 126 bytes."""
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
