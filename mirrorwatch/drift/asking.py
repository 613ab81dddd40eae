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
    from lagmon.drift.differences import FlowDrift
    from mirrorwatch.configuration.configuration import Configuration

ANSWER_S = 30.0  # for the settings of a few hundred topics, or the ACLs of a cluster


def ask_drift(config: Configuration, *, flow: str | None = None) -> tuple[list[FlowDrift], float]:
    """Return the drift of all flows of a configuration, or of one, and when it was read; blocks.

    Raises ConfigurationError for an unknown flow, MirrorwatchError if a cluster does not answer.
    """
    config.flows_named(flow)
    return run_to_end(_ask(config, flow))


async def _ask(config: Configuration, name: str | None) -> tuple[list[FlowDrift], float]:
    flows = config.flows_named(name)
    clock = SystemClock()
    async with AsyncExitStack() as opened:
        clusters: dict[str, Cluster] = {}
        for alias in dict.fromkeys(alias for flow in flows for alias in (flow.source, flow.target)):
            admin = ClusterAdmin(config.clients[alias], cluster=alias, timeout_s=ANSWER_S)
            opened.push_async_callback(admin.close)
            await admin.open()
            clusters[alias] = Cluster(alias, admin)
        async with asyncio.TaskGroup() as group:
            for one in clusters.values():
                group.create_task(one.read())
        now_at = clock.wall_s()
        found = [
            await read_flow(flow, config.topology, clusters, now_ms=round(now_at * 1000)) for flow in flows
        ]
    return found, now_at
