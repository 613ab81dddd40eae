"""Take in what a mirror's worker writes of its tasks: states and assignments, for each flow. Pure.

These are two topics of the worker, each read by a `WorkerTopic`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import MalformedError
from fleet.wire.status import decode_status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lagmon.mirrors.facts import FlowFacts


class StatesIntake:
    """Takes in the records of a status topic; `clean` removes secrets from traces."""

    def __init__(self, flows: Sequence[FlowFacts], clean: Callable[[str], str]) -> None:
        self._flows, self._clean = flows, clean

    def take(self, key: bytes | None, value: bytes | None, at_ms: int) -> None:
        """Take in a record that was written at this time; raises MalformedError."""
        found = decode_status(key, value, clean=self._clean)
        if found is not None:
            for flow in self._flows:
                flow.states.take(found, at_ms)

    def caught_up(self) -> None:
        """Do nothing: the newest records hold at any time."""

    def ended(self) -> None:
        """Keep the states: they are written again, or a poll of Connect is newer."""

    def forget(self) -> None:
        """Forget all states: the topic is read again."""
        for flow in self._flows:
            flow.states.forget()


class AssignmentsIntake:
    """Takes in the records of a configuration topic."""

    def __init__(self, flows: Sequence[FlowFacts]) -> None:
        self._flows = flows

    def take(self, key: bytes | None, value: bytes | None, at_ms: int) -> None:
        """Take in a record that was written at this time; raises MalformedError."""
        wrong: MalformedError | None = None
        for flow in self._flows:
            try:
                flow.assignments.take(key, value, at_ms)
            except MalformedError as error:
                wrong = error
        if wrong is not None:
            raise wrong

    def caught_up(self) -> None:
        """Note that the whole topic is read."""
        for flow in self._flows:
            flow.assignments.caught_up()

    def ended(self) -> None:
        """Forget all: later assignments are not seen."""
        self.forget()

    def forget(self) -> None:
        """Forget all: the topic is read again."""
        for flow in self._flows:
            flow.assignments.forget()
