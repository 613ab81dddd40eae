"""How fast the source's logs are deleted from, partition by partition: the steps of their starts. Pure.

A start moves a segment at a time, so what is kept are its steps, and nothing of those that never move.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lagmon.mirrors.headroom import Headroom, replication_headroom

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.logs.time_lag import LagKind
    from lagmon.mirrors.flow import FlowSight, MirrorFlow
    from lagmon.mirrors.sight import MirrorSight
    from lagmon.mirrors.window import MirrorWindows

    Longs = NDArray[np.int64]
    Name = tuple[str, int]  # topic and partition

STEPS = 8
SPAN_MS = 86_400_000  # a step that is older says nothing of the present rate


@dataclass(slots=True)
class StartLooks:
    """The steps of the starts that moved, with the time of the look that showed each."""

    _last: Longs = field(default_factory=lambda: np.zeros(0, np.int64))  # by slot
    _version: tuple[int, int] = (-1, -1)  # of the windows' slots
    _steps: dict[Name, deque[tuple[int, int]]] = field(default_factory=dict)

    def note(self, windows: MirrorWindows, sight: MirrorSight, starts: Longs) -> None:
        """Take note of the log starts by place, as they are known now."""
        now = np.full(len(sight.used), -1, np.int64)
        now[sight.used] = starts[sight.places[sight.used]]
        if windows.version != self._version or len(now) != len(self._last):
            # A slot may be another partition's by now: one step is left out.
            self._version, self._last = windows.version, now
            there = {(topic, partition) for topic, partition, _ in windows.slots()}
            self._steps = {name: steps for name, steps in self._steps.items() if name in there}
            return
        for slot in np.flatnonzero((now >= 0) & (self._last >= 0) & (now != self._last)).tolist():
            first = sight.now_ms, int(self._last[slot])
            steps = self._steps.setdefault(windows.name(slot), deque([first], maxlen=STEPS))
            steps.append((sight.now_ms, int(now[slot])))
        self._last = np.where(now >= 0, now, self._last)

    def of(self, name: Name, *, start: int, now_ms: int) -> list[tuple[int, int]]:
        """Return (epoch ms, log start) of the steps of late and of now; empty where it never moved."""
        steps = [one for one in self._steps.get(name, ()) if now_ms - one[0] <= SPAN_MS]
        return [*steps, (now_ms, start)] if steps else []

    @property
    def moving(self) -> frozenset[Name]:
        """Return the partitions whose start was ever seen to move."""
        return frozenset(self._steps)


def mirror_per_s(windows: MirrorWindows, slot: int, now_ms: int) -> float | None:
    """Return what a mirror reads of a partition in offsets per second, None where it is not known.

    Over its window, up to the present: one that stands reads less the longer it does.
    """
    rings, filled = windows.rings, int(windows.rings.filled[slot])
    if filled < 2:
        return None
    first = rings.length - filled
    took_ms = max(now_ms, int(windows.committed_ms[slot])) - int(rings.committed_ms[slot, first])
    read = int(windows.next_offset[slot]) - int(rings.offset[slot, first])
    return max(0, read) * 1000 / took_ms if took_ms > 0 else None


def room_of(
    flow: MirrorFlow, found: FlowSight, slot: int, produced_ms: int, produced: LagKind
) -> Headroom | None:
    """Return a partition's headroom, None where its log start is not known.

    `produced_ms` is when the record was written that is to be read next, -1 where that is not known, and
    `produced` what that is worth.
    """
    sight, name = found.sight, flow.windows.name(slot)
    start = int(flow.source.heads.start[sight.places[slot]])
    if start < 0:
        return None
    return replication_headroom(
        start=start,
        next_offset=int(sight.next_record[slot]),
        now_ms=found.now_ms,
        start_looks=flow.starts.of(name, start=start, now_ms=found.now_ms),
        mirror_per_s=mirror_per_s(flow.windows, slot, found.now_ms),
        produced_ms=produced_ms,
        produced=produced,
        retention_ms=flow.retention_ms.get(name[0]),
    )
