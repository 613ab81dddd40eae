"""Thresholds of the rules. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """Thresholds of the rules, in records and milliseconds."""

    allowed_lag: int = 0
    stale_after_ms: int = 60_000  # age of the newest known commits of a group
    head_stale_after_ms: int = 60_000  # age of the last poll of the log end
    stopped_after_ms: int = 60_000
    in_turns_ms: int = 300_000
    longest_turn_ms: int = 900_000
    usual_gaps: int = 3
    grown_for_ms: int = 60_000
    grown_lags: int = 9  # fewer known lags rise by chance too often
    grown_rises: int = 5  # and at least so many rises
    grown_by_ms: int = 10_000  # and by more than is written in this time
    empty_is_read: bool = True  # an empty re-created log has nothing to read
    # Deleted offsets of an emptied log that may all have been transaction markers; more held a record.
    maybe_markers: int = 1000
    paced: bool = False  # one commit is enough: the pace is known from elsewhere
    far_ms: int = 600_000  # a time further ahead of our clock is impossible
