"""The topic of a flow's offset syncs, as an order to the ingest process. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lagmon.mirrors.answers.orders import CONNECT_OFFSETS, OFFSET_SYNCS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fleet.verdicts.flow import Flow


@dataclass(frozen=True, slots=True)
class SyncOrder:
    """A flow by its name, and the topic of its offset syncs with its cluster."""

    flow: str
    kafka_cluster: str
    topic: str


def sync_orders(flows: Iterable[Flow], lag_from: Mapping[str, str]) -> list[SyncOrder]:
    """Return an order for each flow whose mirror writes offset syncs; `lag_from` is by the flow's name.

    Only MirrorMaker 2 writes them, not the mirrors that are followed by a group or by equal offsets.
    """
    found = []
    for flow in flows:
        source = lag_from.get(flow.name, CONNECT_OFFSETS)
        if source == OFFSET_SYNCS or (source == CONNECT_OFFSETS and flow.emit_offset_syncs):
            home = flow.source if flow.offset_syncs_location == "source" else flow.target
            found.append(SyncOrder(flow.name, home, flow.offset_syncs_topic))
    return found


def write_sync(order: SyncOrder) -> dict[str, Any]:
    """Return the order as a JSON object."""
    return asdict(order)


def read_sync(told: Mapping[str, Any]) -> SyncOrder:
    """Return the order from the JSON object of `write_sync`."""
    return SyncOrder(told["flow"], told["kafka_cluster"], told["topic"])
