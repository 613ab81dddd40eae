"""When a log end passed an offset: the kept points (end, time) of each place, and the search. Pure.

Functions work on blocks with a column for each age, oldest first, and a row for each place. The last `RECENT`
columns are the newest polls, all of them. Older polls are *aged*: the first `AGED` columns keep points at
growing distances. Places with fewer points have no values on the left, where the end is `UNKNOWN`. Along a
row neither ends nor times ever fall. Ends and offsets are distances from the row's anchor
(`logs/near_ends.py`).

Which aged points are kept: nothing inside a plateau (the same end at many polls), only its first and last
instant. When all columns are full, one point is dropped: the oldest, once the next one is older than
`HORIZON_MS`; otherwise the one whose removal bends the line least relative to its age, where wide gaps count
a little too. A point stays if its removal would leave a gap wider than `WIDEST * (age of the gap's newer end
+ NEAR_MS)`. There is always another one: if none of the points 2, 4, ... 12 could be dropped, ages (plus
`NEAR_MS`) would grow by more than 1 + WIDEST six times between `NEAR_MS` and `HORIZON_MS + NEAR_MS`, which is
a factor of 961, and 3.15 to the sixth is 977.

So every record written within the horizon is bracketed, and the error from dropped points is at most WIDEST *
(age + NEAR_MS), and 0 while both polls around the record are kept, as among the newest `RECENT`. If more than
2**31 - 1 records were written within the horizon, older points are dropped sooner, and records before all
points have a bound.

If two polls are further apart than `LONGEST_LINE_MS`, the log was not polled in between (no leader, access
denied, a paused process): records from that time count as written at the later poll, and have no bracket. For
the newest polls their times show this. When such a gap ages, the end before it becomes a second point at the
time of the poll after it: no time lies between two points of one instant.
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
NEAR_MS = 90_000  # the span of the newest polls at the default interval
WIDEST = 2.15
LONGEST_LINE_MS = 120_000  # dropped points may cause a larger error for recent records
_GAP_WEIGHT = np.float32(1 / 8)  # a bend counts eight times as much as a gap of the same length

# Times are 32-bit distances from an origin that moves; older ones are cut off at this distance.
SPAN_MS = 1 << 30


def age(ends: Int32s, times: Int32s, end: Int32s, time: Int32s, *, now: int, where: Flags) -> None:
    """Add one more point to some rows of a block of `AGED` columns, in place; one point is dropped for it."""
    gone = _least_missed([*ends, end], [*times, time], now)
    gone[~where] = AGED
    for column in range(AGED - 1):
        moves = gone <= column
        np.copyto(ends[column], ends[column + 1], where=moves)
        np.copyto(times[column], times[column + 1], where=moves)
    np.copyto(ends[-1], end, where=where)
    np.copyto(times[-1], time, where=where)


def _least_missed(ends: list[Int32s], times: list[Int32s], now: int) -> Int32s:
    """Return the aged column to drop, by row."""
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
    """Return the cost of dropping the middle one of three points; infinite if it must stay."""
    gap = (times[2] - times[0]).astype(np.float32)
    near = (np.int32(now) - times[2]).astype(np.float32) + np.float32(NEAR_MS)
    # Ends never fall along a row, so the distance of two fits into 32 unsigned bits.
    first, middle, last = (end.view(np.uint32) for end in ends)
    records = last - first
    share = (middle - first).astype(np.float32) / np.maximum(records, 1).astype(np.float32)
    bend = np.abs((times[1] - times[0]).astype(np.float32) - share * gap)
    score: Float32s = (bend + gap * _GAP_WEIGHT) / near
    score[gap > near * np.float32(WIDEST)] = np.inf
    score[records == 0] = -1  # inside a plateau that an end which fell has made: no record was written there
    return score


def passed(ends: Int32s, times: Int32s, places: Int32s, offsets: Int32s) -> tuple[Int64s, Flags, Flags]:
    """Return when each end passed its offset (ms from the origin), if it has, and if polls bracket that.

    The n records between two polls count as written evenly, the first one half an nth after the earlier poll.
    An offset below all points has the time of the oldest one as a bound. After a gap in polling the time is
    that of the later poll.
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
    with np.errstate(divide="ignore", invalid="ignore"):  # rows without a bracket are replaced below
        share = ((offsets - lower_end) + 0.5) / (upper_end - lower_end).astype(np.float64)
    share = np.where(bracketed, share, 1.0)
    time = lower_time + np.rint(apart * share).astype(np.int64)
    # A time that was cut off is only a bound.
    return np.where(bracketed, time, upper_time), has_passed, bracketed & (lower_time > -SPAN_MS)


def ended(ends: Int32s, times: Int32s, places: Int32s, at: Int64s) -> Int32s:
    """Return the end at an instant (ms from the origin), interpolated between the polls around it.

    `UNKNOWN` before the oldest poll and after the newest.
    """
    # The first column that is known and later.
    above = ((ends[:, places] == UNKNOWN) | (times[:, places] <= at)).sum(axis=0)
    upper = np.minimum(above, POINTS - 1)
    lower = np.maximum(above - 1, 0)  # of points of one instant, the newest
    upper_end, lower_end = ends[upper, places], ends[lower, places].astype(np.int64)
    upper_time, lower_time = times[upper, places].astype(np.int64), times[lower, places].astype(np.int64)
    here = lower_time == at
    known = (above > 0) & (lower_end != UNKNOWN) & (here | (above < POINTS))
    share = (at - lower_time) / np.maximum(upper_time - lower_time, 1).astype(np.float64)
    share = np.where(known & ~here, share, 0.0)
    end = lower_end + np.floor((upper_end - lower_end) * share).astype(np.int64)
    return np.where(known, end, UNKNOWN).astype(np.int32)


def _first_above(ends: Int32s, places: Int32s, offsets: Int32s) -> Int64s:
    """Return the first column whose end is greater than the offset, `POINTS` if none is."""
    found = np.zeros(len(places), np.int64)
    left = POINTS
    while left > 1:
        half = left // 2
        found += half * (ends[found + (half - 1), places] <= offsets)
        left -= half
    found += ends[found, places] <= offsets
    return found
