"""Pace, time without progress and steps of many windows at once, columns first. Pure.

The same values as in groups/rules/case.py, as arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.groups.rules.policy import Policy
    from lagmon.groups.rules.window import Flags, Longs, Positions

_NONE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Pace:
    """The values that the rules need, an entry for each row; times are epoch milliseconds by our clock.

    Only `back_ms`, the commit of the step back, is by the broker's clock.
    """

    lowest_offset: Longs
    absurd: Flags
    absurd_ms: Longs
    committed_since_ms: Longs
    idle_since_ms: Longs
    idle_ms: Longs
    usual_gap_ms: Longs
    stopped_after_ms: Longs
    alone_after_ms: Longs
    others_move: Flags
    same_since_idle: Longs
    moves: Flags
    is_back: Flags
    peak: Longs
    back_to: Longs
    back_ms: Longs

    @classmethod
    def of(
        cls,
        offset: Longs,
        times: Longs,
        waits: Flags,
        filled: NDArray[np.integer],
        here: Positions,
        *,
        went_back: Longs | None,
        now_ms: int,
        policy: Policy,
    ) -> Pace:
        """Compute all values; `offset`, `times` and `waits` are (columns, rows), `went_back` as in `Windows`.

        `waits` marks the commits with a known lag above the allowed one.
        """
        length = len(offset)
        here_from = [filled >= length - column for column in range(length)]
        usual_gap_ms = _median_gap(offset, times, here_from)  # first, as it needs much memory
        lowest, first = offset[-1].copy(), offset[-1].copy()
        earliest_ms = times[-1].copy()
        for column in range(length - 1):
            np.copyto(lowest, np.minimum(lowest, offset[column]), where=here_from[column])
            np.copyto(earliest_ms, np.minimum(earliest_ms, times[column]), where=here_from[column])
            np.copyto(first, offset[column], where=filled == length - column)
        absurd, absurd_ms = _absurd(times.max(axis=0), earliest_ms, here, now_ms + policy.far_ms)
        seen, run = _same_offset_seen(offset, times, here_from, here.seen_ms)
        committed_since_ms = seen[-1].copy()
        for column in range(length - 2, -1, -1):
            np.copyto(committed_since_ms, seen[column], where=run[column])
        moved_ms = np.where(here.moved_ms >= 0, here.moved_ms, committed_since_ms)
        committed_since_ms = np.minimum(committed_since_ms, moved_ms)
        passed_ms = np.where(here.passed_ms >= 0, here.passed_ms, here.head_at_ms)
        idle_since_ms = np.maximum(passed_ms, committed_since_ms)
        same_since_idle = np.zeros(len(filled), np.int64)
        for column in range(length):
            same_since_idle += run[column] & (seen[column] > idle_since_ms)
        del seen, run
        paced_ms = np.where(here.members == 0, usual_gap_ms * 5 // 4, policy.usual_gaps * usual_gap_ms)
        pause_ms = np.where(here.members <= 0, here.usual_pause_ms * 5 // 4, -1)
        alone_after_ms = np.maximum(policy.stopped_after_ms, np.maximum(paced_ms, pause_ms))
        others_move = (here.others_moved_ms >= 0) & (now_ms - here.others_moved_ms <= policy.stopped_after_ms)
        turn_ms = np.minimum(policy.longest_turn_ms, _longest_rest(offset, times, waits, here_from))
        in_turns_ms = np.maximum(policy.in_turns_ms, 2 * turn_ms)
        peak = offset.max(axis=0)
        back_to, back_ms = np.full((2, len(filled)), -1, np.int64)
        for column in range(1, length):
            after_peak = (offset[column - 1] == peak) & (offset[column] < peak)
            np.copyto(back_to, offset[column], where=after_peak)
            np.copyto(back_ms, times[column], where=after_peak)
        if went_back is not None:
            end = np.where(here.end < 0, here.head, here.end)
            earlier = (went_back[:, 0] > peak) & (went_back[:, 0] <= end)
            for array, value in zip((peak, back_to, back_ms), went_back.T, strict=True):
                np.copyto(array, value, where=earlier)
        return cls(
            lowest_offset=lowest,
            absurd=absurd,
            absurd_ms=absurd_ms,
            committed_since_ms=committed_since_ms,
            idle_since_ms=idle_since_ms,
            idle_ms=now_ms - idle_since_ms,
            usual_gap_ms=usual_gap_ms,
            stopped_after_ms=np.where(others_move, np.maximum(alone_after_ms, in_turns_ms), alone_after_ms),
            alone_after_ms=alone_after_ms,
            others_move=others_move,
            same_since_idle=same_since_idle,
            moves=offset[-1] > first,
            is_back=offset[-1] < peak,
            peak=peak,
            back_to=back_to,
            back_ms=back_ms,
        )


def _absurd(newest_ms: Longs, oldest_ms: Longs, here: Positions, latest_ms: int) -> tuple[Flags, Longs]:
    """Return which rows have an impossible time, and the first such time."""
    absurd, absurd_ms = np.zeros(len(newest_ms), np.bool_), np.full(len(newest_ms), -1, np.int64)
    for one, wrong in (
        (here.passed_ms, here.passed_ms > latest_ms),
        (here.seen_ms, (here.seen_ms <= 0) | (here.seen_ms > latest_ms)),
        (oldest_ms, oldest_ms <= 0),
        (newest_ms, newest_ms > latest_ms),
    ):
        absurd |= wrong
        np.copyto(absurd_ms, one, where=wrong)
    return absurd, absurd_ms


def _same_offset_seen(
    offset: Longs, times: Longs, here_from: list[Flags], seen_ms: Longs
) -> tuple[Longs, list[Flags]]:
    """Return when each commit was made by our clock, and which belong to the last run of one offset."""
    seen = seen_ms - np.maximum(0, times[-1] - times)
    run = [np.ones(len(seen_ms), np.bool_)]
    for column in range(len(offset) - 2, -1, -1):
        run.append(run[-1] & (offset[column] == offset[-1]) & here_from[column])
    return seen, run[::-1]


def _longest_rest(offset: Longs, times: Longs, waits: Flags, here_from: list[Flags]) -> Longs:
    """Return the longest time between two offsets of each window, all of it with lag.

    Without lag, a group waits for records; that may take all night.
    """
    longest, since_ms = np.zeros(times.shape[1], np.int64), times[0].copy()
    rests = waits[0] & here_from[0]
    for column in range(1, len(offset)):
        another = offset[column] != offset[column - 1]
        np.copyto(longest, np.maximum(longest, times[column] - since_ms), where=rests & another)
        rests &= ~another
        begins = waits[column] & here_from[column] & ~rests
        np.copyto(since_ms, times[column], where=begins)
        rests |= begins
    return longest


def _median_gap(offset: Longs, times: Longs, here_from: list[Flags]) -> Longs:
    """Return the median gap between commits (of two in the middle the longer), 0 without a gap."""
    gaps = np.maximum(0, times[1:] - times[:-1])
    counts = np.zeros(times.shape[1], np.intp)
    for column in range(len(gaps)):
        tells = here_from[column]
        if column < len(gaps) - 1:
            tells = tells & (offset[column] != offset[column + 1])
        np.copyto(gaps[column], _NONE, where=~tells)
        counts += tells
    gaps.sort(axis=0)
    found = np.take_along_axis(gaps, np.minimum(counts // 2, len(gaps) - 1)[None], axis=0)[0]
    return np.where(counts > 0, found, 0)
