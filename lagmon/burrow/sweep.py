"""Burrow's verdicts on all partitions at once: burrow/rules.py as arrays. Pure.

Rules are applied from the last to the first, so that the first that holds is written last. Rows are processed
in chunks, columns first, so that temporaries stay in the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.place_rows import parts
from lagmon.groups.rules.window import columns, statuses
from lagmon.groups.rules.words import Reason, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.burrow.rules import BurrowPolicy
    from lagmon.groups.rules.groups import Grouping
    from lagmon.groups.rules.window import Flags, Longs, Windows

CHUNK = 16_384


@dataclass(frozen=True, slots=True)
class BurrowSweep:
    """Burrow's verdict on each row."""

    status: NDArray[np.int8]
    reason: NDArray[np.int8]
    complete: NDArray[np.float32]
    current_lag: Longs


@dataclass(frozen=True, slots=True)
class BurrowGroups:
    """Burrow's verdict on each group; `max_lag` is a row, -1 if the group has none."""

    status: NDArray[np.int8]
    complete: NDArray[np.float32]
    max_lag: NDArray[np.int64]
    total_lag: Longs


def lowest_end(recent: Longs) -> Longs:
    """Return the lowest of each row's sampled ends, -1 if there is none; (rows, columns), -1 missing."""
    unsigned = recent.view(np.uint64)  # -1 is larger than any end here
    lowest = unsigned[:, 0].copy()
    for column in range(1, recent.shape[1]):
        np.minimum(lowest, unsigned[:, column], out=lowest)
    return lowest.view(np.int64)


def burrow_sweep(
    windows: Windows,
    newest_end: Longs,
    lowest: Longs,
    *,
    now_ms: int,
    policy: BurrowPolicy,
    owned: Flags | None = None,
) -> BurrowSweep:
    """Judge every row as `burrow_partition` does.

    `newest_end` and `lowest` are of the last sampled ends, as many as Burrow keeps, -1 if there are none.
    `owned` marks rows without a commit that have an owner, and so a ring.
    """
    rows, length = windows.offset.shape
    reason = np.empty(rows, np.int8)
    current_lag = np.empty(rows, np.int64)
    for part in parts(rows, CHUNK):
        _judge(
            windows,
            part,
            newest_end=newest_end[part],
            lowest=lowest[part],
            now_ms=now_ms,
            allowed_lag=policy.allowed_lag,
            reason=reason[part],
            current_lag=current_lag[part],
        )
    stored = windows.filled.astype(np.float32)
    if owned is not None:
        without = windows.filled == 0
        stored[without & owned] = 1
        reason[without & owned] = Reason.BURROW_NO_COMMIT
    complete = stored / np.float32(length)
    few = (complete < np.float32(policy.minimum_complete)) & (windows.filled > 0)
    reason[few] = Reason.BURROW_INCOMPLETE
    return BurrowSweep(statuses(reason), reason, complete, current_lag)


def burrow_groups(sweep: BurrowSweep, grouping: Grouping, not_found: Flags) -> BurrowGroups:
    """Judge every group by its rows as `burrow_group` does.

    `not_found` marks groups that are unknown or expired. Of rows with equal lag the first counts.
    """
    worst, _ = grouping.largest(sweep.status, Status.OK)
    _, max_lag = grouping.largest(sweep.current_lag, 0)
    total_lag = grouping.sums(sweep.current_lag)
    full = grouping.sums((sweep.complete == 1).astype(np.int64)).astype(np.float32)
    sizes = np.ones(grouping.count, np.float32)  # avoids a division by zero
    sizes[grouping.present] = grouping.sizes
    complete = full / sizes
    status = np.minimum(worst, Status.ERR).astype(np.int8)
    status[not_found], complete[not_found] = Status.NOTFOUND, 1
    max_lag[not_found], total_lag[not_found] = -1, 0
    return BurrowGroups(status, complete, max_lag, total_lag)


def _judge(
    windows: Windows,
    part: slice,
    *,
    newest_end: Longs,
    lowest: Longs,
    now_ms: int,
    allowed_lag: int,
    reason: NDArray[np.int8],
    current_lag: Longs,
) -> None:
    """Write reasons and lags of one chunk into these arrays."""
    offset, times, lag = (columns(one, part) for one in (windows.offset, windows.committed_ms, windows.lag))
    length = len(offset)
    last, filled = offset[-1], windows.filled[part]
    np.maximum(newest_end - last, 0, out=current_lag)
    current_lag[newest_end < 0] = 0
    current_lag[filled == 0] = 0

    first_ms = times[-1].copy()
    was_allowed, falls = np.zeros((2, len(last)), np.bool_)
    highest_lag = np.full(len(last), -1, np.int64)
    same, is_back = np.ones((2, len(last)), np.bool_)
    stepped = np.zeros(len(last), np.bool_)
    peak = np.zeros(len(last), np.int64)  # the offset before the first step back
    for column in range(length):
        at, known = offset[column], lag[column] >= 0
        here = filled >= length - column
        was_allowed |= known & (lag[column] <= allowed_lag)
        # The last known lag is the highest so far, unless it has already fallen.
        falls |= known & (lag[column] < highest_lag)
        np.maximum(highest_lag, lag[column], out=highest_lag)
        same &= ~here | (at == last)
        begins = filled == length - column
        np.copyto(first_ms, times[column], where=begins)
        if column:
            is_back |= stepped & (at >= peak)
            steps_back = here & ~begins & ~stepped & (at < offset[column - 1])
            stepped |= steps_back
            is_back &= ~steps_back
            np.copyto(peak, offset[column - 1], where=steps_back)

    now_s_ms = np.int64(now_ms // 1000 * 1000)
    stopped = (now_s_ms - times[-1]) > (times[-1] - first_ms)
    stopped &= ~((lowest >= 0) & (lowest <= last))
    reason[:] = Reason.BURROW_DECREASING
    reason[~falls] = Reason.BURROW_NOT_DECREASING
    reason[same] = Reason.BURROW_STALLED
    reason[was_allowed] = Reason.BURROW_LAG_WAS_ALLOWED
    reason[~is_back] = Reason.BURROW_REWOUND
    reason[stopped] = Reason.BURROW_STOPPED
    reason[current_lag <= allowed_lag] = Reason.BURROW_LAG_ALLOWED
    reason[filled == 0] = Reason.BURROW_NO_RING
