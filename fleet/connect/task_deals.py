"""What a mirror's tasks are to carry, by the records of a worker's configuration topic in their order. Pure.

What was given to tasks holds once a commit follows it, which says how many tasks there are. Where something
of that is missing, because the topic was cut or a record cannot be read, nothing is known from then on until
all is given anew, as Connect does before each commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, assert_never

from fleet.errors import MalformedError
from fleet.wire.tasks import CONNECTOR, TaskGiven, TasksCommitted, decode_task

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_Kept = TypeVar("_Kept")


class TaskDeals(Generic[_Kept]):
    """Keeps of each task of a connector what `keep` makes of `t-0,t-2,u-1`."""

    def __init__(self, keep: Callable[[str], _Kept], *, connector: str = CONNECTOR) -> None:
        self._connector = connector
        self._keep = keep
        self._given: dict[int, _Kept] = {}

    def take(self, key: bytes | None, value: bytes | None) -> Mapping[int, _Kept] | None:
        """Take in one record; return what holds from here on by task, empty where not known, if it says so.

        Raises MalformedError for one that cannot be read.
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
                # What was given above that number is left over from when there were more tasks.
                self._given = {task: kept for task, kept in self._given.items() if task < tasks}
                if len(self._given) < tasks:
                    self._given.clear()
                return dict(self._given)
            case _:
                assert_never(record)

    def forget(self) -> None:
        """Know nothing: the topic is gone, another one, or read anew."""
        self._given.clear()
