"""One look at what Kafka Connect says of the mirrors' connectors, and what is told of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fleet.connect.config_states import doubts
from fleet.connect.kinds import SOURCE, Task
from lagmon.mirrors.tasks.states import TOLD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.connect.connectors import Connector
    from fleet.wire.status import TaskState

    Begun = Mapping[tuple[str, int | None, str], tuple[int, bool]]  # by connector, task and state

MOST_TRACES = 100  # of one connector: a sentence tells one of them
NEXT_MS = 120_000  # after a longer silence nothing before it counts: another state may have come between


@dataclass(frozen=True, slots=True)
class ConnectLook:
    """The states of each flow's source connector and its tasks as of `at_ms`, by the flow's name.

    A flow that is not in it is one of which nothing is known. `begun` is when each state that can be believed
    was first seen, however often the lag monitor's process began anew since then, and whether the look before
    it found another: the first look, and the first after a silence, tells nothing of how long it is so.
    """

    at_ms: int
    flows: Mapping[str, tuple[str, tuple[TaskState, ...]]] = field(default_factory=dict)
    begun: Begun = field(default_factory=dict)

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
        believed = [one for one in states if one.state in TOLD]
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
    before: ConnectLook | None,
) -> ConnectLook:
    """Return what is told of the flows; `before` is the look before, None where there was none."""
    flows = {
        each.flow: (each.name, told[each.name])
        for each in connectors
        if each.kind == SOURCE and each.enabled and each.name in told
    }
    believed = [
        (name, one.task, one.state) for name, states in flows.values() for one in states if one.state in TOLD
    ]
    known: Begun = {}
    seen = set()
    if before is not None and 0 <= at_ms - before.at_ms <= NEXT_MS:
        known, seen = before.begun, {name for name, _ in before.flows.values()}
    return ConnectLook(
        at_ms, flows, {which: known.get(which, (at_ms, which[0] in seen)) for which in believed}
    )


def sentence_of(connector: Connector, told: Mapping[str, tuple[TaskState, ...]], *, address: str) -> str:
    """Return what a person should know of a connector, "" where that is nothing.

    The words are those with which `check` and the start tell of a state.
    """
    states = told.get(connector.name)
    if states is None:
        return (
            f"{connector.flow} has no connector any more: {address} does not know this name; "
            "re-create it there, or remove it from the configuration and reload"
        )
    own = next((one.state for one in states if one.task is None), "")
    tasks = tuple(Task(one.task, one.state) for one in states if one.task is not None)
    return " ".join(doubts(replace(connector, state=own, tasks=tasks)))
