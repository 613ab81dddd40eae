"""Our verdict on one group and partition, as a table of rules: the reference for the sweep over all. Pure.

Order, first match wins; a verdict is never made from stale or missing data:
1. nothing known, or known too long ago, or belonging to another log: UNKNOWN;
2. records were deleted before they were read: ERR;
3. nothing more to read than is allowed: OK, whatever happened before; what is known to hold no record that
   a consumer sees (markers of transactions, aborted and compacted records) is nothing to read;
4. the rest needs the whole window and its times: absurd ones make UNKNOWN;
5. the group stands, with something to read, for longer than its own pace allows: STALL where commits still
   come, else STOP;
6. it went back and has not been there again: REWIND;
7. it stands, and how long is not known well enough: UNKNOWN;
8. it moves and falls behind: WARN;
9. OK.

The group stands since there was a record to read and the newest offset was committed, whichever came later.
It may stand for `usual_gaps` of the median gap between its commits, and never for less than
`stopped_after_ms`: what commits once an hour is no alarm after a minute. It has stood up to where commits
are read, and no longer: what it has committed since is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from lagmon.rules_sentences import Facts, sentence
from lagmon.words import STATUS_OF, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from lagmon.rules_window import Position, Window


@dataclass(frozen=True, slots=True)
class Policy:
    """What the rules allow; records and milliseconds."""

    allowed_lag: int = 0
    stale_after_ms: int = 60_000
    stopped_after_ms: int = 60_000
    usual_gaps: int = 3
    grown_for_ms: int = 60_000
    grown_lags: int = 9  # so many at least tell that a lag grows: of fewer, chance makes a row too often
    grown_rises: int = 5  # and so many times it rose: once is no trend
    until_read: bool = True  # a group stands up to where commits are read; not so where groups are asked
    far_ms: int = 600_000  # a time further ahead of ours than this is no time


@dataclass(frozen=True, slots=True)
class Verdict:
    """A verdict with its reason and the numbers to check it by."""

    reason: Reason
    facts: Facts

    @property
    def status(self) -> Status:
        """Return the status that the reason means."""
        return STATUS_OF[self.reason]

    @property
    def sentence(self) -> str:
        """Return why, for people."""
        return sentence(self.reason, self.facts)


@dataclass(frozen=True, slots=True)
class _Case:
    """One window and position, and what more than one rule asks about them."""

    window: Window
    position: Position
    now_ms: int
    policy: Policy

    @property
    def offset(self) -> int:
        return self.window.offsets[-1] if self.window.offsets else -1

    @property
    def end(self) -> int:
        return self.position.head if self.position.end < 0 else self.position.end

    @property
    def next_record(self) -> int:
        """Return the first offset that may hold a record to read, whether or not it is still there."""
        return max(self.offset, self.position.readable_from)

    @property
    def lag(self) -> int:
        return max(0, self.position.head - max(self.next_record, self.position.start))

    @property
    def offsets_left(self) -> int:
        """Return how many offsets there are up to the head, with or without a record."""
        return max(0, self.position.head - max(self.offset, self.position.start))

    @property
    def absurd_ms(self) -> int | None:
        """Return the first time that is none, of those that standing and pace are told from."""
        position, latest_ms = self.position, self.now_ms + self.policy.far_ms
        newest, oldest = max(self.window.committed_ms), min(self.window.committed_ms)
        if newest > latest_ms:
            return newest
        if oldest <= 0:
            return oldest
        if position.seen_ms <= 0 or position.seen_ms > latest_ms:
            return position.seen_ms
        return position.passed_ms if position.passed_ms > latest_ms else None

    @property
    def same_offset_seen_ms(self) -> list[int]:
        """Return when each of the last commits, all of the newest offset, was made, by our clock."""
        newest_ms, found = self.window.committed_ms[-1], []
        for offset, at_ms in zip(
            reversed(self.window.offsets), reversed(self.window.committed_ms), strict=True
        ):
            if offset != self.offset:
                break
            found.append(self.position.seen_ms - max(0, newest_ms - at_ms))
        return found[::-1]

    @property
    def committed_since_ms(self) -> int:
        """Return since when the newest offset is committed, as far as the window goes back."""
        return self.same_offset_seen_ms[0]

    @property
    def standing_since_ms(self) -> int:
        # Without a time of passing, the reading of the head is the first instant known to have had a record.
        passed_ms = self.position.passed_ms if self.position.passed_ms >= 0 else self.position.head_at_ms
        return max(passed_ms, self.committed_since_ms)

    @property
    def standing_ms(self) -> int:
        return self.now_ms - self.standing_since_ms

    @property
    def usual_gap_ms(self) -> int:
        """Return the median gap between commits, of two in the middle the longer, 0 where there is no gap.

        Between two commits of the same offset others may have been left out, but for the last two (trail.py).
        """
        times, offsets = self.window.committed_ms, self.window.offsets
        last = len(times) - 1
        gaps = sorted(
            max(0, times[one] - times[one - 1])
            for one in range(1, len(times))
            if one == last or offsets[one] != offsets[one - 1]
        )
        return gaps[len(gaps) // 2] if gaps else 0

    @property
    def stopped_after_ms(self) -> int:
        if self.position.members == 0:  # nobody is there whose pace it could be
            return self.policy.stopped_after_ms
        return max(self.policy.stopped_after_ms, self.policy.usual_gaps * self.usual_gap_ms)

    @property
    def same_since_standing(self) -> int:
        """Return how many commits of the newest offset came after the group stood."""
        return sum(seen_ms > self.standing_since_ms for seen_ms in self.same_offset_seen_ms)

    @property
    def last_peak(self) -> int:
        """Return the index of the last commit of the highest offset."""
        offsets = self.window.offsets
        return max(index for index, offset in enumerate(offsets) if offset == max(offsets))

    @property
    def known_lags(self) -> list[tuple[int, int]]:
        """Return lag and time of each commit whose lag is known."""
        pairs = zip(self.window.lags, self.window.committed_ms, strict=True)
        return [(lag, at_ms) for lag, at_ms in pairs if lag >= 0]


def _head_stale(case: _Case) -> bool:
    return case.now_ms - case.position.head_at_ms > case.policy.stale_after_ms


def _commits_stale(case: _Case) -> bool:
    read_to_ms = case.position.commits_read_to_ms
    return read_to_ms < 0 or case.now_ms - read_to_ms > case.policy.stale_after_ms


def _beyond_end(case: _Case) -> bool:
    # Beyond an end that was read before the commit stands every group that keeps up.
    return case.offset > case.end and case.position.head_at_ms >= case.position.seen_ms


def _stopped(case: _Case) -> bool:
    # As of the newest instant up to which commits are known: since then it may have committed, unread.
    read_ms = case.position.commits_read_to_ms if case.policy.until_read else case.now_ms
    known_ms = min(case.now_ms, read_ms)
    return known_ms - case.standing_since_ms > case.stopped_after_ms


def _stalled(case: _Case) -> bool:
    young = case.now_ms - case.position.seen_ms <= case.stopped_after_ms
    return _stopped(case) and young and case.same_since_standing >= 2


def _history_short(case: _Case) -> bool:
    # Committed long ago, and the next record may be as old, or as new as the oldest end that is remembered.
    exact = case.position.passed_exact and case.position.passed_ms >= 0
    return not exact and case.now_ms - case.committed_since_ms > case.stopped_after_ms


def _growing(case: _Case) -> bool:
    known = case.known_lags
    moves = case.offset > case.window.offsets[0]
    if len(known) < case.policy.grown_lags or not moves or min(known)[0] <= case.policy.allowed_lag:
        return False
    steps = [later[0] - earlier[0] for earlier, later in pairwise(known)]
    rises = sum(step > 0 for step in steps)
    lasts = known[-1][1] - known[0][1] >= case.policy.grown_for_ms
    return min(steps) >= 0 and rises >= case.policy.grown_rises and lasts


_RULES: tuple[tuple[Callable[[_Case], bool], Reason], ...] = (
    (lambda case: not case.window.offsets, Reason.NO_COMMIT),
    (lambda case: case.position.head < 0 or case.position.head_at_ms < 0, Reason.NO_HEAD),
    (_head_stale, Reason.HEAD_STALE),
    (_commits_stale, Reason.COMMITS_STALE),
    (lambda case: case.position.recreated, Reason.RECREATED),
    (lambda case: case.offset < 0, Reason.NEGATIVE_OFFSET),
    (_beyond_end, Reason.BEYOND_END),
    (lambda case: case.position.start > case.next_record, Reason.DELETED_UNREAD),
    (lambda case: case.offsets_left <= case.policy.allowed_lag, Reason.CAUGHT_UP),
    (lambda case: case.lag <= case.policy.allowed_lag, Reason.NOTHING_READABLE),
    (lambda case: min(case.window.offsets) < 0, Reason.NEGATIVE_OFFSET),
    (lambda case: case.absurd_ms is not None, Reason.TIME_ABSURD),
    (_stalled, Reason.STALLED),
    (lambda case: _stopped(case) and case.position.members == 0, Reason.STOPPED_EMPTY),
    (_stopped, Reason.STOPPED),
    (lambda case: case.offset < max(case.window.offsets), Reason.REWOUND),
    (lambda case: len(case.window.offsets) == 1, Reason.ONE_COMMIT),
    (_history_short, Reason.HISTORY_SHORT),
    (_growing, Reason.GROWING),
    (lambda case: case.standing_ms > case.usual_gap_ms, Reason.PAUSING),
    (lambda _: True, Reason.MOVING),
)


def judge(window: Window, position: Position, *, now_ms: int, policy: Policy) -> Verdict:
    """Judge one group's reading of one partition."""
    case = _Case(window, position, now_ms, policy)
    reason = next(reason for holds, reason in _RULES if holds(case))
    return Verdict(reason, _facts(case, reason))


def _facts(case: _Case, reason: Reason) -> Facts:
    since_ms, limit_ms, before, after = _NUMBERS.get(reason, _numbers_of_standing)(case)
    lag = -1 if reason in _UNTOLD else case.lag
    return Facts(case.now_ms, lag, case.offset, case.position.head, since_ms, limit_ms, before, after)


def _numbers_of_standing(case: _Case) -> tuple[int, int, int, int]:
    return case.standing_since_ms, case.stopped_after_ms, case.position.seen_ms, case.same_since_standing


def _numbers_of_history(case: _Case) -> tuple[int, int, int, int]:
    return (
        case.standing_since_ms,
        case.stopped_after_ms,
        case.committed_since_ms,
        case.same_since_standing,
    )


def _numbers_of_step_back(case: _Case) -> tuple[int, int, int, int]:
    peak, offsets = case.last_peak, case.window.offsets
    return case.window.committed_ms[peak + 1], -1, offsets[peak], offsets[peak + 1]


def _numbers_of_growth(case: _Case) -> tuple[int, int, int, int]:
    (first, first_ms), (last, _) = case.known_lags[0], case.known_lags[-1]
    return first_ms, -1, first, last


# Where the lag itself stands on what is not known, or belongs to another log.
_UNTOLD = {
    Reason.NO_COMMIT,
    Reason.NO_HEAD,
    Reason.HEAD_STALE,
    Reason.COMMITS_STALE,
    Reason.RECREATED,
    Reason.NEGATIVE_OFFSET,
    Reason.BEYOND_END,
}
# Since when, the limit, and what was before and after, as the reason's sentence takes them.
_NUMBERS: dict[Reason, Callable[[_Case], tuple[int, int, int, int]]] = {
    Reason.NO_COMMIT: lambda _: (-1, -1, -1, -1),
    Reason.NO_HEAD: lambda _: (-1, -1, -1, -1),
    Reason.HEAD_STALE: lambda case: (case.position.head_at_ms, case.policy.stale_after_ms, -1, -1),
    Reason.COMMITS_STALE: lambda case: (
        case.position.commits_read_to_ms,
        case.policy.stale_after_ms,
        -1,
        -1,
    ),
    Reason.RECREATED: lambda _: (-1, -1, -1, -1),
    Reason.NEGATIVE_OFFSET: lambda case: (-1, -1, min(case.offset, 0) or min(case.window.offsets), -1),
    Reason.BEYOND_END: lambda case: (-1, -1, case.end, -1),
    Reason.DELETED_UNREAD: lambda case: (-1, -1, case.next_record, case.position.start),
    Reason.CAUGHT_UP: lambda case: (-1, -1, -1, case.policy.allowed_lag),
    Reason.NOTHING_READABLE: lambda case: (-1, -1, case.position.readable_from, case.policy.allowed_lag),
    Reason.TIME_ABSURD: lambda case: (-1 if case.absurd_ms is None else case.absurd_ms, -1, -1, -1),
    Reason.REWOUND: _numbers_of_step_back,
    Reason.HISTORY_SHORT: _numbers_of_history,
    Reason.GROWING: _numbers_of_growth,
}
