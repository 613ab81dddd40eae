"""Burrow's verdicts on one partition or group, with Burrow's results. Pure.

From github.com/linkedin/Burrow, core/internal/evaluator/caching.go and, for the current lag and the expiry of
groups, core/internal/storage/inmemory.go (as of allowed-lag and minimum-complete, 2022). The vectors in
tests/lagmon/golden are Burrow's results.

Rules for a partition, the first that holds wins: never committed, nothing stored, too little stored, lag
allowed now, STOP, REWIND, lag allowed once, STALL, WARN. Surprises:
- the current time is in whole seconds, so nothing is STOP within the second of its last commit;
- one commit with lag is STALL at first, and STOP a second later;
- only the first step back counts, not a second one after it;
- a partition that only ever had an owner counts as one stored commit of ten;
- arithmetic wraps at 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from lagmon.groups.rules.sentences import Facts, sentence
from lagmon.groups.rules.words import STATUS_OF, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass(frozen=True, slots=True)
class BurrowPolicy:
    """Burrow's settings with Burrow's defaults."""

    allowed_lag: int = 0
    minimum_complete: float = 0.0
    expire_group_s: int = 604_800


@dataclass(frozen=True, slots=True)
class Commit:
    """One stored commit: time in epoch milliseconds by the broker; the lag is None if none was known."""

    offset: int
    committed_ms: int
    lag: int | None
    order: int = 0  # offset of the commit itself in __consumer_offsets


@dataclass(frozen=True, slots=True)
class BurrowVerdict:
    """Burrow's verdict on one partition; `complete` is a 32-bit share, as short as Burrow prints it."""

    reason: Reason
    complete: float
    current_lag: int
    facts: Facts

    @property
    def status(self) -> Status:
        """Return the status that the reason means."""
        return STATUS_OF[self.reason]

    @property
    def sentence(self) -> str:
        """Return the reason as a sentence."""
        return sentence(self.reason, self.facts)


@dataclass(frozen=True, slots=True)
class BurrowGroup:
    """Burrow's verdict on a group; `max_lag` is the index of the partition with the largest lag."""

    reason: Reason
    complete: float
    max_lag: int | None = None
    total_lag: int = 0
    facts: Facts = field(default_factory=Facts)

    @property
    def status(self) -> Status:
        """Return the status that the reason means."""
        return STATUS_OF[self.reason]

    @property
    def sentence(self) -> str:
        """Return the reason as a sentence."""
        return sentence(self.reason, self.facts)


@dataclass(frozen=True, slots=True)
class _Case:
    """One partition's commits without the empty places, and what the rules ask about it."""

    window: Sequence[Commit]
    ends: Sequence[int]
    lag: int
    now_ms: int
    allowed_lag: int

    @property
    def silent_ms(self) -> int:
        return _wrapped(self.now_ms // 1000 * 1000 - self.window[-1].committed_ms)

    @property
    def span_ms(self) -> int:
        return _wrapped(self.window[-1].committed_ms - self.window[0].committed_ms)

    @property
    def first_step_back(self) -> int:
        """Return the index of the first commit behind its predecessor, 0 if there is none."""
        offsets = [commit.offset for commit in self.window]
        return next((index for index in range(1, len(offsets)) if offsets[index] < offsets[index - 1]), 0)

    @property
    def known_lags(self) -> list[int]:
        return [commit.lag for commit in self.window if commit.lag is not None]


def _lag_is_allowed(case: _Case) -> bool:
    return case.lag <= case.allowed_lag


def _is_stopped(case: _Case) -> bool:
    was_at_the_end = any(end <= case.window[-1].offset for end in case.ends)
    return case.silent_ms > case.span_ms and not was_at_the_end


def _is_rewound(case: _Case) -> bool:
    step = case.first_step_back
    return step > 0 and all(
        commit.offset < case.window[step - 1].offset for commit in case.window[step:]
    )  # reaching the earlier offset again counts as recovered


def _lag_was_allowed(case: _Case) -> bool:
    return any(lag <= case.allowed_lag for lag in case.known_lags)


def _is_stalled(case: _Case) -> bool:
    return all(commit.offset == case.window[0].offset for commit in case.window)


def _does_not_decrease(case: _Case) -> bool:
    known = case.known_lags
    return all(later >= earlier for earlier, later in pairwise(known))


_RULES: tuple[tuple[Callable[[_Case], bool], Reason], ...] = (
    (_lag_is_allowed, Reason.BURROW_LAG_ALLOWED),
    (_is_stopped, Reason.BURROW_STOPPED),
    (_is_rewound, Reason.BURROW_REWOUND),
    (_lag_was_allowed, Reason.BURROW_LAG_WAS_ALLOWED),
    (_is_stalled, Reason.BURROW_STALLED),
    (_does_not_decrease, Reason.BURROW_NOT_DECREASING),
)


def burrow_partition(
    ring: Sequence[Commit | None], recent_ends: Sequence[int], now_ms: int, policy: BurrowPolicy
) -> BurrowVerdict:
    """Judge one partition: `ring` with its empty places first, and the sampled log ends, newest last.

    A ring of length zero is a partition that was never committed on or owned. Without a sampled end the topic
    is deleted, and the lag is 0.
    """
    if not ring:
        return BurrowVerdict(Reason.BURROW_NO_RING, 0.0, 0, Facts(now_ms=now_ms, lag=0))
    window = [commit for commit in ring if commit is not None]
    complete = np.float32(max(1, len(window))) / np.float32(len(ring))
    shown = float(str(complete))  # the shortest decimal of 32 bits, as JSON from Go has it
    if not window:
        return BurrowVerdict(Reason.BURROW_NO_COMMIT, shown, 0, Facts(now_ms=now_ms, lag=0))
    lag = max(0, recent_ends[-1] - window[-1].offset) if recent_ends else 0
    case = _Case(window, recent_ends, lag, now_ms, policy.allowed_lag)
    if complete < np.float32(policy.minimum_complete):
        reason = Reason.BURROW_INCOMPLETE
    else:
        found = (reason for holds, reason in _RULES if holds(case))
        reason = next(found, Reason.BURROW_DECREASING)
    return BurrowVerdict(reason, shown, lag, _facts(case, reason))


def burrow_group(
    partitions: Sequence[BurrowVerdict], last_commit_ms: int | None, now_ms: int, policy: BurrowPolicy
) -> BurrowGroup:
    """Judge a group by its partitions, in the order in which they are shown.

    `last_commit_ms` is the time of the newest commit on any of them: None for an unknown group, 0 for one
    that only ever had owners. Of equal lags the first in order is the largest; Burrow's order of topics is
    random.
    """
    facts = Facts(now_ms=now_ms, since_ms=-1 if last_commit_ms is None else last_commit_ms)
    if last_commit_ms is None:
        return BurrowGroup(Reason.BURROW_GROUP_NOT_FOUND, 1.0, facts=facts)
    if last_commit_ms < oldest_kept_ms(now_ms, policy):
        return BurrowGroup(Reason.BURROW_GROUP_EXPIRED, 1.0, facts=facts)
    if not partitions:  # its topics are deleted
        return BurrowGroup(Reason.BURROW_GROUP_NO_PARTITION, 0.0, facts=facts)
    worst = max(verdict.status for verdict in partitions)
    reason = {Status.OK: Reason.BURROW_GROUP_OK, Status.WARN: Reason.BURROW_GROUP_WARN}.get(
        worst, Reason.BURROW_GROUP_ERR
    )
    lags = [verdict.current_lag for verdict in partitions]
    full = sum(verdict.complete == 1.0 for verdict in partitions)
    not_ok = sum(verdict.status > Status.OK for verdict in partitions)
    return BurrowGroup(
        reason,
        float(str(np.float32(full) / np.float32(len(partitions)))),
        lags.index(max(lags)),
        sum(lags),
        Facts(now_ms=now_ms, lag=sum(lags), since_ms=last_commit_ms, before=len(partitions), after=not_ok),
    )


def oldest_kept_ms(now_ms: int, policy: BurrowPolicy) -> int:
    """Return the time before which commits are dropped and groups expire."""
    return (now_ms // 1000 - policy.expire_group_s) * 1000


def _facts(case: _Case, reason: Reason) -> Facts:
    newest, before, after = case.window[-1], case.window[0].offset, case.window[-1].offset
    since_ms, limit_ms = newest.committed_ms, case.span_ms
    match reason:
        case Reason.BURROW_LAG_ALLOWED | Reason.BURROW_LAG_WAS_ALLOWED:
            before, after = min(case.known_lags, default=-1), case.allowed_lag
        case Reason.BURROW_REWOUND:
            step = case.window[case.first_step_back]
            before, after = case.window[case.first_step_back - 1].offset, step.offset
            since_ms = step.committed_ms
        case Reason.BURROW_NOT_DECREASING:
            before, after = ([*case.known_lags, -1])[0], ([-1, *case.known_lags])[-1]
        case _:
            pass
    head = case.ends[-1] if case.ends else -1
    return Facts(case.now_ms, case.lag, newest.offset, head, since_ms, limit_ms, before, after)


def _wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63
