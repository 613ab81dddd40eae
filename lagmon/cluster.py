"""All that offsets tell of one cluster's groups: commits, positions and members, and verdicts from them.

Pure: the loops that read hand in what they have read, with the instant by our wall clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.heads import Heads
from lagmon.intake import Intake
from lagmon.java_hash import partition_of
from lagmon.membership import Membership
from lagmon.names import Places, Slots
from lagmon.rings import Rings
from lagmon.rules import Policy
from lagmon.rules_groups import Grouping, GroupSweep, judge_groups
from lagmon.rules_window import Positions, Windows
from lagmon.sweep import Sweep, sweep
from lagmon.time_lag import lag_s

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class GroupSight:
    """Every verdict on the groups of one cluster at one instant; rows are slots, groups by number."""

    now_ms: int
    rows: Sweep
    lag_s: NDArray[np.float64]
    lag_kind: NDArray[np.uint8]
    groups: GroupSweep


class ClusterLag:
    """The groups of one cluster; `wanted` tells whether a group's offset on a topic is kept."""

    def __init__(self, *, wanted: Callable[[str, str], bool], policy: Policy | None = None) -> None:
        self.policy = policy or Policy()
        self.heads = Heads()
        self.places = Places(self.heads.claim, self.heads.release)
        self.slots = Slots()
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
        self.topics: dict[str, int] = {}  # every topic that the cluster has, with its partitions
        self.ids: dict[str, str] = {}  # of topics that groups read, by name
        self._remade_ms: dict[int, int] = {}  # of places, when the topic was seen to be another one
        self._held_ms: dict[int, int] = {}  # of places, when a transaction was last seen to hold up readers
        self._read_to_ms = np.full(1, -1, np.int64)  # by partition of __consumer_offsets
        self._home = np.zeros(0, np.int32)  # of groups by number, the partition that they are in
        self._homes_known: list[str] = []

    # --- topics and positions

    def note_topics(self, partitions: Mapping[str, int]) -> list[str]:
        """Take note of every topic that there is, with its partitions; return those that went away."""
        gone = [name for name in self.places.topics if name not in partitions]
        for name in gone:
            self.forget(name)
        self.topics = dict(partitions)
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

    def note_id(self, topic: str, topic_id: str, now_ms: int) -> bool:
        """Take note of a topic's id; return whether it is another topic of the same name."""
        before = self.ids.get(topic)
        self.ids[topic] = topic_id
        if before in (None, topic_id):
            return False
        places = np.array(self.places.of(topic), np.int32)
        self.heads.forget(places)
        self._remade_ms.update(dict.fromkeys(places.tolist(), now_ms))
        return True

    def forget(self, topic: str) -> None:
        """Know nothing of a topic that went away, nor of what groups had read of it."""
        places = self.places.drop(topic)
        self.intake.drop_places(places)
        self.ids.pop(topic, None)
        for place in places:
            self._remade_ms.pop(place, None)
            self._held_ms.pop(place, None)

    def watched_topics(self) -> list[str]:
        """Return the topics on which any group has an offset."""
        places = np.unique(self.slots.place[: len(self.slots)])
        return sorted({self.places.name(place)[0] for place in places.tolist() if place >= 0})

    # --- how far the commits are read

    def begin_commits(self, partitions: int) -> None:
        """Know nothing yet of what stands in any of so many partitions of `__consumer_offsets`.

        What an earlier reading took in is forgotten: it comes again, and in another order it would mislead.
        """
        self.intake.forget_all()
        self.membership.forget_all()
        self._read_to_ms = np.full(partitions, -1, np.int64)
        self._homes_known = []

    def note_read(self, partition: int, at_ms: int) -> None:
        """Take note that every commit of this partition up to an instant was read."""
        self._read_to_ms[partition] = max(at_ms, int(self._read_to_ms[partition]))

    @property
    def read_to_ms(self) -> int:
        """Return up to when the commits of every partition are read, -1 where one never was."""
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
        seconds, kinds = lag_s(self.heads, at, windows.offset[:, -1], now_ms) if count else _no_lags()
        grouping = self._grouping(used)
        return GroupSight(
            now_ms, rows, seconds, kinds, judge_groups(rows.status, rows.lag, seconds, grouping)
        )

    def _windows(self, count: int) -> Windows:
        rings = self.rings
        return Windows(
            offset=rings.offset[:count],
            committed_ms=rings.committed_ms[:count],
            lag=rings.lag[:count],
            filled=rings.filled[:count],
            live=rings.live[:count],
        )

    def _positions(self, at: NDArray[np.int32], count: int, used: NDArray[np.bool_]) -> Positions:
        heads = self.heads
        if not count:
            return _no_positions()
        end, stable = heads.end[at], heads.stable[at]
        seen_ms = self.intake.seen_ms[:count]
        passed_ms, exact = heads.passed_ms(at, self.rings.offset[:count, -1])
        for place, held_ms in self._held_ms.items():
            # Until then there was nothing to read for one who waits for transactions to be decided.
            late = (at == place) & (passed_ms >= 0) & (passed_ms < held_ms)
            passed_ms[late] = held_ms
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
        )

    def _commits_read_to(self, used: NDArray[np.bool_]) -> NDArray[np.int64]:
        names = self.slots.names
        if self._homes_known != names:
            partitions = len(self._read_to_ms)
            self._home = np.array([partition_of(name, partitions) for name in names], np.int32)
            self._homes_known = list(names)
        groups = np.where(used, self.slots.group[: len(used)], 0)
        return self._read_to_ms[self._home[groups]]

    def _remade_after(self, at: NDArray[np.int32], seen_ms: NDArray[np.int64]) -> NDArray[np.bool_]:
        found = np.zeros(len(at), np.bool_)
        for place, remade_ms in self._remade_ms.items():
            found |= (at == place) & (seen_ms < remade_ms)
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
    return Positions(none, none, none, none, none, no, none, none, no, none)
