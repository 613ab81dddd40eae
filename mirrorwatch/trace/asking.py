"""The queries of the command `trace`: the record, the offset syncs in the store, then the clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.dialect import moment_ms
from fleet.errors import ConfigurationError, Problem
from lagmon.syncs.tables import pairs_of
from mirrorwatch.lag.orders import mirror_orders
from mirrorwatch.service.store_parts import opened
from mirrorwatch.trace.choosing import Wanted, choose_cluster, choose_record
from mirrorwatch.trace.clusters import Clusters
from mirrorwatch.trace.following import follow
from runtime.process.clock import SystemClock
from runtime.process.loop import run_to_end
from runtime.store.store import Store

if TYPE_CHECKING:
    from lagmon.syncs.pairs import SyncPair
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.trace.following import Trace
    from runtime.kafka.picking import Place


def wanted_record(
    *,
    topic: str,
    cluster: str | None,
    partition: int | None,
    offset: int | None,
    key: str | None,
    time: str | None,
) -> Wanted:
    """Return the record that the options describe; raises ConfigurationError with every problem in them."""
    problems: list[Problem] = []
    given = [
        name for name, value in (("--offset", offset), ("--key", key), ("--time", time)) if value is not None
    ]
    if not given:
        sentence = "missing; write --partition and --offset, or --key, or --time"
        problems.append(Problem("--offset", "", sentence))
    if len(given) > 1:
        problems.append(Problem(", ".join(given), "", "exclude each other; write one"))
    if offset is not None and partition is None:
        problems.append(Problem("--partition", "", "missing; --offset requires it"))
    at_ms = None
    if time is not None:
        try:
            at_ms = moment_ms(time)
        except ValueError:
            sentence = f"invalid moment '{time[:60]}'; write it as 2026-11-27T17:30:00Z"
            problems.append(Problem("--time", "", sentence))
    if problems:
        raise ConfigurationError(problems)
    return Wanted(topic=topic, cluster=cluster, partition=partition, offset=offset, key=key, at_ms=at_ms)


def trace_record(config: Configuration, wanted: Wanted) -> Trace:
    """Return where a record is on all clusters.

    Raises ConfigurationError for one that is not there, MirrorwatchError if its own cluster does not answer.
    """
    clock = SystemClock()
    orders = mirror_orders(config)

    def kept(flow: str, place: Place) -> dict[Place, list[SyncPair]]:
        return run_to_end(_kept(config, flow, place))

    excluded = config.checksum.exclude_headers
    with Clusters(config.clients, clock, excluded_headers=excluded) as clusters:
        alias = choose_cluster(wanted, [one.flow for one in orders], clusters)
        chosen = choose_record(wanted, clusters[alias])
        return follow(chosen, orders, clusters, kept, now_ms=round(clock.wall_s() * 1000))


async def _kept(config: Configuration, flow: str, place: Place) -> dict[Place, list[SyncPair]]:
    """Return the offset syncs in the store of one partition."""
    async with opened(config, Store.open_to_read) as store:
        if store is None:
            return {}
        return {place: await store.read(lambda held: pairs_of(held, flow, *place))}
