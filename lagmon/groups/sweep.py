"""Verdicts on all group-partitions at once: groups/rules/table.py as arrays. Pure.

The newest commit decides most rows. Only rows with lag need their whole window, which is read a chunk at a
time and columns first, so that temporaries stay in the processor's cache. Within each half the rules are
applied from the last to the first, so that the first that holds wins.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.place_rows import parts
from lagmon.groups.rules.pace import Pace
from lagmon.groups.rules.sentences import Facts, sentence
from lagmon.groups.rules.window import Positions, columns, statuses
from lagmon.groups.rules.words import Reason

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.groups.rules.policy import Policy
    from lagmon.groups.rules.window import Longs, Windows

    Rows = NDArray[np.integer]

CHUNK = 8_192  # rows; larger chunks are not faster and take more memory


@dataclass(frozen=True, slots=True)
class Sweep:
    """Verdicts on many rows at one instant, with the numbers of `Facts`, each as an array."""

    now_ms: int
    reason: NDArray[np.int8]
    lag: Longs
    offset: Longs
    head: Longs
    since_ms: Longs
    limit_ms: Longs
    before: Longs
    after: Longs

    @property
    def status(self) -> NDArray[np.int8]:
        """Return the status of each row."""
        return statuses(self.reason)

    def facts(self, row: int) -> Facts:
        """Return the numbers behind one row's verdict."""
        return Facts(
            self.now_ms,
            *(
                int(array[row])
                for array in (
                    self.lag,
                    self.offset,
                    self.head,
                    self.since_ms,
                    self.limit_ms,
                    self.before,
                    self.after,
                )
            ),
        )

    def sentence(self, row: int) -> str:
        """Return the sentence of one row's verdict."""
        return sentence(Reason(int(self.reason[row])), self.facts(row))


def sweep(windows: Windows, positions: Positions, *, now_ms: int, policy: Policy) -> Sweep:
    """Judge every row as `judge` does."""
    rows = len(windows)
    found = Sweep(now_ms, np.empty(rows, np.int8), *(np.full(rows, -1, np.int64) for _ in range(7)))
    for part in parts(rows, CHUNK):
        rest = _judge_newest(windows, positions, part, policy, found)
        if len(rest):
            # All rows as a slice, which is several times faster.
            rows_left = part if len(rest) == part.stop - part.start else rest
            _judge_windows(windows, positions, rows_left, policy, found)
    return found


def _judge_newest(windows: Windows, positions: Positions, part: slice, policy: Policy, found: Sweep) -> Rows:
    """Judge a chunk by the newest commits; return the undecided rows, with lag and offset set."""
    here = _rows_of(positions, part)
    offset = windows.offset[part, -1].copy()
    end = np.where(here.end < 0, here.head, here.end)
    reason = np.full(len(offset), Reason.MOVING, np.int8)
    next_record = np.maximum(offset, here.readable_from)
    lag = np.maximum(0, here.head - np.maximum(next_record, here.start))
    offsets_left = np.maximum(0, here.head - np.maximum(offset, here.start))
    waiting_or_allowed = np.where(
        lag > 0, policy.allowed_lag, np.maximum(0, end - np.maximum(offset, here.head))
    )
    lag_unknown = np.zeros(len(offset), np.bool_)
    recreated = here.remade_ms > here.seen_ms
    recreated_empty = policy.empty_is_read & recreated & (end <= np.maximum(here.start, 0))

    reason[lag <= policy.allowed_lag] = Reason.NOTHING_READABLE
    reason[offsets_left <= policy.allowed_lag] = Reason.CAUGHT_UP
    reason[(here.hangs_ms >= 0) & (lag <= policy.allowed_lag)] = Reason.HELD
    deleted = here.start > next_record
    reason[deleted] = Reason.DELETED_UNREAD
    few = here.start - next_record <= policy.maybe_markers
    reason[deleted & few & (end <= here.start)] = Reason.DELETED_OR_EMPTY
    read_later = here.head_at_ms >= here.seen_ms
    was_beyond = (here.known_before > end) & (offset >= here.known_before)
    head_age, commits_age = found.now_ms - here.head_at_ms, found.now_ms - here.commits_read_to_ms
    for unknown, why in (
        ((offset > end) & (read_later | was_beyond), Reason.BEYOND_END),
        (offset < 0, Reason.NEGATIVE_OFFSET),
        (recreated, Reason.RECREATED),
        (recreated_empty, Reason.RECREATED_EMPTY),
        ((commits_age > policy.stale_after_ms) | (here.commits_read_to_ms < 0), Reason.COMMITS_STALE),
        (head_age > policy.head_stale_after_ms, Reason.HEAD_STALE),
        ((here.head < 0) | (here.head_at_ms < 0), Reason.NO_HEAD),
        (windows.filled[part] == 0, Reason.NO_COMMIT),
    ):
        reason[unknown] = why
        lag_unknown = lag_unknown & ~unknown if why is Reason.RECREATED_EMPTY else lag_unknown | unknown
    offset[windows.filled[part] == 0] = -1
    lag[lag_unknown] = -1
    found.reason[part], found.lag[part], found.offset[part], found.head[part] = reason, lag, offset, here.head
    numbers: tuple[tuple[Reason, Longs, Longs | int], ...] = (
        (Reason.HEAD_STALE, found.since_ms, here.head_at_ms),
        (Reason.HEAD_STALE, found.limit_ms, policy.head_stale_after_ms),
        (Reason.COMMITS_STALE, found.since_ms, here.commits_read_to_ms),
        (Reason.COMMITS_STALE, found.limit_ms, policy.stale_after_ms),
        (Reason.NEGATIVE_OFFSET, found.before, offset),
        (Reason.RECREATED, found.since_ms, here.remade_ms),
        (Reason.RECREATED, found.before, np.maximum(0, end - np.maximum(0, here.start))),
        (Reason.BEYOND_END, found.before, end),
        (Reason.BEYOND_END, found.after, np.where(read_later, offset, here.known_before)),
        (Reason.DELETED_UNREAD, found.before, next_record),
        (Reason.DELETED_UNREAD, found.after, here.start),
        (Reason.DELETED_OR_EMPTY, found.before, next_record),
        (Reason.DELETED_OR_EMPTY, found.after, here.start),
        (Reason.HELD, found.since_ms, here.hangs_ms),
        (Reason.HELD, found.before, end - here.head),
        (Reason.CAUGHT_UP, found.after, waiting_or_allowed),
        (Reason.NOTHING_READABLE, found.before, here.readable_from),
        (Reason.NOTHING_READABLE, found.after, waiting_or_allowed),
    )
    for why, array, value in numbers:
        np.copyto(array[part], value, where=reason == why)
    rest: Rows = np.flatnonzero(reason == Reason.MOVING) + part.start
    return rest


def _judge_windows(
    windows: Windows, positions: Positions, rows: Rows | slice, policy: Policy, found: Sweep
) -> None:
    """Judge the rows with lag by all their commits."""
    here = _rows_of(positions, rows)
    offset, times = (columns(one, rows) for one in (windows.offset, windows.committed_ms))
    lag = columns(windows.lag, rows)
    filled, live = windows.filled[rows], windows.live[rows]
    known = np.minimum(filled, live) >= np.arange(len(lag), 0, -1)[:, None]
    waits = known & (lag > policy.allowed_lag)
    went_back = None if windows.went_back is None else windows.went_back[rows]
    pace = Pace.of(
        offset, times, waits, filled, here, went_back=went_back, now_ms=found.now_ms, policy=policy
    )
    growth = _Growth.of(offset, times, lag, np.minimum(filled, live), policy)
    unsure = ~here.passed_exact | (here.passed_ms < 0)
    waits = unsure & (found.now_ms - pace.committed_since_ms > pace.stopped_after_ms)
    # Up to the newest instant with known commits: later ones may exist, unread.
    known_ms = np.minimum(found.now_ms, here.commits_read_to_ms)
    idle_long = known_ms - pace.idle_since_ms > pace.stopped_after_ms
    stops_ms = _counted_from(pace.idle_since_ms, here, pace, policy) + pace.stopped_after_ms
    stopped = known_ms > stops_ms
    silent_ms = found.now_ms - _counted_from(here.seen_ms, here, pace, policy)
    stalled = stopped & (silent_ms <= pace.stopped_after_ms) & (pace.same_since_idle >= 2)
    reason = np.full(len(filled), Reason.MOVING, np.int8)
    for holds, why in (
        (pace.idle_ms > pace.usual_gap_ms, Reason.PAUSING),
        (pace.others_move & (pace.idle_ms > pace.alone_after_ms), Reason.RESTING),
        (growth.grown & pace.moves, Reason.GROWING),
        (waits, Reason.HISTORY_SHORT),
        ((filled == 1) & (not policy.paced), Reason.ONE_COMMIT),
        (idle_long & ~stopped, Reason.CLUSTER_BACK),
        (pace.is_back, Reason.REWOUND),
        (stopped, Reason.STOPPED),
        (stopped & (here.members == 0), Reason.STOPPED_EMPTY),
        (stalled, Reason.STALLED),
        (pace.absurd, Reason.TIME_ABSURD),
        (pace.lowest_offset < 0, Reason.NEGATIVE_OFFSET),
    ):
        reason[holds] = why
    since_ms, limit_ms = pace.idle_since_ms, pace.stopped_after_ms
    before, after = here.seen_ms, np.where(pace.others_move, here.others_moved_ms, -1)
    numbers: tuple[tuple[Reason, tuple[Longs | int, ...]], ...] = (
        (Reason.NEGATIVE_OFFSET, (-1, -1, pace.lowest_offset, -1)),
        (Reason.TIME_ABSURD, (pace.absurd_ms, -1, -1, -1)),
        (Reason.REWOUND, (pace.back_ms, -1, pace.peak, pace.back_to)),
        (Reason.CLUSTER_BACK, (since_ms, stops_ms - here.back_ms, here.back_ms, after)),
        (Reason.HISTORY_SHORT, (since_ms, limit_ms, pace.committed_since_ms, after)),
        (Reason.GROWING, (growth.first_ms, -1, growth.first_lag, growth.last_lag)),
    )
    for why, values in numbers:
        this = reason == why
        if this.any():
            since_ms, limit_ms, before, after = (
                np.where(this, value, array)
                for value, array in zip(values, (since_ms, limit_ms, before, after), strict=True)
            )
    found.reason[rows] = reason
    found.since_ms[rows], found.limit_ms[rows] = since_ms, limit_ms
    found.before[rows], found.after[rows] = before, after
    found.lag[rows] = np.where(reason == Reason.NEGATIVE_OFFSET, -1, found.lag[rows])


@dataclass(frozen=True, slots=True)
class _Growth:
    """Whether the known lags rose and never fell, with the first and the last of them."""

    grown: NDArray[np.bool_]
    first_lag: Longs
    first_ms: Longs
    last_lag: Longs

    @classmethod
    def of(
        cls,
        offset: Longs,
        times: Longs,
        lag: NDArray[np.integer],
        live: NDArray[np.integer],
        policy: Policy,
    ) -> _Growth:
        width = lag.shape[1]
        first_lag, first_ms, last_lag, last_ms, first_end, last_end = np.full((6, width), -1, np.int64)
        known_lags, rises = np.zeros((2, width), np.int8)
        falls = np.zeros(width, np.bool_)
        for column in range(len(lag)):
            known = (lag[column] >= 0) & (live >= len(lag) - column)
            end, begins = offset[column] + lag[column], known & (known_lags == 0)
            np.copyto(first_lag, lag[column], where=begins)
            np.copyto(first_ms, times[column], where=begins)
            np.copyto(first_end, end, where=begins)
            falls |= known & (lag[column] < last_lag)
            rises += known & ~begins & (lag[column] > last_lag)
            np.copyto(last_lag, lag[column], where=known)
            np.copyto(last_ms, times[column], where=known)
            np.copyto(last_end, end, where=known)
            known_lags += known
        grown = (known_lags >= policy.grown_lags) & ~falls & (rises >= policy.grown_rises)
        # As lags never fall, the first is the smallest.
        grown &= (first_lag > policy.allowed_lag) & (last_ms - first_ms >= policy.grown_for_ms)
        written_per_ms = (last_end - first_end).astype(np.float64) / np.maximum(1, last_ms - first_ms)
        grown &= last_lag - first_lag > written_per_ms * policy.grown_by_ms
        return cls(grown, first_lag, first_ms, last_lag)


def _counted_from(since_ms: Longs, here: Positions, pace: Pace, policy: Policy) -> Longs:
    """Return from when silences that began at these instants count, considering downtime of the cluster."""
    excused = (since_ms < here.back_ms) & (here.left_ms - since_ms <= pace.stopped_after_ms)
    later_ms = since_ms + (here.back_ms - here.left_ms + policy.stopped_after_ms)
    return np.where(excused, np.minimum(here.back_ms, later_ms), since_ms)


def _rows_of(positions: Positions, rows: slice | Rows) -> Positions:
    return Positions(*(getattr(positions, field.name)[rows] for field in fields(Positions)))
