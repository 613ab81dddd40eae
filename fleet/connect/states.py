"""What a Connect worker's REST address says of connectors and their tasks while they run. Pure.

The answer to GET /connectors?expand=status, as recorded from Kafka 4.3.0 in tests/mirrorwatch/golden_connect:

    {"mirror-source": {"status": {"name": "mirror-source", "connector": {"state": "RUNNING", ...},
                                  "tasks": [{"id": 0, "state": "FAILED", "trace": "org.apache...", ...}]}}}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError
from fleet.wire.status import TaskState, first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

MOST_TASKS = 10_000  # of one connector
_LONGEST_STATE = 20


def told_states(
    document: Any, names: Collection[str], *, clean: Callable[[str], str] = str
) -> dict[str, tuple[TaskState, ...]]:
    """Return the states of those of these connectors that there are, by name: its own, then its tasks'.

    Traces pass through `clean`, which takes secrets out, before they are cut: half a secret is none to it.
    Raises MalformedError, with half a sentence, for what is no such answer.
    """
    if not isinstance(document, dict):
        raise MalformedError("it is no list of connectors with their status")
    return {name: tuple(_states(name, document[name], clean)) for name in names if name in document}


def _states(name: str, told: Any, clean: Callable[[str], str]) -> Iterator[TaskState]:
    status = told.get("status") if isinstance(told, dict) else None
    tasks = status.get("tasks") if isinstance(status, dict) else None
    if not isinstance(status, dict) or not isinstance(tasks, list):
        raise MalformedError("it is no list of connectors with their status")
    yield _state(name, None, status.get("connector"), clean)
    for each in tasks[:MOST_TASKS]:
        number = each.get("id") if isinstance(each, dict) else None
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise MalformedError("a task in it has no number")
        yield _state(name, number, each, clean)


def _state(name: str, task: int | None, told: Any, clean: Callable[[str], str]) -> TaskState:
    state = told.get("state") if isinstance(told, dict) else None
    if not isinstance(state, str) or not state.isalpha() or len(state) > _LONGEST_STATE:
        raise MalformedError("a state in it is no word")
    trace = told.get("trace")
    return TaskState(name, task, state, first_line(clean(trace)) if isinstance(trace, str) else "")
