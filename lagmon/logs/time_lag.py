"""How old the oldest record is that a reader at an offset has not read, in seconds. Pure.

In order: nothing known of the place or a negative offset, no answer; at the newest end or past it, 0;
between two looks at the end, the line between them. What is older than all looks, or passed while nobody
looked: the timestamp of the record there, where it was read (logs/record_times.py); between two points that
are known so, the first of which may be the log's start and the last our oldest look, the line between them;
below the log start, at least as old as the record at the start, because what was to be read is gone;
otherwise as old as the next point that is known, at least.

A record's timestamp is a producer's word, or its broker's. It is believed where it is not later than our
look at which the record was there. Whether an offset past the end makes sense is for the evaluator to say.
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
    """What a time lag is worth."""

    NONE = 0  # no answer
    EXACT = 1  # between two looks at the end, or 0
    AT_LEAST = 2
    ESTIMATE = 3  # by the timestamps of records: of the next one itself, or of such around it


def lag_s(
    heads: Heads, places: Int32s, offsets: Int64s, now_ms: int, *, passed: tuple[Int64s, Flags] | None = None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """Return the seconds by which each reader is behind, and their kinds.

    An offset is the next one to be read. Seconds are -1 if there is no answer, never negative otherwise,
    never infinite or NaN. `passed` is what the heads say of when these offsets were passed, where that was
    asked already; it is written over.
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
    """Return when the records at these offsets were written, epoch ms, and what each of that is worth.

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
    """Return when records were written that no two looks bracket, at `latest_ms` at the latest, and the kind.

    Times never fall from one point to the next: what is known of a record bounds those before it.
    """
    oldest_end, _ = heads.oldest_ms(places)
    start, start_ms = heads.start[places], heads.start_at_ms[places]
    before = offsets < oldest_end  # all looks; else it was written while nobody looked
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
