"""Which task of a mirror carries which partitions, as its worker's configuration topic has it. Pure.

MirrorMaker deals all partitions out that its filter lets through and that it has found. So a partition of
which it has written offsets and which no task carries any more was taken out of the filter, or another
connector's configuration holds: it is not copied until it is dealt out again.

What was dealt out is kept as it was written, since it is asked for only where something stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from fleet.wire_tasks import TaskGiven, TasksCommitted, decode_task, partitions_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    Place = tuple[str, int]  # topic and partition

MOST_CHARACTERS = 64 << 20  # of what is dealt out, of one flow


@dataclass(slots=True)
class MirrorAssignments:
    """Takes the records of a configuration topic in their order; what was given holds as of a commit."""

    connector: str
    since_ms: int = -1  # when what holds was committed, -1 where that is not known
    read: bool = False  # whether all is known that the topic held when its reading began
    _given: dict[int, str] = field(default_factory=dict)
    _held: dict[int, str] = field(default_factory=dict)
    _asked: tuple[frozenset[Place], dict[Place, int]] | None = None  # what was asked last, and the answer

    def take(self, key: bytes | None, value: bytes | None, at_ms: int) -> None:
        """Take in a record that was written at this time; raises MalformedError, and knows what it knew."""
        record = decode_task(key, value, connector=self.connector)
        match record:
            case None:
                pass
            case TaskGiven(task, assigned):
                self._given[task] = assigned
                if sum(map(len, self._given.values())) > MOST_CHARACTERS:
                    self._given.clear()  # so it is not known from the next commit on
            case TasksCommitted(tasks):
                # What was given above that number is left over from when there were more tasks.
                self._given = {task: said for task, said in self._given.items() if task < tasks}
                if len(self._given) < tasks:  # the topic was cut, or too much was given
                    self._given.clear()
                    self._hold({}, -1)
                elif self.since_ms < 0 or self._held != self._given:
                    self._hold(dict(self._given), at_ms)
            case _:
                assert_never(record)

    def forget(self) -> None:
        """Know nothing: the topic is read anew."""
        self._given.clear()
        self._hold({}, -1)
        self.read = False

    def _hold(self, given: dict[int, str], since_ms: int) -> None:
        self._held, self.since_ms, self._asked = given, since_ms, None

    def carriers(self, places: Iterable[Place]) -> dict[Place, int] | None:
        """Return the task of each of these partitions that one carries; None where that is not known."""
        if self.since_ms < 0 or not self.read:
            return None
        wanted = frozenset(places)
        if self._asked is None or self._asked[0] != wanted:
            found = {
                place: task
                for task, assigned in self._held.items()
                for place in partitions_in(assigned)
                if place in wanted
            }
            self._asked = wanted, found
        return self._asked[1]
