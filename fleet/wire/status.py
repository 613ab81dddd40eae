"""Read what a Connect worker writes of its connectors and tasks into its status topic.

Schemaless JSON under plain text keys (KafkaStatusBackingStore), as seen on 4.3.0:

    status-connector-MirrorSourceConnector    {"state": "RUNNING", "worker_id": "host:port", "generation": 3}
    status-task-MirrorSourceConnector-0       {"state": "FAILED", "trace": "org.apache...: why", ...}

A null value removes the state: the task was deleted. `status-topic-...` records are about other things.
A trace is many lines of Java; its first says what was wrong, and it alone is kept.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.errors import MalformedError

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_VALUE_BYTES = 1 << 20
MAX_TRACE_CHARS = 300
_TASK, _CONNECTOR = "status-task-", "status-connector-"
_MAX_DIGITS = 6


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of a task, or of a connector itself (`task` is None); `state` is "" if it was deleted."""

    connector: str
    task: int | None
    state: str
    trace: str = ""  # its first line


def decode_status(
    key: bytes | None, value: bytes | None, *, clean: Callable[[str], str] = str
) -> TaskState | None:
    """Read one record of a status topic; None for what is about neither. Raises MalformedError.

    `clean` takes secrets out of a trace, before it is cut: half of one would be found no more.
    """
    try:
        name = (key or b"").decode("utf-8")
    except UnicodeError as error:
        raise MalformedError("The key of a state is not UTF-8 text.") from error
    task: int | None = None
    if name.startswith(_TASK):
        connector, _, number = name.removeprefix(_TASK).rpartition("-")
        if not connector or not number.isascii() or not number.isdigit() or len(number) > _MAX_DIGITS:
            raise MalformedError("The key of a task's state does not end in the number of a task.")
        task = int(number)
    elif name.startswith(_CONNECTOR):
        connector = name.removeprefix(_CONNECTOR)
    else:
        return None
    if value is None:
        return TaskState(connector, task, "")
    content = _object(value)
    if content is None:
        return TaskState(connector, task, "")
    state, trace = content.get("state"), content.get("trace") or ""
    if not isinstance(state, str) or not state.isalpha() or len(state) > 20 or not isinstance(trace, str):
        raise MalformedError("A state is not a word, or its trace is not text.")
    return TaskState(connector, task, state, first_line(clean(trace)))


def first_line(trace: str) -> str:
    """Return what is kept of a trace, as text that can be written everywhere."""
    first = next(iter(trace.splitlines()), "")[:MAX_TRACE_CHARS]
    # JSON can spell half of a character, which no page and no log can write.
    return first.encode("utf-8", "replace").decode("utf-8")


def _object(value: bytes) -> dict[str, object] | None:
    if len(value) > MAX_VALUE_BYTES:
        raise MalformedError(f"A state has more than {MAX_VALUE_BYTES} bytes.")
    try:
        content = json.loads(value.decode("utf-8"))
    except (ValueError, RecursionError):
        # Not chained: a parser's error contains the whole document.
        raise MalformedError("A state is not JSON.") from None
    if content is not None and not isinstance(content, dict):
        raise MalformedError("A state is not a JSON object.")
    return content
