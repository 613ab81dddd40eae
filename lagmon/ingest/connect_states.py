"""States of mirrors' connectors and tasks, reported by Kafka Connect to the service. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lagmon.mirrors.tasks.states import Start, Trouble

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lagmon.mirrors.flow import MirrorFlow


def take_states(flows: Mapping[str, MirrorFlow], told: Mapping[str, Any]) -> None:
    """Set the states of each flow's connector and tasks as of `at_ms`; clear those of flows left out.

    The caller holds the locks of the flows.
    """
    for name, flow in flows.items():
        one = told["flows"].get(name)
        if one is None:
            flow.states.forget_rest()
            continue
        if not flow.order.connector:  # its order may lack the name, which sentences need
            flow.states.connector = one["connector"]
        troubles = [
            Trouble(task, state, since_ms, trace, Start.SEEN if is_seen else Start.BEFORE)
            for task, state, trace, since_ms, is_seen in one["states"]
        ]
        flow.states.take_rest(troubles, told["at_ms"])
