"""The headroom of one partition of a flow, by its slot. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagmon.mirrors.headroom.estimate import Headroom, replication_headroom
from lagmon.mirrors.metadata.settings import APPEND_TIME

if TYPE_CHECKING:
    from lagmon.logs.time_lag import LagKind
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.partitions.window import MirrorWindows
    from lagmon.mirrors.view import FlowView


def mirror_per_s(windows: MirrorWindows, slot: int, now_ms: int) -> float | None:
    """Return how many offsets per second a mirror reads of a partition, None if unknown.

    That is over its window, up to the present: the rate of a stalled mirror falls with time.
    """
    rings, filled = windows.rings, int(windows.rings.filled[slot])
    if filled < 2:
        return None
    first = rings.length - filled
    took_ms = max(now_ms, int(windows.committed_ms[slot])) - int(rings.committed_ms[slot, first])
    read = int(windows.next_offset[slot]) - int(rings.offset[slot, first])
    return max(0, read) * 1000 / took_ms if took_ms > 0 else None


def headroom_of(
    flow: FlowView, partitions: PartitionsSnapshot, slot: int, produced_ms: int, produced: LagKind
) -> Headroom | None:
    """Return a partition's headroom, None if its log start is unknown.

    `produced_ms` is when the next record to read was written, -1 if unknown; `produced` is how good that time
    is.
    """
    name = flow.windows.name(slot)
    start = int(flow.source.heads.start[partitions.places[slot]])
    if start < 0:
        return None
    return replication_headroom(
        start=start,
        next_offset=int(partitions.next_record[slot]),
        now_ms=partitions.now_ms,
        log_starts=flow.starts.of(name, start=start, now_ms=partitions.now_ms),
        mirror_per_s=mirror_per_s(flow.windows, slot, partitions.now_ms),
        produced_ms=produced_ms,
        produced=produced,
        retention_ms=flow.retention_ms.get(name[0]),
        append_time=flow.settings.types.get((name[0], "source")) == APPEND_TIME,
    )
