"""All that offsets tell of one cluster's groups: commits, positions and members, and verdicts from them.

Pure: the loops that read hand in what they have read, with the instant by our wall clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.admin_words import seen_by_asking
from lagmon.heads import Heads
from lagmon.intake import Intake
from lagmon.java_hash import partition_of
from lagmon.membership import Membership
from lagmon.names import Places, Slots
from lagmon.readable import Readable, Readers, joined
from lagmon.rings import Rings
from lagmon.rules import Policy
from lagmon.rules_groups import Grouping, GroupSweep, judge_groups
from lagmon.rules_window import Positions, Windows
from lagmon.sweep import Sweep, sweep
from lagmon.time_lag import lag_s

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from lagmon.readable import Stretch


MEASURED_MS = 45_000  # commits older than this have been measured by the looks before


@dataclass(frozen=True, slots=True)
class GroupSight:
    """Every verdict on the groups of one cluster at one instant; rows are slots, groups by number."""

    now_ms: int
    rows: Sweep
    lag_s: NDArray[np.float64]
    lag_kind: NDArray[np.uint8]
    groups: GroupSweep


class ClusterLag:
    """The groups of one cluster; `wanted` tells whether a group's offset on a topic is kept.

    A group of which `hidden` tells so is kept for the sake of a mirror, and not told among groups.
    """

    def __init__(
        self,
        *,
        wanted: Callable[[str, str], bool],
        hidden: Callable[[str], bool] | None = None,
        policy: Policy | None = None,
    ) -> None:
        self.policy = policy or Policy()
        self.heads = Heads()
        self.places = Places(self.heads.claim, self.heads.release)
        self.slots = Slots(hidden)
        self.rings = Rings()
        self.membership = Membership()
        self.intake = Intake(
            places=self.places,
            slots=self.slots,
            rings=self.rings,
            membership=self.membership,
            wanted=wanted,
            ends=self._ends,
        )
        self.trail = self.intake.trail
        self.readable = Readable()
        self.readable_uncommitted = Readable()  # for mirrors that copy what transactions abort as well
        self.mirror_readers: dict[str, tuple[bool, Readers]] = {}  # by flow; whether it leaves open ones
        self.topics: dict[str, int] = {}  # every topic that the cluster has, with its partitions
        self.mirrored: dict[str, Collection[str]] = {}  # by flow: topics whose starts are read at each look
        self.ids: dict[str, str] = {}  # of topics that groups read, by name
        self.former_ids: dict[str, str] = {}  # before we were away: still to be compared
        self._remade_ms: dict[int, int] = {}  # of places, when the topic was seen to be another one
        self._held_ms: dict[int, int] = {}  # of places, when a transaction was last seen to hold up readers
        self.asking = False  # whether offsets come from the Admin API
        self.asked_ms: dict[str, int] = {}  # then, by group, when it was asked with an answer
        self.group_states: dict[str, str] = {}  # then, by group, as the cluster calls them, in lower case
        self._read_to_ms = np.full(1, -1, np.int64)  # by partition of __consumer_offsets
        self._home = np.zeros(0, np.int32)  # of groups by number, the partition that they are in
        self._homes_known: list[str] = []

    # --- topics and positions

    def note_topics(self, partitions: Mapping[str, int]) -> list[str]:
        """Take note of every topic that there is, with its partitions; return those that went away."""
        gone = [name for name in self.places.topics if name not in partitions]
        self._forget(gone)
        self.topics = dict(partitions)
        self.places.listed = sum(partitions.values())
        for name, count in self.topics.items():
            if count:
                self.places.take(name, count - 1)
        return gone

    def note_looked(
        self, places: NDArray[np.int32], ends: NDArray[np.int64], stables: NDArray[np.int64], at_ms: int
    ) -> None:
        """Take the high watermarks and last stable offsets that were read at an instant, -1 for no answer."""
        self.heads.note(places, ends, at_ms)
        self.heads.note_stable(places, stables)
        held = (stables >= 0) & (stables < ends)
        self._held_ms.update(dict.fromkeys(places[held].tolist(), at_ms))
        self.readable.note_ends(places, ends)
        self.readable_uncommitted.note_ends(places, ends)
        self._measure_lags(at_ms)

    def _measure_lags(self, now_ms: int) -> None:
        """Tell the lags of late commits by where the logs ended when they were made."""
        count = len(self.slots)
        trail, places = self.trail, self.slots.place[:count]
        before_newest_ms = self.rings.committed_ms[:count, -1] - trail.committed_ms[:count, -2]
        at_ms = self.intake.seen_ms[:count] - before_newest_ms
        late = (places >= 0) & (trail.lag[:count, -2] >= 0) & (at_ms > now_ms - MEASURED_MS)
        rows = np.flatnonzero(late)
        trail.measure(rows, self.heads.end_at(places[rows], at_ms[rows]))

    def note_id(self, topic: str, topic_id: str, now_ms: int) -> bool:
        """Take note of a topic's id; return whether it is another topic of the same name."""
        before = self.ids.get(topic) or self.former_ids.get(topic)
        self.ids[topic] = topic_id
        self.former_ids.pop(topic, None)
        if before in (None, topic_id):
            return False
        places = np.array(self.places.of(topic), np.int32)
        self.heads.forget(places)
        self.readable.forget(places)
        self.readable_uncommitted.forget(places)
        self._remade_ms.update(dict.fromkeys(places.tolist(), now_ms))
        return True

    def _forget(self, topics: Sequence[str]) -> None:
        """Know nothing of topics that went away, nor of what groups had read of them."""
        places = [place for topic in topics for place in self.places.drop(topic)]
        self.intake.drop_places(places)
        self.readable.forget(np.array(places, np.int32))
        self.readable_uncommitted.forget(np.array(places, np.int32))
        for topic in topics:
            self.ids.pop(topic, None)
            self.former_ids.pop(topic, None)
        for place in places:
            self._remade_ms.pop(place, None)
            self._held_ms.pop(place, None)

    def watched_topics(self) -> list[str]:
        """Return the topics on which any group has an offset, or whose id is still to be compared."""
        watched = self.places.topics_of(self.slots.place[: len(self.slots)])
        return sorted(watched | self.former_ids.keys())

    def marks(self, places: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return of places when they were made anew and when a transaction held up readers, -1 never."""
        remade = [self._remade_ms.get(place, -1) for place in places]
        return remade, [self._held_ms.get(place, -1) for place in places]

    def take_up_marks(self, places: Sequence[int], remade_ms: Sequence[int], held_ms: Sequence[int]) -> None:
        """Know these instants again as `marks` gave them."""
        for known, told in ((self._remade_ms, remade_ms), (self._held_ms, held_ms)):
            known.update({place: at for place, at in zip(places, told, strict=True) if at >= 0})

    # --- how far the commits are read

    def begin_commits(self, partitions: int) -> None:
        """Know nothing yet of what stands in any of so many partitions of `__consumer_offsets`.

        What an earlier reading took in is forgotten: it comes again, and in another order it would mislead.
        """
        self.intake.forget_all()
        self.membership.forget_all()
        self._read_to_ms = np.full(partitions, -1, np.int64)
        self._homes_known = []

    def begin_asking(self) -> None:
        """Know nothing yet of any group: from here on their offsets come from the Admin API."""
        self.begin_commits(1)
        self.asking = True

    def end_asking(self) -> None:
        """Take the offsets of groups from elsewhere again."""
        self.asking = False
        self.asked_ms.clear()
        self.group_states.clear()

    def note_read(self, partition: int, at_ms: int) -> None:
        """Take note that every commit of this partition up to an instant was read."""
        self._read_to_ms[partition] = max(at_ms, int(self._read_to_ms[partition]))

    @property
    def read_to_ms(self) -> int:
        """Return up to when the commits of every partition are read, -1 where one never was."""
        if self.asking:
            return min(self.asked_ms.values(), default=-1)
        return int(self._read_to_ms.min())

    # --- verdicts

    def see(self, now_ms: int) -> GroupSight:
        """Judge every group by our rules."""
        count = len(self.slots)
        places = self.slots.place[:count]
        used = places >= 0
        at = np.where(used, places, 0)
        windows = self._windows(count)
        positions = self._positions(at, count, used)
        rows = sweep(windows, positions, now_ms=now_ms, policy=self.policy)
        if self.asking:
            rows = seen_by_asking(rows, positions.members)
        next_record = np.maximum(windows.offset[:, -1], positions.readable_from)
        seconds, kinds = lag_s(self.heads, at, next_record, now_ms) if count else _no_lags()
        grouping = self._grouping(used)
        return GroupSight(
            now_ms, rows, seconds, kinds, judge_groups(rows.status, rows.lag, seconds, grouping)
        )

    def tails_due(self, now_ms: int, *, committed: bool = True) -> list[Stretch]:
        """Return which ends of logs to look at, to learn whether readers before them have anything left.

        `committed` for readers of committed records, which groups are taken for.
        """
        readers = [one for leaves_open, one in self.mirror_readers.values() if leaves_open is committed]
        if committed:
            readers.append(self._group_readers(now_ms))
        recent = self.heads.recent[:, -3:]
        settled = (recent >= 0).all(axis=1) & (recent == recent[:, -1:]).all(axis=1)
        readable = self.readable if committed else self.readable_uncommitted
        return readable.due(joined(readers), settled, now_ms=now_ms)

    def _group_readers(self, now_ms: int) -> Readers:
        used = np.flatnonzero(self.slots.place[: len(self.slots)] >= 0)
        places, heads, trail = self.slots.place[used], self.heads, self.trail
        offset, stable, end = self.rings.offset[used, -1], heads.stable[places], heads.end[places]
        standing_ms = now_ms - self.intake.seen_ms[used]
        for column in (-2, -3):
            same = (trail.offset[used, column:-1] == offset[:, None]).all(axis=1)
            apart_ms = self.rings.committed_ms[used, -1] - trail.committed_ms[used, column]
            standing_ms[same] = now_ms - self.intake.seen_ms[used[same]] + apart_ms[same]
        head = np.where(stable >= 0, np.minimum(stable, end), end)
        there = offset >= heads.start[places]
        return Readers(places[there], offset[there], head[there], standing_ms[there])

    def _windows(self, count: int) -> Windows:
        offset, committed_ms, lag, filled = self.trail.close(self.rings, count)
        return Windows(
            offset=offset,
            committed_ms=committed_ms,
            lag=lag,
            filled=filled,
            live=filled,  # it holds no others
        )

    def _positions(self, at: NDArray[np.int32], count: int, used: NDArray[np.bool_]) -> Positions:
        heads = self.heads
        if not count:
            return _no_positions()
        end, stable = heads.end[at], heads.stable[at]
        seen_ms, offset = self.intake.seen_ms[:count], self.rings.offset[:count, -1]
        readable_from = self.readable.readable_from(at, offset)
        passed_ms, exact = heads.passed_ms(at, np.maximum(offset, readable_from))
        if self._held_ms:
            # Until then there was nothing to read for one who waits for transactions to be decided.
            held_ms = self._by_place(self._held_ms)[at]
            late = (passed_ms >= 0) & (passed_ms < held_ms)
            passed_ms[late] = held_ms[late]
        return Positions(
            head=np.where(stable >= 0, np.minimum(stable, end), end),
            end=end,
            head_at_ms=heads.sampled_ms[at],
            start=heads.start[at],
            passed_ms=passed_ms,
            passed_exact=exact,
            seen_ms=seen_ms,
            commits_read_to_ms=self._commits_read_to(used),
            recreated=self._remade_after(at, seen_ms),
            members=self._members()[np.maximum(self.slots.group[:count], 0)],
            readable_from=readable_from,
        )

    def _commits_read_to(self, used: NDArray[np.bool_]) -> NDArray[np.int64]:
        names = self.slots.names
        if self.asking:
            asked_ms = np.array([self.asked_ms.get(name, -1) for name in (*names, "")], np.int64)
            return asked_ms[np.where(used, self.slots.group[: len(used)], -1)]
        if self._homes_known != names:
            partitions = len(self._read_to_ms)
            self._home = np.array([partition_of(name, partitions) for name in names], np.int32)
            self._homes_known = list(names)
        groups = np.where(used, self.slots.group[: len(used)], 0)
        return self._read_to_ms[self._home[groups]]

    def _remade_after(self, at: NDArray[np.int32], seen_ms: NDArray[np.int64]) -> NDArray[np.bool_]:
        if not self._remade_ms:
            return np.zeros(len(at), np.bool_)
        return seen_ms < self._by_place(self._remade_ms)[at]

    def _by_place(self, instants: Mapping[int, int]) -> NDArray[np.int64]:
        """Return instants of some places as an array over all of them, before all time where none is."""
        found = np.full(len(self.heads.end), np.iinfo(np.int64).min, np.int64)
        found[list(instants)] = list(instants.values())
        return found

    def _members(self) -> NDArray[np.int64]:
        count = max(1, self.slots.group_numbers)
        found = np.full(count, -1, np.int64)
        for number, name in self.slots.groups():
            found[number] = self.membership.members(name)
        return found

    def _grouping(self, used: NDArray[np.bool_]) -> Grouping:
        return Grouping(self.slots.group[: len(used)], self.slots.group_numbers)

    def _ends(self, places: NDArray[np.int32]) -> NDArray[np.int64]:
        return self.heads.end[places]


def _no_lags() -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    return np.zeros(0), np.zeros(0, np.uint8)


def _no_positions() -> Positions:
    none = np.zeros(0, np.int64)
    no = np.zeros(0, np.bool_)
    return Positions(none, none, none, none, none, no, none, none, no, none, none)
