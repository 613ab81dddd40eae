"""Which task of the mirror carries which partitions of the canary's topic, as its worker wrote it. Pure."""

from __future__ import annotations

from typing import assert_never

from fleet.evidence import TaskEvidence
from fleet.wire_tasks import CONNECTOR, TaskGiven, TasksCommitted, decode_task, partitions_in


class TaskBook:
    """Takes the records of a configuration topic in their order; `tasks` holds as of the last commit."""

    def __init__(self, topic: str) -> None:
        self.tasks: tuple[TaskEvidence, ...] = ()  # those that carry a partition of the topic
        self._topic = topic
        self._given: dict[int, tuple[int, ...]] = {}

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Take in one record; raises MalformedError for one that cannot be read, and knows what it knew."""
        record = decode_task(key, value)
        match record:
            case None:
                pass
            case TaskGiven(task, assigned):
                own = {partition for topic, partition in partitions_in(assigned) if topic == self._topic}
                self._given[task] = tuple(sorted(own))
            case TasksCommitted(tasks):
                # What was given above that number is left over from when there were more tasks.
                self._given = {task: held for task, held in self._given.items() if task < tasks}
                self.tasks = tuple(
                    TaskEvidence(f"{CONNECTOR}-{task}", held)
                    for task, held in sorted(self._given.items())
                    if held
                )
            case _:
                assert_never(record)

    def clear(self) -> None:
        """Know nothing: the topic is gone, or another one."""
        self.tasks = ()
        self._given.clear()
