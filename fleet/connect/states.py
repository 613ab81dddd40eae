"""States of connectors and their tasks, from a Connect worker's REST API. Pure.

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


def parse_states(
    document: Any, names: Collection[str], *, clean: Callable[[str], str] = str
) -> dict[str, tuple[TaskState, ...]]:
    """Return the states of the existing ones of these connectors by name: its own, then its tasks'.

    `clean` removes secrets from traces before they are cut, since it cannot find half a secret.
    Raises MalformedError with a clause if it is not such an answer.
    """
    if not isinstance(document, dict):
        raise MalformedError("not a list of connectors with their status")
    return {name: tuple(_states(name, document[name], clean)) for name in names if name in document}


def _states(name: str, document: Any, clean: Callable[[str], str]) -> Iterator[TaskState]:
    status = document.get("status") if isinstance(document, dict) else None
    tasks = status.get("tasks") if isinstance(status, dict) else None
    if not isinstance(status, dict) or not isinstance(tasks, list):
        raise MalformedError("not a list of connectors with their status")
    yield _state(name, None, status.get("connector"), clean)
    for each in tasks[:MOST_TASKS]:
        number = each.get("id") if isinstance(each, dict) else None
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise MalformedError("a task without a number")
        yield _state(name, number, each, clean)


def _state(name: str, task: int | None, document: Any, clean: Callable[[str], str]) -> TaskState:
    state = document.get("state") if isinstance(document, dict) else None
    if not isinstance(state, str) or not state.isalpha() or len(state) > _LONGEST_STATE:
        raise MalformedError("a state that is not a word")
    trace = document.get("trace")
    return TaskState(name, task, state, first_line(clean(trace)) if isinstance(trace, str) else "")
