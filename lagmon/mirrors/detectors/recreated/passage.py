"""Whether the beginning of a source topic that was made anew was copied, out of a copy's growth. Pure.

mirrors/recreated/beginnings.py tells what these numbers are and where they come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Passage(Enum):
    """What became of the new log's beginning in one partition."""

    COPIED = "copied"
    PASSED_OVER = "passed over"
    NOT_TOLD = "not told"  # both look alike, now and later


@dataclass(frozen=True, slots=True)
class Base:
    """Where the mirror was when its offset was last known to be one of the old log."""

    next_offset: int
    at_ms: int
    target_end: int
    sure: bool  # whether no later offset could have been of the old log too
    log_most: int = -1  # the most that the old log can have held in the end, -1 where that is not known


@dataclass(frozen=True, slots=True)
class Sighted:
    """One partition at a look at the target's end, after its source topic was made anew.

    `low` and `high` are the least and the most that N + 1 can have been at that look.
    """

    start: int
    low: int
    high: int
    target_end: int
    at_ms: int


def judge_passage(base: Base, seen: Sighted) -> Passage | None:
    """Tell what became of the log's beginning, None while both explanations would fit."""
    passed = base.next_offset - seen.start
    if passed <= 0:
        return Passage.COPIED  # there is nothing before it
    if seen.high - seen.low >= passed:
        return None
    grew = seen.target_end - base.target_end
    skipped = _distance(grew, seen.low - base.next_offset, seen.high - base.next_offset)
    copied = _distance(grew, seen.low - seen.start, seen.high - seen.start)
    return Passage.PASSED_OVER if skipped < copied else Passage.COPIED


def markers_may_tell(base: Base, seen: Sighted) -> bool:
    """Tell whether transactions may have left such a gap, where the beginning seems to be passed over.

    Their markers take offsets and are not copied: one for each record, at most. A copy that grew by N's own
    growth, to the record, has none of them.
    """
    grew = seen.target_end - base.target_end
    skipped = _distance(grew, seen.low - base.next_offset, seen.high - base.next_offset)
    return skipped > 0 and 2 * grew >= seen.low - seen.start


def _distance(number: int, low: int, high: int) -> int:
    return max(low - number, number - high, 0)
