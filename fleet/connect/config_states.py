"""States of a mirror's connectors that are problems.

A worker also reports RUNNING for a mirror that hangs or was killed (seen on 4.3.0), so RUNNING proves
nothing. FAILED and UNASSIGNED are problems, and so are the requested states PAUSED and STOPPED.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.connect.kinds import Connector

_BELIEVED = ("FAILED", "UNASSIGNED")
_ASKED_FOR = {"PAUSED": "resumed", "STOPPED": "resumed"}


def state_problems(connector: Connector) -> Iterator[str]:
    """Yield a sentence for each state of the connector or its tasks that stops replication."""
    if connector.state in _BELIEVED:
        yield f"is {connector.state}, as its worker reports; check its status and log."
    if connector.state in _ASKED_FOR:
        yield f"is {connector.state}: it replicates nothing until it is {_ASKED_FOR[connector.state]}."
    states = Counter(task.state for task in connector.tasks)
    for state in _BELIEVED:
        if states[state]:
            count = f"{states[state]} of its {len(connector.tasks)} tasks"
            verb = "is" if states[state] == 1 else "are"
            yield f"has {count} that {verb} {state}, as its worker reports; check its status and log."
