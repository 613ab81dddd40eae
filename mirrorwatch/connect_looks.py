"""One look at what Kafka Connect says of the mirrors' connectors, and what is told of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fleet.connect_config_kinds import SOURCE, Task
from fleet.connect_config_states import doubts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fleet.connect_config import Connector
    from fleet.wire_status import TaskState


@dataclass(frozen=True, slots=True)
class ConnectLook:
    """The states of each flow's source connector and its tasks as of `at_ms`, by the flow's name.

    A flow that is not in it is one of which nothing is known.
    """

    at_ms: int
    flows: Mapping[str, tuple[str, tuple[TaskState, ...]]] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return it as the lag monitor's process is told of it."""
        return {
            "at_ms": self.at_ms,
            "flows": {
                flow: {"connector": name, "states": [[one.task, one.state, one.trace] for one in states]}
                for flow, (name, states) in self.flows.items()
            },
        }


def look_of(
    connectors: Iterable[Connector],
    told: Mapping[str, tuple[TaskState, ...]],
    *,
    at_ms: int,
    clean: Callable[[str], str],
) -> ConnectLook:
    """Return what is told of the flows; what a trace says passes through `clean`, which takes secrets out."""
    return ConnectLook(
        at_ms,
        {
            each.flow: (each.name, tuple(replace(one, trace=clean(one.trace)) for one in told[each.name]))
            for each in connectors
            if each.kind == SOURCE and each.enabled and each.name in told
        },
    )


def sentence_of(connector: Connector, told: Mapping[str, tuple[TaskState, ...]], *, address: str) -> str:
    """Return what a person should know of a connector, "" where that is nothing.

    The words are those with which `check` and the start tell of a state.
    """
    states = told.get(connector.name)
    if states is None:
        return (
            f"there is no connector of this name at {address} any more, and it served {connector.flow}: "
            "make it again there, or take it out of the configuration and reload"
        )
    own = next((one.state for one in states if one.task is None), "")
    tasks = tuple(Task(one.task, one.state) for one in states if one.task is not None)
    return " ".join(doubts(replace(connector, state=own, tasks=tasks)))
