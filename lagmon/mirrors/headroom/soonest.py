"""How soon retention deletes what a mirror with a fault has not replicated yet, as a sentence. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import duration_text
from lagmon.groups.rules.words import How, Status
from lagmon.logs.time_lag import LagKind, written
from lagmon.mirrors.headroom.partition import headroom_of
from lagmon.mirrors.partitions.snapshot import POLL_MS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirrors.headroom.estimate import Headroom
    from lagmon.mirrors.snapshot import FlowSnapshot
    from lagmon.mirrors.view import FlowView

_WAITING = (Status.WARN, Status.STOP, Status.STALL)
_CLOSEST = 20  # partitions of each kind that are checked: by retention.ms, and by speed
_WORTH = {
    How.BY_RETENTION: "in {}",
    How.BY_RECORD_TIME: "in about {}",
    How.AT_MOST: "in {} at most",
    How.BY_SPEED: "in {} at the present rates",
}


class Soonest:
    """The sentence of one flow, renewed at most once between two polls of the logs."""

    def __init__(self) -> None:
        self._at_ms = -1
        self._said = ""

    def sentence(self, flow: FlowView, snapshot: FlowSnapshot) -> str:
        """Return when and where that is; "" if nothing waits, or it is not in sight or unknown."""
        partitions = snapshot.partitions
        waits = (
            partitions.used
            & (partitions.lag > 0)
            & ~partitions.not_committing
            & np.isin(partitions.rows.status, _WAITING)
        )
        if not waits.any():
            self._at_ms = -1
            return ""
        if self._at_ms < 0 or not 0 <= snapshot.now_ms - self._at_ms < POLL_MS:
            self._at_ms, self._said = snapshot.now_ms, _said(flow, snapshot, np.flatnonzero(waits))
        return self._said


def _said(flow: FlowView, snapshot: FlowSnapshot, waits: NDArray[np.intp]) -> str:
    headrooms = [
        (headroom, slot) for slot, headroom in _headrooms(flow, snapshot, waits) if headroom.how in _WORTH
    ]
    if not headrooms:
        return ""
    headroom, slot = min(headrooms, key=lambda one: (one[0].seconds, one[1]))
    topic, partition = flow.windows.name(slot)
    seconds = headroom.seconds or 0.0
    worth = _WORTH[How.BY_RECORD_TIME if headroom.by_polls else headroom.how]
    when = worth.format(duration_text(round(seconds))) if seconds >= 1 else "any time now"
    return f"Retention deletes unreplicated records of {topic}-{partition} {when}."


def _headrooms(flow: FlowView, snapshot: FlowSnapshot, waits: NDArray[np.intp]) -> list[tuple[int, Headroom]]:
    """Return the headroom of those of these slots that may be closest."""
    partitions = snapshot.partitions
    by_age: list[tuple[float, int]] = []
    by_speed: list[tuple[float, int]] = []
    lag_s = partitions.lag_s[waits].tolist()
    records = (partitions.next_record[waits] - flow.source.heads.start[partitions.places[waits]]).tolist()
    moving, retention_ms = flow.starts.moving, flow.retention_ms
    for slot, seconds, left in zip(waits.tolist(), lag_s, records, strict=True):
        name = flow.windows.name(slot)
        longest_ms = retention_ms.get(name[0], -1)
        if longest_ms >= 0:
            by_age.append((longest_ms - seconds * 1000, slot))
        if name in moving:
            by_speed.append((left, slot))
    slots = sorted({slot for some in (by_age, by_speed) for _, slot in sorted(some)[:_CLOSEST]})
    if not slots:
        return []
    produced_ms, kinds = written(flow.source.heads, partitions.places[slots], partitions.next_record[slots])
    headrooms = [
        (slot, headroom_of(flow, snapshot.partitions, slot, at_ms, LagKind(kind)))
        for slot, at_ms, kind in zip(slots, produced_ms.tolist(), kinds.tolist(), strict=True)
    ]
    return [(slot, headroom) for slot, headroom in headrooms if headroom is not None]
