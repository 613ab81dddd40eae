"""What the lag monitor is told to do: which clusters and groups, which flows and what tells of each. Pure."""

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
    """All that the process works by: where two are equal, one that runs may go on as it does.

    `told` is what it is told, as JSON has it. `flows` has what of that is about one flow, by its name, and
    `synced` are those whose offset syncs are read.
    """

    told: Mapping[str, Any] = field(repr=False)  # with passwords
    flows: Mapping[str, tuple[Any, ...]] = field(repr=False)
    synced: tuple[str, ...]

    def same(self, flow: str, other: LagOrders | None) -> bool:
        """Tell whether both say the same of a flow."""
        return other is not None and self.flows.get(flow) == other.flows.get(flow)


def lag_orders(
    config: Configuration, *, log_level: str = "info", log_format: str = "text"
) -> LagOrders | None:
    """Return the orders that follow from a configuration; None where the lag monitor is off.

    Where the process finds what an earlier one knew is for its keeper to add.
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
        secrets=frozenset(),  # which ones, follows from all the others
        mirrors=mirrors,
        syncs=syncs,
        commits=config.lag.commits.value,
    )
    told["secrets"] = sorted(_met(config, told))
    of_syncs = {one.flow: write_sync(one) for one in syncs}
    flows = {one.name: (write_mirror(one), of_syncs.get(one.name)) for one in mirrors}
    return LagOrders(told, flows, tuple(of_syncs))


def _met(config: Configuration, told: Mapping[str, Any]) -> frozenset[str]:
    """Return the secrets that the process can come across: of its clusters, the mirror, its orders.

    What else is secret (a token, the passwords of the store and of Kafka Connect) never gets near it, and
    another one is no reason to begin it anew.
    """
    texts = [*_texts(told), *(text for one in config.topology.clusters for text in one.client.values())]
    return config.cluster_secrets | {one for one in config.secrets if any(one in text for text in texts)}


def _texts(told: Any) -> Iterator[str]:
    """Give every text of what the process is told."""
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
    """Return an order for each flow: from what it is known how far it has come."""
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
                    status_topic=source.status_topic,
                    config_topic=source.config_topic,
                    topics_read=source.topics_read,
                )
            )
    return found
