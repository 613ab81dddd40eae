"""The verdict on one group-partition as a table of rules; groups/sweep.py does the same for all rows. Pure.

The first rule that holds wins. No verdict is made from stale or missing data:
1. data missing, stale, or of another log: UNKNOWN; but OK if that other log is empty;
2. records were deleted before they were read: ERR; UNKNOWN if the log is empty and the deleted offsets are so
   few that all may have been transaction markers;
3. no more lag than allowed: OK, whatever happened before. Offsets without a readable record (transaction
   markers, aborted and compacted records) do not count. If a hanging transaction blocks the rest
   (logs/hanging.py): STALL;
4. the rules below need the whole window: UNKNOWN if one of its times is impossible;
5. lag and no progress for longer than the group's pace allows: STALL if it still commits, else STOP;
6. a step back, not made up for yet: REWIND;
7. no progress, but the cluster was unreachable meanwhile: OK until the allowed time has passed since;
8. no progress for an unknown time: UNKNOWN;
9. progress, but growing lag: WARN;
10. OK.

Time without progress starts when there is a record to read and the newest offset is committed, whichever is
later, and ends where commits are read. The allowed time is

- `usual_gaps` of the median gap between commits, at least `stopped_after_ms`: a group that commits once an
  hour is not reported after a minute;
- without active members: a quarter more than that gap, for jobs that run each hour and leave; without known
  members also a quarter more than the shorter of the last two pauses of a minute or more;
- if the consumer progresses on other partitions, which it may process in batches: `in_turns_ms`, or twice the
  longest time between two commits with lag in the window. At most `longest_turn_ms` of that counts: a longer
  one means that the whole group was down;
- if the cluster became unreachable before: longer by the downtime and by `stopped_after_ms`, but at most the
  whole allowed time after the return.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from lagmon.groups.rules.case import Case
from lagmon.groups.rules.facts import facts_of
from lagmon.groups.rules.sentences import sentence
from lagmon.groups.rules.words import STATUS_OF, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from lagmon.groups.rules.policy import Policy
    from lagmon.groups.rules.sentences import Facts
    from lagmon.groups.rules.window import Position, Window


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
        """Return the reason as a sentence."""
        return sentence(self.reason, self.facts)


def _head_stale(case: Case) -> bool:
    return case.now_ms - case.position.head_at_ms > case.policy.head_stale_after_ms


def _commits_stale(case: Case) -> bool:
    read_to_ms = case.position.commits_read_to_ms
    return read_to_ms < 0 or case.now_ms - read_to_ms > case.policy.stale_after_ms


def _recreated_empty(case: Case) -> bool:
    return case.policy.empty_is_read and case.position.recreated and case.is_empty


def _beyond_end(case: Case) -> bool:
    # Every group that keeps up is beyond an end that was read before its commit. If a group commits more
    # often than ends are polled, its offset before the poll counts.
    was_beyond = case.offset >= case.position.known_before > case.end
    return case.offset > case.end and (case.position.end_read_later or was_beyond)


def _deleted(case: Case) -> bool:
    return case.position.start > case.next_record


def _deleted_or_empty(case: Case) -> bool:
    few = case.position.start - case.next_record <= case.policy.maybe_markers
    return _deleted(case) and few and case.is_empty


def _held(case: Case) -> bool:
    return case.position.hangs_ms >= 0 and case.lag <= case.policy.allowed_lag


def _is_idle_longer(case: Case, since_ms: int) -> bool:
    # Up to the newest instant with known commits: later ones may exist, unread.
    return min(case.now_ms, case.position.commits_read_to_ms) - since_ms > case.stopped_after_ms


def _stopped(case: Case) -> bool:
    return _is_idle_longer(case, case.counted_from(case.idle_since_ms))


def _cluster_back(case: Case) -> bool:
    return _is_idle_longer(case, case.idle_since_ms) and not _stopped(case)


def _stalled(case: Case) -> bool:
    young = case.now_ms - case.counted_from(case.position.seen_ms) <= case.stopped_after_ms
    return _stopped(case) and young and case.same_since_idle >= 2


def _history_short(case: Case) -> bool:
    # The next record may be as old as the commit, or as new as the oldest known log end.
    exact = case.position.passed_exact and case.position.passed_ms >= 0
    return not exact and case.now_ms - case.committed_since_ms > case.stopped_after_ms


def _resting(case: Case) -> bool:
    return case.others_move and case.idle_ms > case.alone_after_ms


def _growing(case: Case) -> bool:
    known = case.known_lags
    moves = case.offset > case.window.offsets[0]
    if len(known) < case.policy.grown_lags or not moves or min(known)[0] <= case.policy.allowed_lag:
        return False
    steps = [later[0] - earlier[0] for earlier, later in pairwise(known)]
    rises = sum(step > 0 for step in steps)
    lasts = known[-1][1] - known[0][1] >= case.policy.grown_for_ms
    outgrown = sum(steps) > case.written_per_ms * case.policy.grown_by_ms
    return min(steps) >= 0 and rises >= case.policy.grown_rises and lasts and outgrown


_RULES: tuple[tuple[Callable[[Case], bool], Reason], ...] = (
    (lambda case: not case.window.offsets, Reason.NO_COMMIT),
    (lambda case: case.position.head < 0 or case.position.head_at_ms < 0, Reason.NO_HEAD),
    (_head_stale, Reason.HEAD_STALE),
    (_commits_stale, Reason.COMMITS_STALE),
    (_recreated_empty, Reason.RECREATED_EMPTY),
    (lambda case: case.position.recreated, Reason.RECREATED),
    (lambda case: case.offset < 0, Reason.NEGATIVE_OFFSET),
    (_beyond_end, Reason.BEYOND_END),
    (_deleted_or_empty, Reason.DELETED_OR_EMPTY),
    (_deleted, Reason.DELETED_UNREAD),
    (_held, Reason.HELD),
    (lambda case: case.offsets_left <= case.policy.allowed_lag, Reason.CAUGHT_UP),
    (lambda case: case.lag <= case.policy.allowed_lag, Reason.NOTHING_READABLE),
    (lambda case: min(case.window.offsets) < 0, Reason.NEGATIVE_OFFSET),
    (lambda case: case.absurd_ms is not None, Reason.TIME_ABSURD),
    (_stalled, Reason.STALLED),
    (lambda case: _stopped(case) and case.position.members == 0, Reason.STOPPED_EMPTY),
    (_stopped, Reason.STOPPED),
    (lambda case: case.step_back is not None, Reason.REWOUND),
    (_cluster_back, Reason.CLUSTER_BACK),
    (lambda case: len(case.window.offsets) == 1 and not case.policy.paced, Reason.ONE_COMMIT),
    (_history_short, Reason.HISTORY_SHORT),
    (_growing, Reason.GROWING),
    (_resting, Reason.RESTING),
    (lambda case: case.idle_ms > case.usual_gap_ms, Reason.PAUSING),
    (lambda _: True, Reason.MOVING),
)


def judge(window: Window, position: Position, *, now_ms: int, policy: Policy) -> Verdict:
    """Judge one group on one partition."""
    case = Case(window, position, now_ms, policy)
    reason = next(reason for holds, reason in _RULES if holds(case))
    return Verdict(reason, facts_of(case, reason))
