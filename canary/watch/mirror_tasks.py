"""Task that replicates each partition of the canary's topic, as its worker wrote it. Pure."""

from __future__ import annotations

from fleet.connect.task_deals import TaskDeals
from fleet.verdicts.evidence import TaskEvidence
from fleet.wire.tasks import CONNECTOR, partitions_in


class TaskAssignments:
    """Reads the records of a configuration topic in order; `tasks` is as of the last commit."""

    def __init__(self, topic: str) -> None:
        self.tasks: tuple[TaskEvidence, ...] = ()  # those with a partition of the topic
        self._topic = topic
        self._deals = TaskDeals(self._own)

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Process one record; raises MalformedError if it cannot be parsed."""
        dealt = self._deals.take(key, value)
        if dealt is not None:
            self.tasks = tuple(
                TaskEvidence(f"{CONNECTOR}-{task}", held) for task, held in sorted(dealt.items()) if held
            )

    def clear(self) -> None:
        """Reset: the topic was deleted or re-created."""
        self.tasks = ()
        self._deals.forget()

    def _own(self, assigned: str) -> tuple[int, ...]:
        return tuple(sorted({number for topic, number in partitions_in(assigned) if topic == self._topic}))
