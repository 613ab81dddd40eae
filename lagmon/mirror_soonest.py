"""How soon retention reaches what a mirror that is not well has not copied yet, in a sentence. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import duration_text
from lagmon.headroom import How
from lagmon.mirror_starts import room_of
from lagmon.time_lag import LagKind, written
from lagmon.words import Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.headroom import Headroom
    from lagmon.mirror_flow import FlowSight, MirrorFlow

_WAITING = (Status.WARN, Status.STOP, Status.STALL)
_OLDEST = 5_000  # partitions, those whose first record that waits is oldest
_CLOSEST = 20  # of these, by the retention of their topics; and what was seen to be deleted from
_WORTH = {
    How.BY_RETENTION: "in {}",
    How.BY_RECORD_TIME: "in about {}",
    How.AT_MOST: "in {} at most",
    How.BY_SPEED: "in {} at the present rates",
}


def sentence(flow: MirrorFlow, found: FlowSight) -> str:
    """Return when that is, and where; "" where nothing waits, or it is not in sight or not known."""
    sight = found.sight
    waits = sight.used & (sight.lag > 0) & np.isin(sight.rows.status, _WAITING)
    oldest = np.flatnonzero(waits)
    oldest = oldest[np.argsort(-sight.lag_s[oldest], kind="stable")][:_OLDEST]
    rooms = [(room, slot) for slot, room in _rooms(flow, found, oldest) if room.how in _WORTH]
    if not rooms:
        return ""
    room, slot = min(rooms, key=lambda one: (one[0].seconds, one[1]))
    topic, partition = flow.windows.name(slot)
    seconds = room.seconds or 0.0
    when = _WORTH[room.how].format(duration_text(round(seconds))) if seconds >= 1 else "at any time now"
    return f"Retention reaches what waits in {topic}-{partition} {when}."


def _rooms(flow: MirrorFlow, found: FlowSight, oldest: NDArray[np.intp]) -> list[tuple[int, Headroom]]:
    sight, moving = found.sight, flow.starts.moving
    left: list[tuple[float, int]] = []
    for slot, lag_s in zip(oldest.tolist(), sight.lag_s[oldest].tolist(), strict=True):
        name = flow.windows.name(slot)
        retention_ms = flow.retention_ms.get(name[0], -1)
        if retention_ms >= 0 or name in moving:
            left.append((-1.0 if name in moving else retention_ms - lag_s * 1000, slot))
    slots = [slot for _, slot in sorted(left)[:_CLOSEST]]
    if not slots:
        return []
    produced_ms, kinds = written(flow.source.heads, sight.places[slots], sight.next_record[slots])
    told = [
        (slot, room_of(flow, found, slot, at_ms, LagKind(kind)))
        for slot, at_ms, kind in zip(slots, produced_ms.tolist(), kinds.tolist(), strict=True)
    ]
    return [(slot, room) for slot, room in told if room is not None]
