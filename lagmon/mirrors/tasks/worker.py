"""What a mirror's worker tells of its tasks: their states, and what they carry, for each flow. Pure.

Two topics of the worker, each read by a `WorkerTopic`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import MalformedError
from fleet.wire.status import decode_status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lagmon.mirrors.facts import FlowFacts


class StatesTold:
    """Takes the records of a status topic. What a trace says passes through `clean`: it takes secrets out."""

    def __init__(self, flows: Sequence[FlowFacts], clean: Callable[[str], str]) -> None:
        self._flows, self._clean = flows, clean

    def take(self, key: bytes | None, value: bytes | None, at_ms: int) -> None:
        """Take in a record that was written at this time; raises MalformedError."""
        found = decode_status(key, value, clean=self._clean)
        if found is not None:
            for flow in self._flows:
                flow.states.take(found, at_ms)

    def caught_up(self) -> None:
        """Take no note of it: what the newest records say holds at any time."""

    def ended(self) -> None:
        """Know what is known: it will be told again, or a look at Connect is newer."""

    def forget(self) -> None:
        """Know nothing: the topic is read anew."""
        for flow in self._flows:
            flow.states.forget()


class AssignmentsTold:
    """Takes the records of a configuration topic."""

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
        """Take note that all is read that the topic held."""
        for flow in self._flows:
            flow.assignments.caught_up()

    def ended(self) -> None:
        """Know nothing: what is dealt out from here on is not seen."""
        self.forget()

    def forget(self) -> None:
        """Know nothing: the topic is read anew."""
        for flow in self._flows:
            flow.assignments.forget()
