"""One reader for the offset syncs of each flow whose mirror writes them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lagmon.syncs.reader import SyncReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lagmon.ingest.watching import ClusterWatch
    from lagmon.mirrors.flow import MirrorFlow
    from lagmon.syncs.orders import SyncOrder
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import WaitingClock


def sync_readers(
    orders: Sequence[SyncOrder],
    flows: Iterable[MirrorFlow],
    clients: Mapping[str, ClientSettings],
    watched: Mapping[str, ClusterWatch],
    clock: WaitingClock,
) -> list[SyncReader]:
    """Return a reader for each order.

    If two flows have their syncs in one topic (A->B at its source, B->A at its target), each takes those of
    its mirrored topics; the only flow of a topic takes all.
    """
    by_name = {flow.order.name: flow for flow in flows}
    sharing = Counter((order.kafka_cluster, order.topic) for order in orders)
    found = []
    for order in orders:
        flow = by_name[order.flow]
        alone = sharing[order.kafka_cluster, order.topic] == 1
        reader = SyncReader(
            order,
            flow,
            clients[order.kafka_cluster],
            host=watched[order.kafka_cluster],
            source=watched[flow.order.flow.source],
            target=watched[flow.order.flow.target],
            mirrored=None if alone else _mirrored_by(flow),
            clock=clock,
        )
        found.append(reader)
    return found


def _mirrored_by(flow: MirrorFlow) -> Callable[[str], bool]:
    return lambda topic: flow.order.flow.decide(topic).replicated
