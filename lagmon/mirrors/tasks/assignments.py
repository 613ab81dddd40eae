"""Which task of a mirror is assigned to which partitions, from its worker's configuration topic. Pure.

MirrorMaker assigns all partitions that it sees on the source and that its filters let through. So a partition
that has offsets and no task any more was removed from the filters, or the mirror may not see it any longer.
It is not replicated until it is assigned again. Two cases prove nothing of a partition: there are no tasks at
all (the connector was stopped or deleted, or did not see the source when it started), or the tasks have no
partitions, as those of another kind of connector.

Assignments are kept as they were written, since they are parsed only if something is stalled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.connect.task_deals import TaskDeals
from fleet.wire.tasks import partitions_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    Place = tuple[str, int]  # topic and partition

MOST_CHARACTERS = 64 << 20  # of the assignments of one flow
_FEW = 20  # for so few partitions a search each is faster than parsing all assignments


class MirrorAssignments:
    """Takes in the records of a configuration topic in order; an assignment holds as of its commit."""

    def __init__(self, connector: str) -> None:
        self.connector = connector
        self.dealt_ms = -1  # when the present assignment was committed; -1: unknown
        self._read = False  # whether everything is read that the topic held at the start
        self._deals = TaskDeals(str, connector=connector)
        self._held: Mapping[int, str] = {}
        self._asked: dict[Place, int | None] = {}  # answers from `_held` so far

    def take(self, key: bytes | None, value: bytes | None, at_ms: int) -> None:
        """Take in a record that was written at this time; raises MalformedError for a malformed one."""
        dealt = self._deals.take(key, value)
        if dealt is None:
            return
        if not any(dealt.values()) or sum(map(len, dealt.values())) > MOST_CHARACTERS:
            self._hold({}, -1)
        elif dealt != self._held:
            self._hold(dealt, at_ms)

    def caught_up(self) -> None:
        """Note that the whole topic is read."""
        self._read = True

    def forget(self) -> None:
        """Forget all: the topic is read again, or no longer."""
        self._deals.forget()
        self._hold({}, -1)
        self._read = False

    def _hold(self, dealt: Mapping[int, str], dealt_ms: int) -> None:
        self._held, self.dealt_ms, self._asked = dealt, dealt_ms, {}

    def assigned_tasks(self, places: Iterable[Place]) -> dict[Place, int] | None:
        """Return the task of each of these partitions that has one; None if that is unknown."""
        if not self._held or not self._read:
            return None
        wanted = list(places)
        new = {place for place in wanted if place not in self._asked}
        if new:
            self._asked |= dict.fromkeys(new) | self._find(new)
        return {place: task for place in wanted if (task := self._asked[place]) is not None}

    def _find(self, places: Collection[Place]) -> dict[Place, int]:
        if len(places) > _FEW:
            return {
                place: task
                for task, assigned in self._held.items()
                for place in partitions_in(assigned)
                if place in places
            }
        listed = {task: f",{assigned}," for task, assigned in self._held.items()}
        return {
            (topic, number): task
            for task, text in listed.items()
            for topic, number in places
            if f",{topic}-{number}," in text
        }
