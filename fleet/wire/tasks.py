"""The partitions assigned to a mirror's tasks, from the worker's configuration topic.

Connect writes JSON under plain text keys (KafkaConfigBackingStore). Of a mirror, as seen on 3.9.2 and 4.3.0:

    task-MirrorSourceConnector-1       {"properties": {"task.assigned.partitions": "t-0,t-2,u-1", ...}}
    commit-MirrorSourceConnector       {"tasks": 2}
    connector-MirrorSourceConnector    null once the connector is removed

An assignment holds once a commit follows it. The commit also has the number of tasks; a task of a higher
number is left over from before.

The same records hold passwords and session keys. So this module reads one property and drops all others: no
value, sentence or chained error contains anything else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.errors import MalformedError

if TYPE_CHECKING:
    from collections.abc import Iterator

CONNECTOR = "MirrorSourceConnector"  # of a dedicated MirrorMaker
MAX_VALUE_BYTES = 16 << 20  # a task may have a hundred thousand partitions
MAX_TASKS = 100_000
_MAX_DIGITS, _PARTITION_DIGITS = len(str(MAX_TASKS)), 10  # int() takes no text of thousands of digits


@dataclass(frozen=True, slots=True)
class TaskGiven:
    """The partitions assigned to this task once a commit follows: `t-0,t-2,u-1`, as the worker wrote it."""

    task: int
    assigned: str


@dataclass(frozen=True, slots=True)
class TasksCommitted:
    """What was given to the tasks below this number holds from here on; 0 where there are none any more."""

    tasks: int


def decode_task(
    key: bytes | None, value: bytes | None, *, connector: str = CONNECTOR
) -> TaskGiven | TasksCommitted | None:
    """Read one record of a configuration topic; None for what is not about this connector's tasks.

    Raises MalformedError.
    """
    if key is None:
        return None
    what, _, rest = key.partition(b"-")
    name = connector.encode()
    if what == b"connector" and rest == name:
        return TasksCommitted(0) if value is None else None
    if what == b"commit" and rest == name:
        return TasksCommitted(_tasks(value))
    whose, _, number = rest.rpartition(b"-")  # of which a name may have some, too
    if what != b"task" or whose != name or value is None:
        return None
    if not number.isdigit() or len(number) > _MAX_DIGITS or int(number) >= MAX_TASKS:
        raise MalformedError("The key of a task's configuration does not end in the number of a task.")
    properties = _object(value).get("properties")
    if not isinstance(properties, dict):
        raise MalformedError("The configuration of a task has no properties.")
    said = properties.get("task.assigned.partitions", "")
    if not isinstance(said, str):
        raise MalformedError("The partitions in the configuration of a task are not text.")
    return TaskGiven(int(number), said)


def partitions_in(assigned: str) -> Iterator[tuple[str, int]]:
    """Give topic and partition of a list such as `t-0,t-2,u-1`; a name may hold a `-` itself."""
    for each in assigned.split(","):
        name, _, number = each.rpartition("-")
        if name and number.isascii() and number.isdigit() and len(number) <= _PARTITION_DIGITS:
            yield name, int(number)


def _tasks(value: bytes | None) -> int:
    tasks = 0 if value is None else _object(value).get("tasks")
    if isinstance(tasks, bool) or not isinstance(tasks, int) or not 0 <= tasks <= MAX_TASKS:
        raise MalformedError("The commit of the tasks' configurations does not say how many tasks there are.")
    return tasks


def _object(value: bytes) -> dict[str, object]:
    if len(value) > MAX_VALUE_BYTES:
        raise MalformedError(f"The configuration of a task is longer than {MAX_VALUE_BYTES} bytes.")
    try:
        content = json.loads(value.decode("utf-8"))
    except (ValueError, RecursionError):
        # Not chained: the parser's error contains the whole document, passwords included.
        raise MalformedError("The configuration of a task is not JSON.") from None
    if not isinstance(content, dict):
        raise MalformedError("The configuration of a task is not a JSON object.")
    return content
