"""One look at what Kafka Connect says of the mirrors' connectors, and what is told of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fleet.connect_config_kinds import SOURCE, Task
from fleet.connect_config_states import doubts
from lagmon.mirror_states import BELIEVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.connect_config import Connector
    from fleet.wire_status import TaskState

    Since = Mapping[tuple[str, int | None, str], int]  # by connector, task and state

MOST_TRACES = 100  # of one connector: a sentence tells one of them


@dataclass(frozen=True, slots=True)
class ConnectLook:
    """The states of each flow's source connector and its tasks as of `at_ms`, by the flow's name.

    A flow that is not in it is one of which nothing is known. `since_ms` is when each state that can be
    believed was first seen, however often the lag monitor's process began anew since then.
    """

    at_ms: int
    flows: Mapping[str, tuple[str, tuple[TaskState, ...]]] = field(default_factory=dict)
    since_ms: Since = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return it as the lag monitor's process is told of it: of states, those that can be believed."""
        return {
            "at_ms": self.at_ms,
            "flows": {
                flow: {"connector": name, "states": self._rows(name, states)}
                for flow, (name, states) in self.flows.items()
            },
        }

    def _rows(self, name: str, states: Iterable[TaskState]) -> list[list[Any]]:
        believed = [one for one in states if one.state in BELIEVED]
        return [
            [
                one.task,
                one.state,
                one.trace if number < MOST_TRACES else "",
                self.since_ms[name, one.task, one.state],
            ]
            for number, one in enumerate(believed)
        ]


def look_of(
    connectors: Iterable[Connector],
    told: Mapping[str, tuple[TaskState, ...]],
    *,
    at_ms: int,
    since_ms: Since,
) -> ConnectLook:
    """Return what is told of the flows; `since_ms` is that of the look before."""
    flows = {
        each.flow: (each.name, told[each.name])
        for each in connectors
        if each.kind == SOURCE and each.enabled and each.name in told
    }
    believed = [
        (name, one.task, one.state)
        for name, states in flows.values()
        for one in states
        if one.state in BELIEVED
    ]
    return ConnectLook(at_ms, flows, {which: since_ms.get(which, at_ms) for which in believed})


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
