"""The states of a mirror's tasks, as its worker reports them, as far as they can be trusted. Pure.

FAILED and UNASSIGNED can be trusted. RUNNING also stays in the topic of a mirror that hangs or was killed
(mm2.md, Seen on 4.3.0, 4), so it only ends an earlier state. UNASSIGNED is left by an orderly stop: it
explains a stall and is none. PAUSED and STOPPED are what an operator requested.

The worker reports states in its status topic, record by record, and at its REST address, all at once. The
newer of the two holds for each task. If both agree, the record shows since when. A pause by an operator is
believed only from the REST address, which shows the present.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING

from lagmon.groups.rules.sentences import instant_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fleet.wire.status import TaskState

BELIEVED = FAILED, UNASSIGNED = "FAILED", "UNASSIGNED"
HALTED = PAUSED, STOPPED = "PAUSED", "STOPPED"  # by an operator, until resumed
NOT_RUNNING = (*BELIEVED, *HALTED)
MOST_TASKS = 10_000


class Start(Enum):
    """How the start of a state is known."""

    WRITTEN = "its record shows it"
    SEEN = "one poll found another state, and the next one this"
    BEFORE = "the first poll found it so: it may be so for longer"


@dataclass(frozen=True, slots=True)
class Trouble:
    """A task (the connector itself if None) that its worker reports as not running."""

    task: int | None
    state: str
    at_ms: int
    trace: str
    start: Start = Start.WRITTEN

    @property
    def name(self) -> str:
        """Return its name for a sentence."""
        return "The connector" if self.task is None else f"Task {self.task}"

    @property
    def since(self) -> str:
        """Return since when it is so, for a sentence."""
        return f"since {instant_text(self.at_ms)}{' or longer' if self.start is Start.BEFORE else ''}"


@dataclass(slots=True)
class MirrorStates:
    """The states of one flow's source connector and its tasks."""

    connector: str
    _troubles: dict[int | None, Trouble] = field(default_factory=dict)  # from the status topic
    _written_ms: dict[int | None, int] = field(default_factory=dict)  # when the topic last reported each
    _by_rest: dict[int | None, Trouble] = field(default_factory=dict)  # from the REST address
    _rest_ms: int = -1  # when that was, -1 if never

    def take(self, state: TaskState, at_ms: int) -> None:
        """Take in a state of the status topic, in the order of the records."""
        if state.connector != self.connector:
            return
        if state.task in self._written_ms or len(self._written_ms) < MOST_TASKS:
            self._written_ms[state.task] = at_ms
        before = self._troubles.pop(state.task, None)
        if state.state in NOT_RUNNING and len(self._troubles) < MOST_TASKS:
            since_ms = before.at_ms if before is not None and before.state == state.state else at_ms
            self._troubles[state.task] = Trouble(state.task, state.state, since_ms, state.trace)

    def take_rest(self, state: Iterable[Trouble], at_ms: int) -> None:
        """Take in all that does not run, as the REST address reported it at an instant."""
        self._by_rest, self._rest_ms = {one.task: one for one in islice(state, MOST_TASKS)}, at_ms

    def forget(self) -> None:
        """Forget the status topic: it is read again."""
        self._troubles.clear()
        self._written_ms.clear()

    def forget_rest(self) -> None:
        """Forget the REST answer: it is too old, or polls have ended."""
        self._by_rest, self._rest_ms = {}, -1

    def in_state(self, *states: str) -> list[Trouble]:
        """Return the tasks in one of these states, newest first."""
        tasks = dict.fromkeys((*self._troubles, *self._by_rest))
        present = [one for one in map(self._present, tasks) if one is not None]
        found = [one for one in present if one.state in states]
        return sorted(found, key=lambda one: (-one.at_ms, -1 if one.task is None else one.task))

    def _present(self, task: int | None) -> Trouble | None:
        """Return the newer of the two reports on a task."""
        written, by_rest = self._troubles.get(task), self._by_rest.get(task)
        if written is not None and by_rest is not None and written.state == by_rest.state:
            return written
        if self._rest_ms >= 0 and self._written_ms.get(task, -1) <= self._rest_ms:
            return by_rest
        return None if written is not None and written.state in HALTED else written

    def sentence(self, state: str) -> str:
        """Return which tasks are in this state, "" if none."""
        found = self.in_state(state)
        if not found:
            return ""
        newest = found[0]
        trace = f": {newest.trace}" if newest.trace else ""
        opening = f"{newest.name} of {self.connector} is {state} {newest.since}{_more(found)}"
        return f"{opening}{trace if trace.endswith('.') else f'{trace}.'}"

    def halted(self) -> Trouble | None:
        """Return what an operator halted: the connector if it is, or the newest such task."""
        found = self.in_state(*HALTED)
        return next((one for one in found if one.task is None), found[0] if found else None)

    def halted_sentence(self) -> str:
        """Return what is halted, "" if nothing is."""
        one = self.halted()
        if one is None:
            return ""
        if one.task is None:
            opening = f"The connector {self.connector} is {one.state} {one.since}"
            return f"{opening}: it replicates nothing until it is resumed."
        more = _more(self.in_state(*HALTED))
        opening = f"{one.name} of {self.connector} is {one.state} {one.since}{more}"
        return f"{opening}: its partitions do not move until it is resumed."


def _more(found: Sequence[Trouble]) -> str:
    return f", and {len(found) - 1} more" if len(found) > 1 else ""
