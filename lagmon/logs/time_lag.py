"""The age of the oldest record that a consumer at an offset has not read, in seconds. Pure.

The first that applies:
- nothing known of the place, or a negative offset: no answer;
- at the newest end or beyond it: 0;
- between two polls of the end: interpolated;
- older than all polls, or from a downtime of ours: the timestamp of the record, if it was read
  (logs/record_times.py); between two points with known timestamps (the log start and the oldest poll count):
  interpolated;
- below the log start: at least the age of the record at the start;
- otherwise: at least the age of the next known point.

Timestamps come from producers or brokers. They are used only if they are not later than a poll at which the
record existed.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from lagmon.logs.heads import LAST_MS

if TYPE_CHECKING:
    import numpy.typing as npt

    from lagmon.arrays.kinds import Flags, Int32s, Int64s
    from lagmon.logs.heads import Heads

NO_ANSWER_S = -1.0


class LagKind(IntEnum):
    """The kind of a time lag."""

    NONE = 0  # no answer
    EXACT = 1  # between two polls of the end, or 0
    AT_LEAST = 2
    ESTIMATE = 3  # by timestamps of records: its own or those around it


def lag_s(
    heads: Heads, places: Int32s, offsets: Int64s, now_ms: int, *, passed: tuple[Int64s, Flags] | None = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """Return the seconds by which each consumer is behind, and their kinds.

    An offset is the next one to read. Seconds are -1 if there is no answer, otherwise finite and never
    negative. `passed` is the result of `Heads.passed_ms` for these offsets, if known; it is overwritten.
    """
    written_ms, kinds = _written(heads, places, offsets, passed or heads.passed_ms(places, offsets))
    seconds = np.maximum(min(max(now_ms, 0), LAST_MS) - written_ms, 0) / 1000.0
    end = heads.end[places]
    no_answer = (end < 0) | (offsets < 0)
    caught_up = (offsets >= end) & ~no_answer
    seconds[caught_up], kinds[caught_up] = 0.0, LagKind.EXACT
    seconds[no_answer], kinds[no_answer] = NO_ANSWER_S, LagKind.NONE
    return seconds, kinds


def written(heads: Heads, places: Int32s, offsets: Int64s) -> tuple[Int64s, npt.NDArray[np.uint8]]:
    """Return when the records at these offsets were written, epoch ms, and the kind of each time.

    -1 and NONE if there is no such record yet, or nothing is known. AT_LEAST: written then or before.
    """
    return _written(heads, places, offsets, heads.passed_ms(places, offsets))


def _written(
    heads: Heads, places: Int32s, offsets: Int64s, passed: tuple[Int64s, Flags]
) -> tuple[Int64s, npt.NDArray[np.uint8]]:
    written_ms, exact = passed
    kinds = np.where(exact, LagKind.EXACT, np.where(written_ms < 0, LagKind.NONE, LagKind.AT_LEAST))
    told = kinds.astype(np.uint8)
    rows = np.flatnonzero(told == LagKind.AT_LEAST)
    if len(rows):
        written_ms[rows], told[rows] = _by_records(heads, places[rows], offsets[rows], written_ms[rows])
    return written_ms, told


def _by_records(
    heads: Heads, places: Int32s, offsets: Int64s, latest_ms: Int64s
) -> tuple[Int64s, npt.NDArray[np.uint8]]:
    """Return times, at most `latest_ms`, and kinds of records that no two polls bracket.

    Times never fall from one point to the next: the time of a record bounds those before it.
    """
    oldest_end, _ = heads.oldest_ms(places)
    start, start_ms = heads.start[places], heads.start_at_ms[places]
    before = offsets < oldest_end  # all polls; otherwise it was written during a downtime of ours
    next_there = np.where(before & (start < oldest_end), np.maximum(offsets, start), offsets)
    around = heads.records.around(places, next_there)
    by_start: Flags = (start_ms >= 0) & (start <= next_there) & (around.last < start)
    point = np.where(by_start, start, around.last)
    point_ms = np.where(by_start, start_ms, around.at_ms)
    believed: Flags = (point_ms >= 0) & (point_ms <= latest_ms) & ((point < oldest_end) | ~before)
    behind: Flags = (around.behind_at_ms >= 0) & (around.behind_at_ms <= latest_ms)
    behind &= around.behind_first < oldest_end
    next_point = np.where(behind, around.behind_first, oldest_end)
    next_ms = np.where(behind, around.behind_at_ms, latest_ms)
    point_ms = np.minimum(point_ms, next_ms)
    own = believed & (next_there <= point)
    between = believed & before & ~own
    share = np.where(between, (next_there - point) / np.maximum(next_point - point, 1), 0.0)
    line_ms = point_ms + np.rint((next_ms - point_ms) * share).astype(np.int64)
    written_ms = np.where(own | between, line_ms, next_ms)
    is_bound = ~(own | between) | (own & (offsets < next_there))
    return written_ms, np.where(is_bound, LagKind.AT_LEAST, LagKind.ESTIMATE).astype(np.uint8)
