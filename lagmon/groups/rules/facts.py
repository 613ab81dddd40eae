"""The numbers of a verdict: since when, the limit, and the values before and after. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagmon.groups.rules.sentences import Facts
from lagmon.groups.rules.window import NEVER_BACK
from lagmon.groups.rules.words import Reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from lagmon.groups.rules.case import Case


def facts_of(case: Case, reason: Reason) -> Facts:
    """Return the numbers that prove the reason."""
    since_ms, limit_ms, before, after = _NUMBERS.get(reason, _numbers_of_idle)(case)
    lag = -1 if reason in _UNKNOWN_LAG else case.lag
    return Facts(case.now_ms, lag, case.offset, case.position.head, since_ms, limit_ms, before, after)


def _numbers_of_idle(case: Case) -> tuple[int, int, int, int]:
    return case.idle_since_ms, case.stopped_after_ms, case.position.seen_ms, _others_moved_ms(case)


def _others_moved_ms(case: Case) -> int:
    return case.position.others_moved_ms if case.others_move else -1


def _numbers_of_cluster_back(case: Case) -> tuple[int, int, int, int]:
    since_ms, back_ms = case.idle_since_ms, case.position.back_ms
    limit_ms = case.counted_from(since_ms) + case.stopped_after_ms - back_ms
    return since_ms, limit_ms, back_ms, _others_moved_ms(case)


def _numbers_beyond_end(case: Case) -> tuple[int, int, int, int]:
    position = case.position
    return -1, -1, case.end, case.offset if position.end_read_later else position.known_before


def _numbers_of_new_log(case: Case) -> tuple[int, int, int, int]:
    return case.position.remade_ms, -1, max(0, case.end - max(0, case.position.start)), -1


def _numbers_of_history(case: Case) -> tuple[int, int, int, int]:
    return (
        case.idle_since_ms,
        case.stopped_after_ms,
        case.committed_since_ms,
        _others_moved_ms(case),
    )


def _numbers_of_step_back(case: Case) -> tuple[int, int, int, int]:
    peak, back_to, back_ms = case.step_back or NEVER_BACK
    return back_ms, -1, peak, back_to


def _numbers_of_growth(case: Case) -> tuple[int, int, int, int]:
    (first, first_ms), (last, _) = case.known_lags[0], case.known_lags[-1]
    return first_ms, -1, first, last


def _waiting_or_allowed(case: Case) -> int:
    """Return the number of offsets behind an open transaction for lag 0, else the allowed lag."""
    return case.policy.allowed_lag if case.lag else max(0, case.end - max(case.offset, case.position.head))


# Reasons with an unknown lag, or the lag of another log.
_UNKNOWN_LAG = {
    Reason.NO_COMMIT,
    Reason.NO_HEAD,
    Reason.HEAD_STALE,
    Reason.COMMITS_STALE,
    Reason.RECREATED,
    Reason.NEGATIVE_OFFSET,
    Reason.BEYOND_END,
}
# since_ms, limit_ms, before and after, as the sentence of the reason uses them.
_NUMBERS: dict[Reason, Callable[[Case], tuple[int, int, int, int]]] = {
    Reason.NO_COMMIT: lambda _: (-1, -1, -1, -1),
    Reason.NO_HEAD: lambda _: (-1, -1, -1, -1),
    Reason.HEAD_STALE: lambda case: (case.position.head_at_ms, case.policy.head_stale_after_ms, -1, -1),
    Reason.COMMITS_STALE: lambda case: (
        case.position.commits_read_to_ms,
        case.policy.stale_after_ms,
        -1,
        -1,
    ),
    Reason.RECREATED: _numbers_of_new_log,
    Reason.RECREATED_EMPTY: lambda _: (-1, -1, -1, -1),
    Reason.NEGATIVE_OFFSET: lambda case: (-1, -1, min(case.offset, 0) or min(case.window.offsets), -1),
    Reason.BEYOND_END: _numbers_beyond_end,
    Reason.DELETED_UNREAD: lambda case: (-1, -1, case.next_record, case.position.start),
    Reason.DELETED_OR_EMPTY: lambda case: (-1, -1, case.next_record, case.position.start),
    Reason.HELD: lambda case: (case.position.hangs_ms, -1, case.end - case.position.head, -1),
    Reason.CAUGHT_UP: lambda case: (-1, -1, -1, _waiting_or_allowed(case)),
    Reason.NOTHING_READABLE: lambda case: (-1, -1, case.position.readable_from, _waiting_or_allowed(case)),
    Reason.TIME_ABSURD: lambda case: (-1 if case.absurd_ms is None else case.absurd_ms, -1, -1, -1),
    Reason.REWOUND: _numbers_of_step_back,
    Reason.CLUSTER_BACK: _numbers_of_cluster_back,
    Reason.HISTORY_SHORT: _numbers_of_history,
    Reason.GROWING: _numbers_of_growth,
}
