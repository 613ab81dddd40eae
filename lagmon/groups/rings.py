"""The newest commits of every group-partition as arrays: one row each, right-aligned, the newest last.

Row-major and right-aligned, so that the rules read columns without a copy. Missing values are -1. Pure; the
owner holds the lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lagmon.arrays.growing import more_rows
from lagmon.arrays.near_numbers import NearNumbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Slots = NDArray[np.int32]

LENGTH = 10
"""How many commits a window holds, as many as Burrow's by default."""

_FIRST_ROWS = 1024
_TABLES = ("offset", "committed_ms", "lag")
_NOTHING_YET = ("moved_ms", "known_before", "_at_poll", "_last_pause_ms", "_pause_before_ms")
LEAST_PAUSE_MS = 60_000  # a shorter time between two commits is no pause


class Rings:
    """Windows by slot: `offset`, `committed_ms` by the broker, and `lag` when each commit was read.

    `filled` is the number of columns of a row with a commit, `live` how many of the newest were read when
    they were made; the lag of the others was taken against a later log end. `moved_ms` is when the newest
    offset was first committed, by our clock (by the broker's if nothing was read live). `known_before` is the
    newest offset before the last poll of the log end. A pause is a long time between two commits that ended
    with progress, by the broker's clock, as of a job that runs each hour. A step back is kept until the group
    has reached its highest offset again, however long that takes.

    With `near` the columns take half the memory; access by thousands of rows is as fast, by single rows
    slower.
    """

    def __init__(self, length: int = LENGTH, *, near: bool = False) -> None:
        self.length = length
        self.near = near
        self.offset: Any = self._table(anchored=True)
        self.committed_ms: Any = self._table(anchored=True)
        self.lag: Any = self._table(anchored=False)
        self.filled = np.zeros(_FIRST_ROWS, np.int8)
        self.live = np.zeros(_FIRST_ROWS, np.int8)
        self.moved_ms = np.full(_FIRST_ROWS, -1, np.int64)
        self.known_before = np.full(_FIRST_ROWS, -1, np.int64)
        self._last_pause_ms = np.full(_FIRST_ROWS, -1, np.int64)
        self._pause_before_ms = np.full(_FIRST_ROWS, -1, np.int64)
        self._held_ms: NDArray[np.int64] | None = None  # None: no group was ever blocked by a transaction
        self._went_back: NDArray[np.int64] | None = None  # None: no group ever went back
        # the newest offset at the last poll of its log end
        self._at_poll = np.full(_FIRST_ROWS, -1, np.int64)

    def hold(self, slots: int) -> None:
        """Reserve room for slots up to, but not including, this one."""
        if slots <= len(self.filled):
            return
        capacity = max(slots, len(self.filled) * 9 // 8)
        # One after the other, so that at most one is in memory twice.
        for name in _TABLES:
            if self.near:
                getattr(self, name).hold(capacity)
            else:
                more_rows(self, name, capacity, -1)
        for name in _NOTHING_YET:
            more_rows(self, name, capacity, -1)
        for name in ("_held_ms", "_went_back"):
            if getattr(self, name) is not None:
                more_rows(self, name, capacity, -1)
        for name in ("live", "filled"):  # last: their lengths tell the capacity
            more_rows(self, name, capacity, 0)

    def clear(self, slots: Slots) -> None:
        """Forget what these slots hold."""
        for name in (*_TABLES, *_NOTHING_YET):
            getattr(self, name)[slots] = -1
        if self._held_ms is not None:
            self._held_ms[slots] = -1
        self.forget_steps_back(slots)
        self.filled[slots] = 0
        self.live[slots] = 0

    def note_moves(
        self, slots: Slots, offset: Longs, committed_ms: Longs, *, read_ms: int, live: bool
    ) -> None:
        """Record when offsets moved, before commits are appended; each slot's commits are adjacent.

        The time is by our clock and taken once: a commit of the same offset may be read long after it was
        made. For commits from before the start the broker's time counts, corrected by the clock difference
        that the first live commit shows.
        """
        before = np.concatenate(([-1], offset[:-1]))
        begins = np.concatenate(([True], slots[1:] != slots[:-1])) if len(slots) else np.zeros(0, np.bool_)
        before = np.where(begins, self.offset[slots, -1], before)
        moves = offset != before
        if len(slots):
            self._note_steps_back(slots, offset, before, np.flatnonzero(begins), committed_ms)
        before_ms = np.where(begins, self.committed_ms[slots, -1], np.concatenate(([-1], committed_ms[:-1])))
        self._note_pauses(slots, np.where((offset > before) & (before_ms > 0), committed_ms - before_ms, 0))
        if not live:
            # of several commits of a slot the last one counts
            self.moved_ms[slots[moves]] = committed_ms[moves]
            return
        firsts = np.flatnonzero(self.live[slots] == 0)
        self.moved_ms[slots[firsts]] += read_ms - committed_ms[firsts]
        self.moved_ms[slots[moves]] = read_ms

    def went_back(self, part: slice) -> Longs | None:
        """Return the step back of each of these slots: highest offset, the one after it and its commit time.

        -1 for slots that have reached their highest offset again; None if no group ever went back.
        """
        return None if self._went_back is None else self._went_back[part]

    def forget_steps_back(self, slots: NDArray[np.integer]) -> None:
        """Forget from where these slots went back."""
        if self._went_back is not None:
            self._went_back[slots] = -1

    def _note_steps_back(
        self, slots: Slots, offset: Longs, before: Longs, firsts: NDArray[np.intp], committed_ms: Longs
    ) -> None:
        """Record where slots went back from, or that they are there again.

        `firsts` are where the commits of each slot begin.
        """
        if self._went_back is None:
            if not (offset < before).any():
                return
            self._went_back = np.full((len(self.filled), 3), -1, np.int64)
        rows, lasts = slots[firsts], np.append(firsts[1:], len(slots)) - 1
        known = self._went_back[rows]
        peak = np.maximum(np.maximum.reduceat(offset, firsts), np.maximum(before[firsts], known[:, 0]))
        at_peak = np.where(offset == np.repeat(peak, lasts - firsts + 1), np.arange(len(slots)), -1)
        peaks = np.maximum.reduceat(at_peak, firsts)  # the last commits of the highest offsets, -1: earlier
        after = np.minimum(np.where(peaks < 0, firsts, peaks + 1), lasts)
        new = (peaks >= 0) | (known[:, 0] < 0)
        known[new] = np.stack((peak, offset[after], committed_ms[after]), axis=1)[new]
        known[peaks == lasts] = -1
        self._went_back[rows] = known

    def usual_pause_ms(self, part: slice) -> Longs:
        """Return the shorter of the last two pauses of these slots, -1 if fewer are known.

        The shorter: one outage does not become usual.
        """
        return np.minimum(self._last_pause_ms[part], self._pause_before_ms[part])

    def _note_pauses(self, slots: Slots, lasted_ms: Longs) -> None:
        """Record the last two pauses of each slot; its entries are adjacent."""
        pauses = np.flatnonzero(lasted_ms >= LEAST_PAUSE_MS)
        if not len(pauses):
            return
        at, lasted_ms = slots[pauses], lasted_ms[pauses]
        last = np.concatenate((at[1:] != at[:-1], [True]))
        before = np.concatenate((last[1:], [False])) & ~last
        self._pause_before_ms[at[last]] = self._last_pause_ms[at[last]]
        self._pause_before_ms[at[before]] = lasted_ms[before]
        self._last_pause_ms[at[last]] = lasted_ms[last]

    def note_poll(self, rows: NDArray[np.integer]) -> None:
        """Record that the log ends of these slots were polled.

        The newest offset at the poll before was committed before this one.
        """
        self.known_before[rows] = self._at_poll[rows]
        self._at_poll[rows] = self.offset[rows, -1]

    def note_held(self, rows: NDArray[np.integer], at_ms: int) -> None:
        """Record that a transaction blocked the groups at these slots."""
        if not len(rows):
            return
        if self._held_ms is None:
            self._held_ms = np.full(len(self.filled), -1, np.int64)
        self._held_ms[rows] = at_ms

    def held_ms(self, part: slice) -> Longs:
        """Return when a transaction was last seen to block these slots, -1 if never."""
        if self._held_ms is None:
            return np.full(len(self.filled[part]), -1, np.int64)
        return self._held_ms[part]

    def append(self, slots: Slots, offset: Longs, committed_ms: Longs, lag: Longs, *, live: bool) -> None:
        """Append commits in the order in which they were read; a slot may occur several times.

        Of more than a window holds, the newest are kept.
        """
        if not len(slots):
            return
        order = np.argsort(slots, kind="stable")
        ordered = slots[order]
        begins = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        counts = np.diff(np.concatenate((begins, [len(ordered)])))
        rows = ordered[begins]
        row_of = np.repeat(np.arange(len(rows)), counts)
        before_newest = np.repeat(begins + counts, counts) - 1 - np.arange(len(ordered))
        fits = before_newest < self.length
        at = row_of[fits] * self.length + (self.length - 1 - before_newest[fits])
        taken = order[fits]
        shift = np.minimum(counts, self.length)
        # Columns beyond the last old one are overwritten below.
        source = np.minimum(np.arange(self.length) + shift[:, None], self.length - 1)
        for array, new in ((self.offset, offset), (self.committed_ms, committed_ms), (self.lag, lag)):
            if self.near:
                array.push(rows, source, at, new[taken])
                continue
            block = np.take_along_axis(array[rows], source, axis=1)
            block.reshape(-1)[at] = new[taken]
            array[rows] = block
        grown = np.minimum(self.filled[rows] + shift, self.length).astype(np.int8)
        self.filled[rows] = grown
        self.live[rows] = np.minimum(self.live[rows] + shift, self.length) if live else 0

    def _table(self, *, anchored: bool) -> Any:
        if self.near:
            return NearNumbers(_FIRST_ROWS, self.length, anchored=anchored)
        return np.full((_FIRST_ROWS, self.length), -1, np.int64)
