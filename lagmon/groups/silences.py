"""Partitions of one cluster that a group has been assigned and never committed on. Pure.

They are kept for groups that have committed on other partitions (cluster/owned_places.py). Groups with
members that have not committed at all have no rows and are only counted. Both are recomputed only for groups
with a change of members, assignments or committed partitions, and only once their commits are known.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.cluster.owned_places import OwnedPlaces, overdue
from lagmon.groups.rules.sentences import Facts, silent_text
from lagmon.logs.readable import Readers

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import TypeAlias

    from numpy.typing import NDArray

    from lagmon.cluster.absence import Absence
    from lagmon.cluster.commits import CommitsKnown
    from lagmon.cluster.marks import TopicMarks
    from lagmon.cluster.membership import Owner
    from lagmon.cluster.names import Slots
    from lagmon.cluster.owned_places import Unread
    from lagmon.groups.rules.policy import Policy
    from lagmon.ingest.intake import Intake
    from lagmon.logs.heads import Heads
    from lagmon.logs.readable import Readable

    Silent: TypeAlias = "Mapping[int, tuple[SilentPlace, ...]]"


@dataclass(frozen=True, slots=True)
class SilentPlace:
    """An assigned partition of which it is unknown what its member has read."""

    topic: str
    partition: int
    facts: Facts

    @property
    def name(self) -> tuple[str, int]:
        """Return topic and partition."""
        return self.topic, self.partition

    def sentence(self, owner: Owner | None) -> str:
        """Return the sentence; `owner` is the member with the partition now, None if unknown."""
        who = "" if owner is None else f"{owner.client_id or 'a member'} at {owner.host}"
        return silent_text(who, self.facts)


class Silences:
    """The assigned partitions of one cluster without a commit, from its commits, members and logs."""

    def __init__(
        self,
        intake: Intake,
        heads: Heads,
        *,
        readable: Readable,
        marks: TopicMarks,
        commits: CommitsKnown,
        absence: Absence,
    ) -> None:
        self.owned = OwnedPlaces()
        self.groups: set[str] = set()  # with members, and without any commit
        self._intake = intake
        self._heads = heads
        self._readable = readable
        self._marks = marks
        self._commits = commits
        self._absence = absence
        self._awaiting: set[str] = set()  # groups to recompute as soon as their commits are known
        self._unplaced: set[str] = set()  # groups with assigned partitions that no list of topics has
        self._topics: Mapping[str, int] = {}  # the last known topics, with their numbers of partitions
        self._names: Mapping[str, str] = {}  # the last known names of topics by id

    def follow(self, topics: Mapping[str, int]) -> None:
        """Recompute the groups that changed; `topics` are all topics of the cluster."""
        slots, membership = self._intake.slots, self._intake.membership
        for changed in (slots.changed, membership.changed):
            self._awaiting |= changed
            changed.clear()
        shows_others = topics is not self._topics and topics != self._topics
        if shows_others or membership.names is not self._names:
            self._awaiting |= self._unplaced
        self._topics, self._names = topics, membership.names
        members, known_ms = membership.members, self._commits.of_group
        due = {group for group in self._awaiting if members(group) <= 0 or known_ms(group) >= 0}
        if not due:
            return
        self._awaiting -= due
        self._unplaced -= due
        self.groups = (self.groups - due) | {group for group in due if self._commits_nothing(group)}
        held = _held(slots, due)
        self.owned.put(
            {group: self._given(group) - held[group] if group in held else () for group in due},
            anew=membership.emptied & due,
        )
        membership.emptied -= due

    def forget_all(self) -> None:
        """Forget all groups."""
        self.owned = OwnedPlaces()
        for known in (self.groups, self._awaiting, self._unplaced):
            known.clear()

    def drop_places(self, places: Collection[int]) -> None:
        """Forget these places, whose topics were removed; a later topic of the name is another one."""
        self._unplaced |= self.owned.drop_places(places)

    def forget_records(self, places: Collection[int]) -> None:
        """Do not count earlier records of these places: their topics were re-created."""
        self.owned.forget_records(places)

    def note_poll(self, topics: Mapping[str, int], *, at_ms: int, read_ms: int) -> None:
        """Record a poll of log ends, after `heads` has it."""
        self.follow(topics)
        if len(self.owned):
            at = self.owned.place
            answered = self._heads.sampled_ms[at] >= at_ms
            self.owned.note_poll(self._heads.end[at], answered, at_ms=at_ms, read_ms=max(at_ms, read_ms))

    def readers(self, now_ms: int) -> Readers:
        """Return the members that may have something to read, for the checks of log tails."""
        unread = self._unread()
        far = np.zeros(len(unread.place), np.bool_)
        return Readers(unread.place, unread.first, unread.head, now_ms - unread.since_ms, far)

    def see(self, topics: Mapping[str, int], *, now_ms: int, policy: Policy) -> Silent:
        """Return the overdue places by the number of their group, sorted."""
        self.follow(topics)
        unread = self._unread()
        if not len(unread):
            return {}
        unread = self._dated(unread)
        names = [self.owned.groups[row] for row in unread.rows.tolist()]
        known_ms = {name: self._commits.of_group(name) for name in set(names)}
        told = overdue(
            unread,
            np.array([known_ms[name] for name in names], np.int64),
            away=(self._absence.left_ms, self._absence.back_ms),
            now_ms=now_ms,
            stopped_after_ms=policy.stopped_after_ms,
            stale_after_ms=policy.stale_after_ms,
        )
        return self._by_group(unread.only(told), now_ms)

    def _by_group(self, unread: Unread, now_ms: int) -> Silent:
        found: defaultdict[int, list[SilentPlace]] = defaultdict(list)
        columns = (unread.rows, unread.place, unread.since_ms, unread.first, unread.head, unread.written_ms)
        for row, place, since_ms, first, head, written_ms in zip(
            *(one.tolist() for one in columns), strict=True
        ):
            number = self._intake.slots.number(self.owned.groups[row])
            if number is not None:
                facts = Facts(now_ms, head=head, since_ms=since_ms, before=head - first, after=written_ms)
                found[number].append(SilentPlace(*self._intake.places.name(place), facts))
        return {
            number: tuple(sorted(places, key=lambda one: (one.topic, one.partition)))
            for number, places in found.items()
        }

    def _unread(self) -> Unread:
        """Return the rows with records after the group came to own the place."""
        at = self.owned.place
        unread = self.owned.written(self._heads.head(at))
        return unread.read_from(self._readable.readable_from(unread.place, unread.first))

    def _dated(self, unread: Unread) -> Unread:
        """Return the rows with the time at which the first record could be read."""
        written_ms, _ = self._heads.passed_ms(unread.place, unread.first)
        if self._marks.held:
            held_ms = self._marks.held_ms(unread.place, unread.first, len(self._heads.end))
            written_ms = np.where(written_ms >= 0, np.maximum(written_ms, held_ms), written_ms)
        return unread.dated(written_ms)

    def _given(self, group: str) -> set[int]:
        """Return the assigned places of a group, without hidden ones."""
        found: set[int] = set()
        for topic, partitions in self._intake.membership.given(group):
            count = self._topics.get(topic, 0)
            if self._intake.hidden(group, topic):
                continue
            places = self._intake.places.of(topic)
            if max(partitions, default=-1) < count:
                found.update([places[one] for one in partitions])
            else:
                found.update([places[one] for one in partitions if one < count])
                self._unplaced.add(group)
        return found

    def _commits_nothing(self, group: str) -> bool:
        """Return whether a consumer group has members and never committed on any topic."""
        intake = self._intake
        return (
            intake.membership.members(group) > 0
            and group not in intake.membership.kinds
            and not intake.slots.holds(group)
            and not intake.membership.committed(group)
            and intake.wanted(group, None)
            and not intake.hidden(group, None)
        )


def counts_of(silent: Silent, groups: int) -> NDArray[np.int64] | None:
    """Return by group the number of its silent places, None if none has any."""
    if not silent:
        return None
    counts = np.zeros(groups, np.int64)
    counts[list(silent)] = [len(places) for places in silent.values()]
    return counts


def _held(slots: Slots, groups: Collection[str]) -> dict[str, set[int]]:
    """Return by group the places with an offset; groups without any are left out."""
    numbers = {number: name for name in groups if (number := slots.number(name)) is not None}
    wanted = np.zeros(slots.group_numbers + 1, np.bool_)  # with one for slots without a group
    wanted[list(numbers)] = True
    group, place = slots.group[: len(slots)], slots.place[: len(slots)]
    rows = np.flatnonzero(wanted[group])
    found: dict[str, set[int]] = {name: set() for name in numbers.values()}
    for number, at in zip(group[rows].tolist(), place[rows].tolist(), strict=True):
        found[numbers[number]].add(at)
    return found
