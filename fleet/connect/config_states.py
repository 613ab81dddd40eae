"""What is worth saying of the state of a mirror's connectors: only what can be believed.

A worker says RUNNING of a mirror that hangs or was killed as well (seen on 4.3.0), so that is no good news;
FAILED and UNASSIGNED are, and so is what somebody asked for: PAUSED and STOPPED.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.connect.kinds import Connector

_BELIEVED = ("FAILED", "UNASSIGNED")
_ASKED_FOR = {"PAUSED": "resumed", "STOPPED": "resumed"}


def doubts(connector: Connector) -> Iterator[str]:
    """Yield a sentence for each state of the connector, and of its tasks, that keeps records from moving."""
    if connector.state in _BELIEVED:
        yield f"is {connector.state}, as its worker tells; look at its status and log."
    if connector.state in _ASKED_FOR:
        yield f"is {connector.state}: it carries nothing until it is {_ASKED_FOR[connector.state]}."
    states = Counter(task.state for task in connector.tasks)
    for state in _BELIEVED:
        if states[state]:
            count = f"{states[state]} of its {len(connector.tasks)} tasks"
            verb = "is" if states[state] == 1 else "are"
            yield f"has {count} that {verb} {state}, as its worker tells; look at its status and log."
