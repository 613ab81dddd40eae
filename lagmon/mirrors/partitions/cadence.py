"""How often the worker of a mirror writes offsets, as the windows of one flow show it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lagmon.mirrors.partitions.window import MirrorWindows

LONGEST_MS = 600_000  # beyond this it is the traffic that is rare, not the commits
SURE_OF_SHORT = 8  # offsets in a window


def observed_cadence_ms(windows: MirrorWindows, configured_ms: int, floor_ms: int = 0) -> int:
    """Return how often the worker writes offsets: the shortest of the partitions' usual gaps, or the floor.

    A partition with little traffic has long gaps of its own; the busiest shows the worker's. A worker that is
    started anew writes more often for a while: gaps shorter than what it is said to keep are believed where
    all in the window are short but one, and those shorter than the floor never are.
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
