"""States of the mirrors' connectors by Kafka Connect, and their problems. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fleet.connect.config_states import state_problems
from fleet.connect.kinds import SOURCE, Task
from lagmon.mirrors.tasks.states import NOT_RUNNING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.connect.connectors import Connector
    from fleet.wire.status import TaskState

    Begun = Mapping[tuple[str, int | None, str], tuple[int, bool]]  # by connector, task and state

MOST_TRACES = 100  # of one connector
NEXT_MS = 120_000  # after a longer gap, earlier polls do not count: the state may have changed in between


@dataclass(frozen=True, slots=True)
class ConnectStates:
    """The states of each flow's source connector and its tasks at `at_ms`, by flow.

    A missing flow has no known state. `begun` is when each reliable state was first seen, also before a
    restart of the lag monitor, and whether the poll before it saw another state: the first poll, and the
    first after a gap, does not show how long a state has lasted.
    """

    at_ms: int
    flows: Mapping[str, tuple[str, tuple[TaskState, ...]]] = field(default_factory=dict)
    begun: Begun = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return the states for the lag monitor's process, only reliable ones."""
        return {
            "at_ms": self.at_ms,
            "flows": {
                flow: {"connector": name, "states": self._rows(name, states)}
                for flow, (name, states) in self.flows.items()
            },
        }

    def _rows(self, name: str, states: Iterable[TaskState]) -> list[list[Any]]:
        believed = [one for one in states if one.state in NOT_RUNNING]
        return [
            [
                one.task,
                one.state,
                one.trace if number < MOST_TRACES else "",
                *self.begun[name, one.task, one.state],
            ]
            for number, one in enumerate(believed)
        ]


def look_of(
    connectors: Iterable[Connector],
    told: Mapping[str, tuple[TaskState, ...]],
    *,
    at_ms: int,
    before: ConnectStates | None,
) -> ConnectStates:
    """Return the states of the flows; `before` are those of the previous poll."""
    flows = {
        each.flow: (each.name, told[each.name])
        for each in connectors
        if each.kind == SOURCE and each.enabled and each.name in told
    }
    believed = [
        (name, one.task, one.state)
        for name, states in flows.values()
        for one in states
        if one.state in NOT_RUNNING
    ]
    known: Begun = {}
    seen = set()
    if before is not None and 0 <= at_ms - before.at_ms <= NEXT_MS:
        known, seen = before.begun, {name for name, _ in before.flows.values()}
    return ConnectStates(
        at_ms, flows, {which: known.get(which, (at_ms, which[0] in seen)) for which in believed}
    )


def sentence_of(connector: Connector, told: Mapping[str, tuple[TaskState, ...]], *, address: str) -> str:
    """Return the problem of a connector, "" if there is none.

    `check` and the start use the same sentences.
    """
    states = told.get(connector.name)
    if states is None:
        return (
            f"{connector.flow} has no connector any more: {address} does not know this name; "
            "re-create it there, or remove it from the configuration and reload"
        )
    own = next((one.state for one in states if one.task is None), "")
    tasks = tuple(Task(one.task, one.state) for one in states if one.task is not None)
    return " ".join(state_problems(replace(connector, state=own, tasks=tasks)))
