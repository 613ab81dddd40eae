"""The settings of the lag monitor's process: clusters, groups, flows and their sources. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lagmon.ingest.orders import write_orders
from lagmon.mirrors.answers.orders import order_of, write_mirror
from lagmon.syncs.orders import sync_orders, write_sync

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lagmon.mirrors.answers.orders import MirrorOrder
    from mirrorwatch.configuration.configuration import Configuration


@dataclass(frozen=True, slots=True)
class LagOrders:
    """All settings of the process; with equal ones it need not restart.

    `told` is the JSON that it gets. `flows` has the part about each flow, and `synced` are flows whose offset
    syncs are read.
    """

    told: Mapping[str, Any] = field(repr=False)  # with passwords
    flows: Mapping[str, tuple[Any, ...]] = field(repr=False)
    synced: tuple[str, ...]

    def same(self, flow: str, other: LagOrders | None) -> bool:
        """Return whether both have the same settings for a flow."""
        return other is not None and self.flows.get(flow) == other.flows.get(flow)


def lag_orders(
    config: Configuration, *, log_level: str = "info", log_format: str = "text"
) -> LagOrders | None:
    """Return the settings for a configuration; None if the lag monitor is off.

    `keeping` adds the path of the stored state.
    """
    if not config.lag.on:
        return None
    mirrors = mirror_orders(config)
    syncs = sync_orders(
        config.topology.flows, {name: one.lag_from for name, one in config.lag_sources.items()}
    )
    told = write_orders(
        config.clients,
        burrow_names=config.burrow_names,
        groups=config.lag.groups,
        groups_exclude=config.lag.groups_exclude,
        topics=config.lag.topics,
        topics_exclude=config.lag.topics_exclude or "",
        per_partition=config.lag.per_partition,
        max_series=config.lag.max_series,
        longest_transaction_ms=round(config.lag.longest_transaction * 1000),
        log_level=log_level,
        log_format=log_format,
        secrets=frozenset(),  # they follow from the others
        mirrors=mirrors,
        syncs=syncs,
        commits=config.lag.commits.value,
        shard=config.shard,
        flows_elsewhere=[one for one in config.flows_elsewhere if one.sync_group_offsets],
    )
    told["secrets"] = sorted(met_secrets(config, told))
    of_syncs = {one.flow: write_sync(one) for one in syncs}
    flows = {one.name: (write_mirror(one), of_syncs.get(one.name)) for one in mirrors}
    return LagOrders(told, flows, tuple(of_syncs))


def met_secrets(config: Configuration, told: Mapping[str, Any]) -> frozenset[str]:
    """Return the secrets that a process with these settings may see: of clusters, the mirror, its settings.

    Other secrets (tokens, passwords of the store and of Kafka Connect) never reach it, so a change of these
    does not restart it.
    """
    texts = [*_texts(told), *(text for one in config.topology.clusters for text in one.client.values())]
    return config.cluster_secrets | {one for one in config.secrets if any(one in text for text in texts)}


def _texts(told: Any) -> Iterator[str]:
    """Yield every text of the settings."""
    match told:
        case str():
            yield told
        case dict():
            for each in told.values():
                yield from _texts(each)
        case list() | tuple():
            for each in told:
                yield from _texts(each)


def mirror_orders(config: Configuration) -> list[MirrorOrder]:
    """Return the settings of each flow: the source of its committed offsets."""
    found = []
    for flow in config.topology.flows:
        source = config.lag_sources.get(flow.name)
        if source is None:
            found.append(order_of(flow))
        else:
            found.append(
                order_of(
                    flow,
                    cluster=source.kafka_cluster,
                    topic=source.topic,
                    lag_from=source.lag_from,
                    group=source.group,
                    topics_read=source.topics_read,
                    **source.worker_topics,
                )
            )
    return found
