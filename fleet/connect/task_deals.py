"""Partitions of a mirror's tasks, from the records of a worker's configuration topic. Pure.

An assignment is valid once a commit record with the number of tasks follows it. If a part
is missing, because the topic was cut or a record cannot be read, nothing is known until
Connect writes a complete assignment again, as it does before each commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, assert_never

from fleet.errors import MalformedError
from fleet.wire.tasks import CONNECTOR, TaskGiven, TasksCommitted, decode_task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Kept = TypeVar("_Kept")


class TaskDeals(Generic[_Kept]):
    """Keeps the result of `keep` for the assignment (`t-0,t-2,u-1`) of each task of a connector."""

    def __init__(self, keep: Callable[[str], _Kept], *, connector: str = CONNECTOR) -> None:
        self._connector = connector
        self._keep = keep
        self._given: dict[int, _Kept] = {}

    def take(self, key: bytes | None, value: bytes | None) -> Mapping[int, _Kept] | None:
        """Process one record; return the valid assignments by task after a commit, else None.

        Raises MalformedError if it cannot be parsed.
        """
        try:
            record = decode_task(key, value, connector=self._connector)
        except MalformedError:
            self._given.clear()
            raise
        match record:
            case None:
                return None
            case TaskGiven(task, assigned):
                self._given[task] = self._keep(assigned)
                return None
            case TasksCommitted(tasks):
                # Assignments above that number are from a time with more tasks.
                self._given = {task: kept for task, kept in self._given.items() if task < tasks}
                if len(self._given) < tasks:
                    self._given.clear()
                return dict(self._given)
            case _:
                assert_never(record)

    def forget(self) -> None:
        """Reset: the topic was deleted, re-created, or is read again."""
        self._given.clear()
