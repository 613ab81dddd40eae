"""Which task of a mirror carries which partitions, as its worker's configuration topic has it. Pure.

MirrorMaker deals out all partitions that it sees on the source and that its filters let through. So one of
which it has written offsets and which no task carries any more was taken out of these, or it may not see it
any longer: it is not copied until it is dealt out again. Where there are no tasks at all (the connector was
stopped or deleted, or did not see the source when it began), or these are said to carry nothing, as those of
another kind of connector, that tells nothing of a partition.

What was dealt out is kept as it was written, since it is asked for only where something stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.connect.task_deals import TaskDeals
from fleet.wire.tasks import partitions_in

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    Place = tuple[str, int]  # topic and partition

MOST_CHARACTERS = 64 << 20  # of what is dealt out, of one flow
_FEW = 20  # partitions that are looked for one by one, which is quicker than reading all that is dealt out


class MirrorAssignments:
    """Takes the records of a configuration topic in their order; what was given holds as of a commit."""

    def __init__(self, connector: str) -> None:
        self.connector = connector
        self.dealt_ms = -1  # when what holds was committed, -1 where that is not known
        self._read = False  # whether all is known that the topic held when its reading began
        self._deals = TaskDeals(str, connector=connector)
        self._held: Mapping[int, str] = {}
        self._asked: dict[Place, int | None] = {}  # by place what was asked of `_held` before

    def take(self, key: bytes | None, value: bytes | None, at_ms: int) -> None:
        """Take in a record that was written at this time; raises MalformedError for one that is none."""
        dealt = self._deals.take(key, value)
        if dealt is None:
            return
        if not any(dealt.values()) or sum(map(len, dealt.values())) > MOST_CHARACTERS:
            self._hold({}, -1)
        elif dealt != self._held:
            self._hold(dealt, at_ms)

    def caught_up(self) -> None:
        """Take note that all is read that the topic held."""
        self._read = True

    def forget(self) -> None:
        """Know nothing: the topic is read anew, or no longer."""
        self._deals.forget()
        self._hold({}, -1)
        self._read = False

    def _hold(self, dealt: Mapping[int, str], dealt_ms: int) -> None:
        self._held, self.dealt_ms, self._asked = dealt, dealt_ms, {}

    def carriers(self, places: Iterable[Place]) -> dict[Place, int] | None:
        """Return the task of each of these partitions that one carries; None where that is not known."""
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
