"""The queries of `failover`: the store's offset syncs, then each flow from its two clusters."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from fleet.errors import ConfigurationError, Problem, RefusedError, UnavailableError
from lagmon.syncs.id_tables import ids_of
from lagmon.syncs.tables import flow_pairs
from mirrorwatch.failover.cluster import ClusterReader
from mirrorwatch.failover.facts import FlowFailover, read_flow
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
    from lagmon.syncs.id_tables import SeenId
    from lagmon.syncs.pairs import SyncPair
    from mirrorwatch.configuration.configuration import Configuration

    Kept = dict[str, tuple[dict[tuple[str, int], list[SyncPair]], list[SeenId]]]


def ask_flows(
    config: Configuration,
    *,
    flow: str | None = None,
    group: str | None = None,
    proved: bool = False,
    any_group: bool = False,
) -> tuple[list[FlowFailover], float]:
    """Return the groups of the flows of a configuration, or of one, and when they were read.

    `proved`: their next records are read on both clusters. `any_group`: see `Answers`. A flow whose target
    does not answer has a `problem`.

    Raises ConfigurationError for an unknown flow or group, UnavailableError if an unread flow may have it.
    """
    orders = orders_named(config, flow)
    mirrors = mirrors_of(config, orders)
    clock = SystemClock()
    with ExitStack() as opened:
        readers = readers_of(config, orders, opened)

        def read(mirror: MirrorTopics) -> FlowFailover:
            now_ms = round(clock.wall_s() * 1000)
            try:
                return read_flow(
                    readers,
                    mirror,
                    wanted=lambda name: group in (None, name),
                    now_ms=now_ms,
                    any_group=any_group,
                )
            except (RefusedError, UnavailableError) as error:
                return FlowFailover(flow=mirror.order.flow, problem=str(error))

        found = [read(mirror) for mirror in mirrors]
    if group is not None and not any(one.groups for one in found):
        raise _without(group, found)
    if proved:
        now_ms = round(clock.wall_s() * 1000)
        with Clusters(config.clients, clock) as clusters:
            found = [
                prove(one, mirror, clusters, now_ms=now_ms)
                for one, mirror in zip(found, mirrors, strict=True)
            ]
    return found, clock.wall_s()


def _without(group: str, found: Sequence[FlowFailover]) -> ConfigurationError | UnavailableError:
    """Return why no flow has this group."""
    problem = next((one.problem for one in found if one.problem), "")
    if problem:
        return UnavailableError(problem)
    unread = next((one for one in found if one.source_problem), None)
    if unread is not None:
        has = f"{unread.flow.target} has neither checkpoints nor offsets of group {group} to go by"
        return UnavailableError(f"{unread.source_problem}; {has}")
    sentence = f"unknown group '{group}'; no flow has a group of this name with offsets of a replicated topic"
    excluding = next((one.flow for one in found if group in one.excluded), None)
    if excluding is not None:
        why = excluding.group_filter.why(group)
        sentence = f"group '{group}' is excluded from {excluding.name}: {why}"
    return ConfigurationError([Problem("--group", "", sentence)])


def orders_named(config: Configuration, flow: str | None) -> list[MirrorOrder]:
    """Return the orders of all flows, or of one; raises ConfigurationError if it is unknown."""
    names = {one.name for one in config.flows_named(flow)}
    return [one for one in mirror_orders(config) if one.name in names]


def mirrors_of(config: Configuration, orders: Sequence[MirrorOrder]) -> list[MirrorTopics]:
    """Return the mirrors of these flows with the offset syncs and topic ids in the store."""
    stored = run_to_end(_kept(config, [one.name for one in orders]))
    found = []
    for order in orders:
        kept, seen = stored.get(order.name, ({}, []))
        found.append(MirrorTopics(order, kept=kept, seen=seen))
    return found


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
    """Return by flow the offset syncs in the store by partition, and the ids of its topics."""
    async with reading(config) as store:
        if store is None:
            return {}
        return await store.read(
            lambda held: {flow: (flow_pairs(held, flow), ids_of(held, flow)) for flow in flows}
        )
