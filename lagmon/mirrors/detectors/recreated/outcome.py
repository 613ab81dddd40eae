"""Whether the start of a re-created source topic was replicated, by the target's growth. Pure.

starts.py explains these numbers and where they come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class StartOutcome(Enum):
    """What became of the new log's start in one partition."""

    REPLICATED = "replicated"
    SKIPPED = "skipped"
    AMBIGUOUS = "ambiguous"  # both fit, now and later


@dataclass(frozen=True, slots=True)
class Base:
    """Where the mirror was when its offset was last known to belong to the old log."""

    next_offset: int
    at_ms: int
    target_end: int
    sure: bool  # whether no later offset can be of the old log too
    log_most: int = -1  # the most that the old log can have held in the end; -1: unknown


@dataclass(frozen=True, slots=True)
class PartitionPoll:
    """One partition at a poll of the target's end, after its source topic was re-created.

    `low` and `high` are the least and the most that N + 1 can have been at that poll.
    """

    start: int
    low: int
    high: int
    target_end: int
    at_ms: int


def judge_start(base: Base, seen: PartitionPoll) -> StartOutcome | None:
    """Return what became of the log start, None while both explanations fit."""
    passed = base.next_offset - seen.start
    if passed <= 0:
        return StartOutcome.REPLICATED  # nothing was before it
    if seen.high - seen.low >= passed:
        return None
    grew = seen.target_end - base.target_end
    skipped = _distance(grew, seen.low - base.next_offset, seen.high - base.next_offset)
    replicated = _distance(grew, seen.low - seen.start, seen.high - seen.start)
    return StartOutcome.SKIPPED if skipped < replicated else StartOutcome.REPLICATED


def markers_may_explain(base: Base, seen: PartitionPoll) -> bool:
    """Return whether transaction markers may have left such a gap, if the start seems skipped.

    Their markers take offsets and are not replicated: at most one for each record. A target that grew by
    exactly N's own growth has none of them.
    """
    grew = seen.target_end - base.target_end
    skipped = _distance(grew, seen.low - base.next_offset, seen.high - base.next_offset)
    return skipped > 0 and 2 * grew >= seen.low - seen.start


def _distance(number: int, low: int, high: int) -> int:
    return max(low - number, number - high, 0)
