"""Which flows the lag monitor follows, and from what it is known how far each has come. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagmon.mirror_orders import order_of

if TYPE_CHECKING:
    from lagmon.mirror_orders import MirrorOrder
    from mirrorwatch.configuration import Configuration


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
                )
            )
    return found
