"""What the rules allow. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """What the rules allow; records and milliseconds."""

    allowed_lag: int = 0
    stale_after_ms: int = 60_000  # since what a group has committed is known
    head_stale_after_ms: int = 60_000  # since the end of its log was read
    stopped_after_ms: int = 60_000
    in_turns_ms: int = 300_000
    longest_turn_ms: int = 900_000
    usual_gaps: int = 3
    grown_for_ms: int = 60_000
    grown_lags: int = 9  # so many at least tell that a lag grows: of fewer, chance makes a row too often
    grown_rises: int = 5  # and so many times it rose: once is no trend
    grown_by_ms: int = 10_000  # and by more than was written in so long: a little is chance
    empty_is_read: bool = True  # of a log that was made anew and is empty nothing is left to read
    paced: bool = False  # how often commits come is known without this window: one of them is enough
    far_ms: int = 600_000  # a time further ahead of ours than this is no time
