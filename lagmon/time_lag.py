"""How old the oldest record is that a reader at an offset has not read, in seconds. Pure.

In order: nothing known of the place or a negative offset, no answer; at the newest end or past it, 0; between
two looks at the end, the line between them; below the log start, at least as old as the record at the start,
where its timestamp is known, because what was to be read is gone; older than all looks, between the record at
the log start and the oldest look, where that timestamp is known; otherwise as old as the oldest look, at
least.

The timestamp at the log start is a producer's word. It is believed where it is not later than our oldest
look, at which the record was there. Whether an offset past the end makes sense is for the evaluator to say.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from lagmon.heads import LAST_MS

if TYPE_CHECKING:
    import numpy.typing as npt

    from lagmon.head_history import Flags, Int32s, Int64s
    from lagmon.heads import Heads

NO_ANSWER_S = -1.0


class LagKind(IntEnum):
    """What a time lag is worth."""

    NONE = 0  # no answer
    EXACT = 1  # between two looks at the end, or 0
    BOUND = 2  # so much at least
    ESTIMATE = 3  # between the timestamp of the record at the log start and our oldest look


def lag_s(
    heads: Heads, places: Int32s, offsets: Int64s, now_ms: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint8]]:
    """Return the seconds by which each reader is behind, and their kinds.

    An offset is the next one to be read. Seconds are -1 where there is no answer, never negative otherwise,
    never infinite or NaN.
    """
    written_ms, exact = heads.passed_ms(places, offsets)
    kinds = np.where(exact, LagKind.EXACT, LagKind.BOUND).astype(np.uint8)
    open_ = ~exact & (written_ms >= 0)
    if open_.any():
        written_ms[open_], kinds[open_] = _before_the_looks(heads, places[open_], offsets[open_])
    seconds = np.maximum(min(max(now_ms, 0), LAST_MS) - written_ms, 0) / 1000.0
    end = heads.end[places]
    no_answer = (end < 0) | (offsets < 0)
    caught_up = (offsets >= end) & ~no_answer
    seconds[caught_up], kinds[caught_up] = 0.0, LagKind.EXACT
    seconds[no_answer], kinds[no_answer] = NO_ANSWER_S, LagKind.NONE
    return seconds, kinds


def _before_the_looks(heads: Heads, places: Int32s, offsets: Int64s) -> tuple[Int64s, npt.NDArray[np.uint8]]:
    """Return when records were written that are older than all looks, and the kind of that."""
    oldest_end, oldest_ms = heads.oldest_ms(places)
    start, start_ms = heads.start[places], heads.start_at_ms[places]
    believed: Flags = (start < oldest_end) & (start_ms >= 0) & (start_ms <= oldest_ms)
    lost = believed & (offsets <= start)
    between = believed & (offsets > start) & (offsets < oldest_end)
    records = np.maximum(oldest_end - start, 1)
    share = np.where(between, (offsets - start) / records, 0.0)
    line_ms = start_ms + np.rint((oldest_ms - start_ms) * share).astype(np.int64)
    written_ms = np.where(lost, start_ms, np.where(between, line_ms, oldest_ms))
    kinds = np.where(between, LagKind.ESTIMATE, LagKind.BOUND).astype(np.uint8)
    kinds[believed & (offsets == start)] = LagKind.ESTIMATE  # that record's own timestamp
    return written_ms, kinds
