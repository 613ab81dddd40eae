"""Numbers of groups, topics and partitions of one cluster: slots and places.

A *place* is a topic's partition, a *slot* a group's position on one. Both are small whole numbers, used as
indexes of arrays; freed numbers are reused.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.growing import more_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

_FIRST = 1024
_AT_ONCE = 64  # places that are claimed together


class Places:
    """The partitions of a cluster's topics, by numbers from `claim`; `release` frees them."""

    def __init__(
        self,
        claim: Callable[[int], NDArray[np.int32]],
        release: Callable[[NDArray[np.int32]], None],
    ) -> None:
        self._claim = claim
        self._release = release
        self._of_topic: dict[str, array[int]] = {}  # by partition
        self._topics: list[str] = []  # by place
        self._partitions = array("i")
        self._spare: list[int] = []
        self.listed = 0  # number of partitions of the cluster, as last listed
        self._listed_of: Mapping[str, int] = {}  # the same by topic
        self._used = 0

    @property
    def topics(self) -> list[str]:
        """Return the names of all topics, in order."""
        return sorted(self._of_topic)

    def take(self, topic: str, partition: int) -> int:
        """Return the place of a partition; create it and those of lower partitions if needed."""
        known = self._of_topic.get(topic)
        if known is None:
            known = self._of_topic[topic] = array("i")
        while len(known) <= partition:
            known.append(self._new(topic, len(known)))
        return known[partition]

    def unlisted(self, topic: str, partition: int) -> int:
        """Return how many places there would be beyond the cluster's partitions, with this one."""
        return self._used + max(0, partition + 1 - self.count(topic)) - self.listed

    def of(self, topic: str) -> list[int]:
        """Return the places of a topic in the order of its partitions; none if it is not known."""
        return list(self._of_topic.get(topic, ()))

    def count(self, topic: str) -> int:
        """Return how many places a topic has."""
        return len(self._of_topic.get(topic, ()))

    def note_listed(self, partitions: Mapping[str, int]) -> None:
        """Record the number of partitions of each topic, 0 if not known."""
        self._listed_of, self.listed = partitions, sum(partitions.values())

    def listed_of(self, topic: str) -> list[int]:
        """Return the places of the partitions that a topic has, as last listed.

        More places exist if it was re-created with fewer partitions, or if a group committed on one beyond
        them.
        """
        found, count = self.of(topic), self._listed_of.get(topic, 0)
        return found[:count] if 0 < count < len(found) else found

    def name(self, place: int) -> tuple[str, int]:
        """Return topic and partition of a place."""
        return self._topics[place], self._partitions[place]

    def topics_of(self, places: NDArray[np.int32]) -> set[str]:
        """Return the topics of these places; -1 is none, and duplicates are allowed."""
        there = np.flatnonzero(np.bincount(places + 1)[1:]) if len(places) else places
        topics = self._topics
        return {topics[place] for place in there.tolist()}

    def drop(self, topics: Iterable[str]) -> list[int]:
        """Forget topics; return their places, which will be reused."""
        gone = [place for topic in topics for place in self._of_topic.pop(topic, ())]
        self._used -= len(gone)
        for place in gone:
            self._topics[place] = ""
        if gone:
            self._release(np.array(gone, np.int32))  # together: each release searches all entries
        return gone

    def _new(self, topic: str, partition: int) -> int:
        if not self._spare:
            self._spare = sorted(self._claim(_AT_ONCE).tolist(), reverse=True)
        place = self._spare.pop()
        while place >= len(self._topics):
            self._topics.append("")
            self._partitions.append(-1)
        self._topics[place], self._partitions[place] = topic, partition
        self._used += 1
        return place


class Slots:
    """The positions of groups, by number: `group` and `place` of each, -1 for a free slot.

    `hidden` positions are kept for mirrors only and do not belong to the group's own. They have a group
    number of their own, so a group with both kinds has two numbers.
    """

    def __init__(self) -> None:
        self.group = np.full(_FIRST, -1, np.int32)
        self.place = np.full(_FIRST, -1, np.int32)
        self.generations = np.zeros(_FIRST, np.int32)  # how often each slot was taken and freed
        self._count = 0
        self._free: list[int] = []
        self._groups: list[str] = []  # by number
        self._number: dict[str, int] = {}
        self._hidden: dict[str, int] = {}  # numbers of hidden positions, by group
        self._free_groups: list[int] = []
        self._held: list[int] = []  # number of slots, by group
        self.begun = 0  # how many groups have begun in total
        self._begun: list[int] = []  # by group, its ordinal
        self._hides: set[int] = set()  # the same numbers
        # groups with new or removed positions, until a follower has taken them
        self.changed: set[str] = set()

    def __len__(self) -> int:
        """Return one more than the largest slot ever taken."""
        return self._count

    @property
    def used(self) -> int:
        """Return how many positions there are."""
        return self._count - len(self._free)

    def groups(self) -> Iterator[tuple[int, str]]:
        """Yield number and name of every group with a visible position."""
        return ((number, name) for name, number in self._number.items())

    def every_group(self) -> Iterator[tuple[int, str]]:
        """Yield number and name of every group with a position, hidden ones included."""
        both = (self._number, self._hidden)
        return ((number, name) for numbers in both for name, number in numbers.items())

    def shows(self, number: int) -> bool:
        """Return whether positions with this group number are visible."""
        return number not in self._hides

    @property
    def group_numbers(self) -> int:
        """Return one more than the largest group number ever used."""
        return len(self._groups)

    @property
    def names(self) -> list[str]:
        """Return the names of groups by number, also of free numbers; read-only."""
        return self._groups

    def begun_as(self, number: int) -> int:
        """Return the ordinal of the group that has this number now."""
        return self._begun[number]

    def number(self, group: str) -> int | None:
        """Return the number of a group, None if it has no visible position."""
        return self._number.get(group)

    def holds(self, group: str) -> bool:
        """Return whether a group has a position, hidden or not."""
        return group in self._number or group in self._hidden

    def group_name(self, number: int) -> str:
        """Return the name of a group by its number."""
        return self._groups[number]

    def of(self, group: str) -> NDArray[np.int32]:
        """Return the visible slots of a group."""
        return self._slots_of(self._number.get(group))

    def held_by(self, group: str) -> NDArray[np.int32]:
        """Return the slots of a group, the hidden ones last."""
        numbers = (self._number.get(group), self._hidden.get(group))
        return np.concatenate([self._slots_of(number) for number in numbers])

    def _slots_of(self, number: int | None) -> NDArray[np.int32]:
        if number is None:
            return np.zeros(0, np.int32)
        return np.flatnonzero(self.group[: self._count] == number).astype(np.int32)

    def take(self, group: str, place: int, *, hidden: bool = False) -> int:
        """Return a new slot for a group at a place; the caller knows that there is none yet."""
        number = (self._hidden if hidden else self._number).get(group)
        if number is None:
            number = self._begin(group, hidden=hidden)
        if self._free:
            slot = self._free.pop()
        else:
            slot = self._count
            self._count += 1
            self._grow()
        self.group[slot], self.place[slot] = number, place
        self.generations[slot] += 1
        self._held[number] += 1
        self.changed.add(group)
        return slot

    def drop(self, slot: int) -> None:
        """Free a slot; a group number without slots is reused."""
        number = int(self.group[slot])
        self.group[slot] = self.place[slot] = -1
        self.generations[slot] += 1
        self._free.append(slot)
        self._held[number] -= 1
        self.changed.add(self._groups[number])
        if not self._held[number]:
            del (self._number if self.shows(number) else self._hidden)[self._groups[number]]
            self._hides.discard(number)
            self._free_groups.append(number)

    def _begin(self, group: str, *, hidden: bool) -> int:
        if self._free_groups:
            number = self._free_groups.pop()
            self._groups[number] = group
        else:
            number = len(self._groups)
            self._groups.append(group)
            self._held.append(0)
            self._begun.append(0)
        self.begun += 1
        self._begun[number] = self.begun
        (self._hidden if hidden else self._number)[group] = number
        if hidden:
            self._hides.add(number)
        return number

    def _grow(self) -> None:
        if self._count > len(self.group):
            rows = len(self.group) * 5 // 4
            more_rows(self, "group", rows, -1)
            more_rows(self, "place", rows, -1)
            more_rows(self, "generations", rows, 0)
