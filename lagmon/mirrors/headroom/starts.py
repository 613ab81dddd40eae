"""How fast the source's log starts move, partition by partition. Pure.

A start moves a segment at a time, so only its steps are kept, and nothing for starts that never move.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.partitions.window import MirrorWindows

    Longs = NDArray[np.int64]
    Name = tuple[str, int]  # topic and partition

STEPS = 8
SPAN_MS = 86_400_000  # an older step does not show the present rate


@dataclass(slots=True)
class LogStarts:
    """The steps of the log starts that moved, with the time of the poll that showed each."""

    _last: Longs = field(default_factory=lambda: np.zeros(0, np.int64))  # by slot
    _version: tuple[int, int] = (-1, -1)  # of the windows' slots
    _steps: dict[Name, deque[tuple[int, int]]] = field(default_factory=dict)

    def note(self, windows: MirrorWindows, partitions: PartitionsSnapshot, starts: Longs) -> None:
        """Note the log starts by place."""
        now = np.full(len(partitions.used), -1, np.int64)
        now[partitions.used] = starts[partitions.places[partitions.used]]
        if windows.version != self._version or len(now) != len(self._last):
            # A slot may belong to another partition by now: skip one step.
            self._version, self._last = windows.version, now
            there = {(topic, partition) for topic, partition, _ in windows.slots()}
            self._steps = {name: steps for name, steps in self._steps.items() if name in there}
            return
        for slot in np.flatnonzero((now >= 0) & (self._last >= 0) & (now != self._last)).tolist():
            first = partitions.now_ms, int(self._last[slot])
            steps = self._steps.setdefault(windows.name(slot), deque([first], maxlen=STEPS))
            steps.append((partitions.now_ms, int(now[slot])))
        self._last = np.where(now >= 0, now, self._last)

    def of(self, name: Name, *, start: int, now_ms: int) -> list[tuple[int, int]]:
        """Return (epoch ms, log start) of recent steps and of now; empty if the start never moved."""
        steps = [one for one in self._steps.get(name, ()) if now_ms - one[0] <= SPAN_MS]
        return [*steps, (now_ms, start)] if steps else []

    @property
    def moving(self) -> frozenset[Name]:
        """Return the partitions whose start has ever moved."""
        return frozenset(self._steps)
