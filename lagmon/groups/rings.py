"""The newest commits of every group-partition, as arrays: a row each, right-aligned, the newest last.

Row-major and right-aligned, so that the evaluators look at columns as they stand and copy nothing. What is
missing is -1. Pure: no clock, no I/O, and no lock either, which is the owner's business.
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
_NOTHING_YET = ("moved_ms", "known_before", "_at_look")


class Rings:
    """Windows by slot: `offset`, `committed_ms` by the broker, and `lag` when each was read.

    `filled` is how many columns of a row hold a commit, `live` how many of its newest were read as they
    came: the lag of the others was taken against an end that is younger than they are. `moved_ms` is when the
    newest offset was first committed, by our clock (by the broker's where nothing was read as it came),
    and `known_before` what the newest was before the log's end was looked at last.

    Of many windows the columns may be kept `near`: they take half the room, and are read and written by the
    thousands as quickly, one by one less so.
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
        self._held_ms: NDArray[np.int64] | None = None  # None: nobody was ever held up
        self._at_look = np.full(_FIRST_ROWS, -1, np.int64)  # the newest when its log's end was looked at last

    def hold(self, slots: int) -> None:
        """Have room for slots up to, but not including, this one."""
        if slots <= len(self.filled):
            return
        capacity = max(slots, len(self.filled) * 9 // 8)
        # One after the other, so that only one is there twice, if any is.
        for name in _TABLES:
            if self.near:
                getattr(self, name).hold(capacity)
            else:
                more_rows(self, name, capacity, -1)
        for name in _NOTHING_YET:
            more_rows(self, name, capacity, -1)
        if self._held_ms is not None:
            more_rows(self, "_held_ms", capacity, -1)
        for name in ("live", "filled"):  # which tells last how many there are
            more_rows(self, name, capacity, 0)

    def clear(self, slots: Slots) -> None:
        """Forget what these slots hold."""
        for name in (*_TABLES, *_NOTHING_YET):
            getattr(self, name)[slots] = -1
        if self._held_ms is not None:
            self._held_ms[slots] = -1
        self.filled[slots] = 0
        self.live[slots] = 0

    def note_moves(
        self, slots: Slots, offset: Longs, committed_ms: Longs, *, read_ms: int, live: bool
    ) -> None:
        """Take note of when offsets moved, of commits that are about to be appended, each slot's together.

        By our clock, and once: a commit of the same offset may be read long after it was made, and counted
        back from it the group would seem to have come there the later. Of what was there before us the broker
        tells, and how far its clock is from ours the first commit that is read as it comes.
        """
        before = np.concatenate(([-1], offset[:-1]))
        begins = np.concatenate(([True], slots[1:] != slots[:-1])) if len(slots) else np.zeros(0, np.bool_)
        before = np.where(begins, self.offset[slots, -1], before)
        moves = offset != before
        if not live:
            self.moved_ms[slots[moves]] = committed_ms[moves]  # of several of a slot the last stays
            return
        firsts = np.flatnonzero(self.live[slots] == 0)
        self.moved_ms[slots[firsts]] += read_ms - committed_ms[firsts]
        self.moved_ms[slots[moves]] = read_ms

    def note_look(self, rows: NDArray[np.integer]) -> None:
        """Take note that the ends of the logs of these slots were looked at.

        What the newest was at the look before was committed before this one.
        """
        self.known_before[rows] = self._at_look[rows]
        self._at_look[rows] = self.offset[rows, -1]

    def note_held(self, rows: NDArray[np.integer], at_ms: int) -> None:
        """Take note that a transaction held up who stood there, at these slots."""
        if not len(rows):
            return
        if self._held_ms is None:
            self._held_ms = np.full(len(self.filled), -1, np.int64)
        self._held_ms[rows] = at_ms

    def held_ms(self, part: slice) -> Longs:
        """Return when a transaction was last seen to hold up who stands there, at these slots, -1 never."""
        if self._held_ms is None:
            return np.full(len(self.filled[part]), -1, np.int64)
        return self._held_ms[part]

    def append(self, slots: Slots, offset: Longs, committed_ms: Longs, lag: Longs, *, live: bool) -> None:
        """Append commits in the order in which they were read; a slot may come several times.

        Of more than a window holds, the newest stay.
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
        # Beyond the last old column stands what is about to be written over.
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
