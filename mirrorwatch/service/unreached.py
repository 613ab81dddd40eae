"""Brokers that no probe of a flow reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.series.catalogue import SIDES
from mirrorwatch.service.view import UnreachedView

if TYPE_CHECKING:
    from collections.abc import Iterable

    from canary.prober import Prober


def unreached_of(prober: Prober, flow: str) -> tuple[UnreachedView, ...]:
    """Return them by side, source first; leaves out sides without any, or with unknown brokers."""
    found: dict[tuple[str, str], set[int]] = {}
    for one in prober.unreached(flow):
        found.setdefault((one.side, one.kafka_cluster), set()).add(one.broker_id)
    return tuple(
        UnreachedView(side, alias, tuple(sorted(ids)))
        for (side, alias), ids in sorted(found.items(), key=lambda item: SIDES.index(item[0][0]))
    )


def counted_by_side(unreached: Iterable[UnreachedView]) -> dict[str, int]:
    """Return the number of brokers by side."""
    found = dict.fromkeys(SIDES, 0)
    for one in unreached:
        found[one.side] += len(one.broker_ids)
    return found
