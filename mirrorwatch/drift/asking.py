"""The queries of `drift`: every cluster once, then each flow."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from mirrorwatch.drift.facts import Cluster, read_flow
from runtime.kafka.admin import ClusterAdmin
from runtime.process.clock import SystemClock
from runtime.process.loop import run_to_end

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.topology import Topology
    from fleet.verdicts.flow import Flow
    from lagmon.drift.differences import FlowDrift
    from mirrorwatch.configuration.configuration import Configuration
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

ANSWER_S = 30.0  # for the settings of a few hundred topics, or the ACLs of a cluster


def ask_drift(config: Configuration, *, flow: str | None = None) -> tuple[list[FlowDrift], float]:
    """Return the drift of all flows of a configuration, or of one, and when it was read; blocks.

    Raises ConfigurationError for an unknown flow, MirrorwatchError if a cluster does not answer.
    """
    return run_to_end(_ask(config, flow))


async def _ask(config: Configuration, name: str | None) -> tuple[list[FlowDrift], float]:
    clock = SystemClock()
    found = await read_drift(config.topology, config.flows_named(name), config.clients, clock)
    return found, clock.wall_s()


async def read_drift(
    topology: Topology, flows: Sequence[Flow], clients: Mapping[str, ClientSettings], clock: Clock
) -> list[FlowDrift]:
    """Return the drift of these flows; raises MirrorwatchError if one of their clusters does not answer."""
    async with AsyncExitStack() as opened:
        clusters: dict[str, Cluster] = {}
        for alias in dict.fromkeys(alias for flow in flows for alias in (flow.source, flow.target)):
            admin = ClusterAdmin(clients[alias], cluster=alias, timeout_s=ANSWER_S)
            opened.push_async_callback(admin.close)
            await admin.open()
            clusters[alias] = Cluster(alias, admin)
        # All of them to their end, so that none reads on with a closed client; the first failure is raised.
        for failure in await asyncio.gather(
            *(one.read() for one in clusters.values()), return_exceptions=True
        ):
            if failure is not None:
                raise failure
        now_ms = round(clock.wall_s() * 1000)
        return [await read_flow(flow, topology, clusters, now_ms=now_ms) for flow in flows]
