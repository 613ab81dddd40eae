"""When the end of a log passed an offset: the points (end, time) that are kept of each place, and the search.

Pure functions over blocks with a column for each age and a row for each place, oldest column first. The last
`RECENT` columns are the newest looks, all of them. A look that grows older than these is *aged*: the first
`AGED` columns keep such points ever further apart. Places with fewer points miss columns at the left, where
the end is `UNKNOWN`. Along a row neither ends nor times ever fall. Ends and offsets are distances from an
anchor that the row has (`logs/near_ends.py`).

What is kept of the aged points. Nothing inside a plateau (the same end at look after look), only its first
and last instant. When all columns are full, one point goes: the oldest, once the next one is older than
`HORIZON_MS`; else the one that is missed least, which is the one where joining its two gaps bends the line
least, as a share of the age; a wide gap counts a little by itself. A point whose going leaves a gap wider
than `WIDEST * (age of the gap's newer end + NEAR_MS)` stays. There is always another: if none of the points
2, 4, ... 12 could go, ages (plus `NEAR_MS`) would grow by more than 1 + WIDEST six times over between
`NEAR_MS` and `HORIZON_MS + NEAR_MS`, which is a factor of 961, and 3.15 to the sixth is 977.

So any record written within the horizon is bracketed, and where a record was written and where thinning makes
us think it was lie in one gap: they differ by at most WIDEST * (age + NEAR_MS), and by nothing where both
looks around the record are still there, as in the newest `RECENT`. Where more than 2**31 - 1 records were
written within the horizon, points before that many go sooner, and what lies before all that are left has a
bound.

Where two looks lie further apart than `LONGEST_LINE_MS`, nobody looked in between (no leader, a cluster that
refused us, a process that was held): what came then counts as written at the later one, and has no bracket.
Of the newest looks their times tell that. When such a gap ages, the end before it becomes a point a second
time, at the instant of the look after it: two points of one instant have no time between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.logs.near_ends import UNKNOWN

if TYPE_CHECKING:
    from lagmon.arrays.kinds import Flags, Float32s, Int32s, Int64s


AGED = 14
RECENT = 10
POINTS = AGED + RECENT

HORIZON_MS = 86_400_000
NEAR_MS = 90_000  # what the newest looks span at the default cadence
WIDEST = 2.15
LONGEST_LINE_MS = 120_000  # the error that thinning allows for what was passed just now is larger
_GAP_WEIGHT = np.float32(1 / 8)  # a bend weighs eight times what a gap of the same length does

# Times are told from an origin that moves, in 32 bits; what is older than this before it is told as this.
SPAN_MS = 1 << 30


def age(ends: Int32s, times: Int32s, end: Int32s, time: Int32s, *, now: int, where: Flags) -> None:
    """Take one more point into some rows of a block of `AGED` columns, in place; one point goes for it."""
    gone = _least_missed([*ends, end], [*times, time], now)
    gone[~where] = AGED
    for column in range(AGED - 1):
        moves = gone <= column
        np.copyto(ends[column], ends[column + 1], where=moves)
        np.copyto(times[column], times[column + 1], where=moves)
    np.copyto(ends[-1], end, where=where)
    np.copyto(times[-1], time, where=where)


def _least_missed(ends: list[Int32s], times: list[Int32s], now: int) -> Int32s:
    """Return which of the aged columns goes, by row."""
    gone = np.ones(len(ends[0]), np.int32)
    least = np.full(len(gone), np.inf, np.float32)
    for column in range(1, AGED):
        score = _missed(ends[column - 1 : column + 2], times[column - 1 : column + 2], now)
        better = score < least
        np.copyto(gone, np.int32(column), where=better)
        np.copyto(least, score, where=better)
    has_room = ends[0] == UNKNOWN
    next_is_old = times[1] <= np.int64(now - HORIZON_MS)
    gone[has_room | next_is_old] = 0
    return gone


def _missed(ends: list[Int32s], times: list[Int32s], now: int) -> Float32s:
    """Return how much the middle one of three points would be missed; infinite where it must stay."""
    gap = (times[2] - times[0]).astype(np.float32)
    near = (np.int32(now) - times[2]).astype(np.float32) + np.float32(NEAR_MS)
    # Ends never fall along a row, so how far two lie apart fits into 32 bits without a sign.
    first, middle, last = (end.view(np.uint32) for end in ends)
    records = last - first
    share = (middle - first).astype(np.float32) / np.maximum(records, 1).astype(np.float32)
    bend = np.abs((times[1] - times[0]).astype(np.float32) - share * gap)
    score: Float32s = (bend + gap * _GAP_WEIGHT) / near
    score[gap > near * np.float32(WIDEST)] = np.inf
    score[records == 0] = -1  # inside a plateau, made so by an end that fell: no record was written there
    return score


def passed(ends: Int32s, times: Int32s, places: Int32s, offsets: Int32s) -> tuple[Int64s, Flags, Flags]:
    """Return when each end passed its offset (ms from the origin), whether it has, whether that is bracketed.

    The n records between two looks are taken as written evenly, the first half an nth after the earlier look.
    Where the offset is below all points the time is the oldest one's: it was written then or earlier. Where
    nobody looked in between it is the later look's.
    """
    above = _first_above(ends, places, offsets)
    has_passed = above < POINTS
    upper = np.minimum(above, POINTS - 1)
    lower = np.maximum(upper - 1, 0)
    upper_end, lower_end = ends[upper, places], ends[lower, places].astype(np.int64)
    upper_time = times[upper, places].astype(np.int64)
    lower_time = times[lower, places].astype(np.int64)
    apart = upper_time - lower_time
    looked = (apart > 0) & ((lower < AGED) | (apart <= LONGEST_LINE_MS))
    bracketed = has_passed & (above > 0) & (lower_end != UNKNOWN) & looked
    with np.errstate(divide="ignore", invalid="ignore"):  # rows that are not bracketed are replaced below
        share = ((offsets - lower_end) + 0.5) / (upper_end - lower_end).astype(np.float64)
    share = np.where(bracketed, share, 1.0)
    time = lower_time + np.rint(apart * share).astype(np.int64)
    # A time that was cut off is only a bound.
    return np.where(bracketed, time, upper_time), has_passed, bracketed & (lower_time > -SPAN_MS)


def ended(ends: Int32s, times: Int32s, places: Int32s, at: Int64s) -> Int32s:
    """Return where each end was at an instant (ms from the origin): on the line between the looks around it.

    `UNKNOWN` before the oldest look and after the newest, of which it is not known.
    """
    # The first column that is known and later.
    above = ((ends[:, places] == UNKNOWN) | (times[:, places] <= at)).sum(axis=0)
    upper = np.minimum(above, POINTS - 1)
    lower = np.maximum(above - 1, 0)  # of points of one instant the newest
    upper_end, lower_end = ends[upper, places], ends[lower, places].astype(np.int64)
    upper_time, lower_time = times[upper, places].astype(np.int64), times[lower, places].astype(np.int64)
    here = lower_time == at
    known = (above > 0) & (lower_end != UNKNOWN) & (here | (above < POINTS))
    share = (at - lower_time) / np.maximum(upper_time - lower_time, 1).astype(np.float64)
    share = np.where(known & ~here, share, 0.0)
    end = lower_end + np.floor((upper_end - lower_end) * share).astype(np.int64)
    return np.where(known, end, UNKNOWN).astype(np.int32)


def _first_above(ends: Int32s, places: Int32s, offsets: Int32s) -> Int64s:
    """Return the first column whose end is greater than the offset, `POINTS` where none is."""
    found = np.zeros(len(places), np.int64)
    left = POINTS
    while left > 1:
        half = left // 2
        found += half * (ends[found + (half - 1), places] <= offsets)
        left -= half
    found += ends[found, places] <= offsets
    return found
