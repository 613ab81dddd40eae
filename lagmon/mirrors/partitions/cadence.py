"""How often the worker of a mirror writes offsets, by the windows of one flow. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lagmon.mirrors.partitions.window import MirrorWindows

LONGEST_MS = 600_000  # a longer gap shows little traffic, not rare commits
SURE_OF_SHORT = 8  # offsets in a window


def observed_cadence_ms(windows: MirrorWindows, configured_ms: int, floor_ms: int = 0) -> int:
    """Return the cadence: the shortest of the partitions' usual gaps between offsets, at least the floor.

    A partition with little traffic has long gaps of its own; the busiest shows the worker's. A restarted
    worker writes more often for a while. So gaps shorter than the configured one count only if all but one
    gap of the window are that short. Gaps shorter than the floor never count.
    """
    count = len(windows)
    filled = windows.rings.filled[:count]
    busy = filled >= 4
    if not busy.any():
        return configured_ms
    gaps = np.maximum(np.diff(windows.rings.committed_ms[:count][busy], axis=1), 0)
    known = filled[busy].astype(np.intp) - 1  # gaps; those before them sort last
    gaps[np.arange(gaps.shape[1]) < gaps.shape[1] - known[:, None]] = np.iinfo(gaps.dtype).max
    gaps.sort(axis=1)
    row = np.arange(len(gaps))
    usual = (gaps[row, (known - 1) // 2] + gaps[row, known // 2]) / 2
    longest_but_one = gaps[row, known - 2]
    longest_but_one[filled[busy] < SURE_OF_SHORT] = configured_ms
    usual = np.where(usual < configured_ms, np.clip(longest_but_one, usual, configured_ms), usual)
    shortest = float(usual.min())
    return max(floor_ms, int(shortest) if shortest <= LONGEST_MS else configured_ms)
