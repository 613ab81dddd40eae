"""What the mirror's own worker says of its tasks, as far as it can be believed: FAILED and UNASSIGNED. Pure.

RUNNING stands there of a mirror that hangs or was killed, too (mm2.md, Seen on 4.3.0, 4), so it only ends
what was said before. UNASSIGNED is what an orderly stop leaves behind: it explains a standstill and is none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lagmon.rules_sentences import instant_text

if TYPE_CHECKING:
    from fleet.wire_status import TaskState

BELIEVED = FAILED, UNASSIGNED = "FAILED", "UNASSIGNED"
MOST_TASKS = 10_000


@dataclass(frozen=True, slots=True)
class Trouble:
    """A task (the connector itself where it is None) that its worker says does not run."""

    task: int | None
    state: str
    at_ms: int
    trace: str

    @property
    def name(self) -> str:
        """Return what it is called in a sentence."""
        return "The connector" if self.task is None else f"Task {self.task}"


@dataclass(slots=True)
class MirrorStates:
    """The states of one flow's source connector and its tasks."""

    connector: str
    malformed: int = 0
    _troubles: dict[int | None, Trouble] = field(default_factory=dict)

    def take(self, told: TaskState, at_ms: int) -> None:
        """Take in a state in the order in which it was written."""
        if told.connector != self.connector:
            return
        before = self._troubles.pop(told.task, None)
        if told.state in BELIEVED and len(self._troubles) < MOST_TASKS:
            since_ms = before.at_ms if before is not None and before.state == told.state else at_ms
            self._troubles[told.task] = Trouble(told.task, told.state, since_ms, told.trace)

    def forget(self) -> None:
        """Know nothing: they are read anew."""
        self._troubles.clear()

    def in_state(self, state: str) -> list[Trouble]:
        """Return those in this state, the newest first."""
        found = [one for one in self._troubles.values() if one.state == state]
        return sorted(found, key=lambda one: (-one.at_ms, -1 if one.task is None else one.task))

    def sentence(self, state: str) -> str:
        """Return what the worker says of those in this state, "" where there are none."""
        found = self.in_state(state)
        if not found:
            return ""
        newest = found[0]
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        trace = f": {newest.trace}" if newest.trace else ""
        said = f"{newest.name} of {self.connector} is {state} since {instant_text(newest.at_ms)}{more}"
        return f"{said}, as its worker tells{trace if trace.endswith('.') else f'{trace}.'}"
