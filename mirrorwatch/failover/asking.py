"""The queries of `failover`: the store's offset syncs, then each flow from its two clusters."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from fleet.errors import ConfigurationError, Problem, UnavailableError
from lagmon.syncs.tables import flow_pairs
from mirrorwatch.failover.cluster import ClusterReader
from mirrorwatch.failover.facts import read_flow
from mirrorwatch.failover.mirror_topics import MirrorTopics
from mirrorwatch.failover.proving import prove
from mirrorwatch.history.reporting import reading
from mirrorwatch.lag.orders import mirror_orders
from mirrorwatch.trace.clusters import Clusters
from runtime.process.clock import SystemClock
from runtime.process.loop import run_to_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lagmon.mirrors.answers.orders import MirrorOrder
    from lagmon.syncs.pairs import SyncPair
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.failover.facts import FlowFailover

    Kept = dict[str, dict[tuple[str, int], list[SyncPair]]]


def ask_flows(
    config: Configuration, *, flow: str | None = None, group: str | None = None, proved: bool = False
) -> tuple[list[FlowFailover], float]:
    """Return the groups of the flows of a configuration, or of one, and when they were read.

    `proved`: their next records are read on both clusters.

    Raises ConfigurationError for an unknown flow or group, MirrorwatchError if a target does not answer.
    """
    orders = orders_named(config, flow)
    kept = run_to_end(_kept(config, [one.name for one in orders]))
    clock = SystemClock()
    with ExitStack() as opened:
        readers = readers_of(config, orders, opened)
        mirrors = [MirrorTopics(one, kept=kept.get(one.name)) for one in orders]
        found = [
            read_flow(
                readers,
                one,
                wanted=lambda name: group in (None, name),
                now_ms=round(clock.wall_s() * 1000),
            )
            for one in mirrors
        ]
    if group is not None and not any(one.groups for one in found):
        unread = next((one.source_problem for one in found if one.source_problem), "")
        if unread:
            raise UnavailableError(f"{unread}; the targets have no checkpoint of group {group}")
        sentence = (
            f"unknown group '{group}'; no flow has a group of this name with offsets of a replicated topic"
        )
        raise ConfigurationError([Problem("--group", "", sentence)])
    if proved:
        now_ms = round(clock.wall_s() * 1000)
        with Clusters(config.clients, clock) as clusters:
            found = [
                prove(one, mirror, clusters, now_ms=now_ms)
                for one, mirror in zip(found, mirrors, strict=True)
            ]
    return found, clock.wall_s()


def orders_named(config: Configuration, flow: str | None) -> list[MirrorOrder]:
    """Return the orders of all flows, or of one; raises ConfigurationError if it is unknown."""
    names = {one.name for one in config.flows_named(flow)}
    return [one for one in mirror_orders(config) if one.name in names]


def readers_of(
    config: Configuration, orders: Sequence[MirrorOrder], opened: ExitStack
) -> dict[str, ClusterReader]:
    """Return a reader of each cluster of these flows; `opened` closes them."""
    aliases = frozenset[str]().union(*(one.clusters for one in orders))
    return {
        alias: opened.enter_context(ClusterReader(alias, settings, SystemClock()))
        for alias, settings in config.clients.items()
        if alias in aliases
    }


async def _kept(config: Configuration, flows: Sequence[str]) -> Kept:
    """Return the offset syncs in the store by flow and partition."""
    async with reading(config) as store:
        if store is None:
            return {}
        return await store.read(lambda held: {flow: flow_pairs(held, flow) for flow in flows})
