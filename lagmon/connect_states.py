"""What Kafka Connect told the service of the mirrors' tasks, as the service hands it on. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.wire_status import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lagmon.mirror_flow import MirrorFlow


def take_states(flows: Mapping[str, MirrorFlow], told: Mapping[str, Any]) -> None:
    """Have each flow know the states of its connector as of `at_ms`; of a flow that is left out, none.

    The caller holds the locks of the flows.
    """
    for name, flow in flows.items():
        one = told["flows"].get(name)
        if one is None:
            flow.states.forget_look()
            continue
        if not flow.order.connector:  # its order does not need the name, and sentences do
            flow.states.connector = one["connector"]
        states = [TaskState(one["connector"], task, state, trace) for task, state, trace in one["states"]]
        flow.states.look(states, told["at_ms"])
