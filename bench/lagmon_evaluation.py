"""How long it takes to judge 100,000 full windows, by our rules and by Burrow's. No broker takes part."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from lagmon.burrow.rules import BurrowPolicy
from lagmon.burrow.sweep import burrow_sweep
from lagmon.groups.rings import LENGTH
from lagmon.groups.rules.policy import Policy
from lagmon.groups.rules.window import Positions, Windows
from lagmon.groups.sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Callable

WINDOWS = 100_000
REPEATS = 9
NOW_MS = 1_800_000_000_000
_EVERY_MS = 5_000


def measure() -> dict[str, Any]:
    """Return the processor time of each, in ms, where every window has something to read, and where none has.

    Half of the windows move and fall behind, a quarter stands, the rest went back once: no rule is spared.
    """
    windows = full_windows(WINDOWS)
    last = windows.offset[:, -1]
    behind, caught_up = positions(windows, last + 1_000), positions(windows, last)
    policy, burrow = Policy(), BurrowPolicy()
    return {
        "windows": WINDOWS,
        "ours_behind_ms": _spent_ms(lambda: sweep(windows, behind, now_ms=NOW_MS, policy=policy)),
        "ours_caught_up_ms": _spent_ms(lambda: sweep(windows, caught_up, now_ms=NOW_MS, policy=policy)),
        "burrow_behind_ms": _spent_ms(
            lambda: burrow_sweep(windows, last + 1_000, last + 1, now_ms=NOW_MS, policy=burrow)
        ),
    }


def full_windows(count: int) -> Windows:
    """Return that many windows without a missing commit."""
    numbers = np.arange(count)
    steps = np.tile(np.arange(LENGTH), (count, 1))
    pace = np.where(numbers % 4 < 2, 100, 0)[:, None]
    offset = (10_000 + steps * pace).astype(np.int64)
    offset[numbers % 4 == 3, LENGTH // 2 :] = 9_000
    committed_ms = (NOW_MS - 1_000 - (LENGTH - 1 - steps) * _EVERY_MS).astype(np.int64)
    lag = (500 + steps * 50).astype(np.int64)
    filled = np.full(count, LENGTH, np.int8)
    return Windows(offset=offset, committed_ms=committed_ms, lag=lag, filled=filled, live=filled)


def positions(windows: Windows, end: np.ndarray[Any, np.dtype[np.int64]]) -> Positions:
    """Return positions with these ends, all else as it is where nothing is wrong."""
    count = len(windows)
    now, nothing = np.full(count, NOW_MS, np.int64), np.zeros(count, np.int64)
    return Positions(
        head=end,
        end=end,
        head_at_ms=now - 1_000,
        start=nothing,
        readable_from=nothing - 1,
        others_moved_ms=nothing - 1,
        moved_ms=nothing - 1,
        known_before=nothing - 1,
        left_ms=nothing - 1,
        back_ms=nothing - 1,
        hangs_ms=nothing - 1,
        usual_pause_ms=nothing - 1,
        passed_ms=now - 30_000,
        passed_exact=np.ones(count, np.bool_),
        seen_ms=windows.committed_ms[:, -1],
        commits_read_to_ms=now - 500,
        remade_ms=nothing - 1,
        members=nothing + 1,
    )


def _spent_ms(work: Callable[[], object]) -> float:
    spent = []
    for _ in range(REPEATS):
        began = time.process_time()
        work()
        spent.append(time.process_time() - began)
    return round(median(spent) * 1000, 1)
