"""Commits of every group-partition over minutes, whatever their rate; the input of our own rules. Pure.

Rows are those of `Rings`. A row holds the commits before the newest, in `BEFORE` columns; `close` appends the
newest from the ring. Kept are:

- of commits in the same `STEP_MS` of the broker's clock only the last, so that a full row spans at least
  `(BEFORE - 1) * STEP_MS`, two minutes;
- the offset before a step back, so that the row shows where the group went back from;
- of a plateau (the same offset committed repeatedly) the first and the last commit, so that its length is
  known and earlier commits stay.

The result does not depend on how commits were batched. Lags are those at the time of reading, at most
`MOST_LAG`, -1 for commits that were not read live. They are against the previous poll of the log end until
`measure` corrects them by the polls around the commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.growing import more_rows
from lagmon.arrays.near_numbers import NearNumbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.groups.rings import Rings

    Longs = NDArray[np.int64]
    Slots = NDArray[np.int32]

BEFORE = 9
LENGTH = BEFORE + 1
STEP_MS = 15_000
MOST_LAG = 2**31 - 1
_MOST_NEW = LENGTH + 2  # of one slot and batch: the last ones fill its columns
_FIRST_ROWS = 1024


class Trail:
    """Trails by slot: `offset`, `committed_ms` by the broker, `lag`; `settled` is the number of columns."""

    def __init__(self) -> None:
        self.offset = NearNumbers(_FIRST_ROWS, BEFORE)
        self.committed_ms = NearNumbers(_FIRST_ROWS, BEFORE)
        self.lag = np.full((_FIRST_ROWS, BEFORE), -1, np.int32)
        self.settled = np.zeros(_FIRST_ROWS, np.int8)

    def hold(self, slots: int) -> None:
        """Reserve room for slots up to, but not including, this one."""
        if slots <= len(self.settled):
            return
        self.offset.hold(slots)
        self.committed_ms.hold(slots)
        more_rows(self, "lag", slots, -1)
        more_rows(self, "settled", slots, 0)

    def clear(self, slots: Slots) -> None:
        """Forget what these slots hold."""
        self.offset.clear(slots)
        self.committed_ms.clear(slots)
        self.lag[slots] = -1
        self.settled[slots] = 0

    def take(
        self, rings: Rings, slots: Slots, offset: Longs, committed_ms: Longs, lag: Longs, *, live: bool
    ) -> None:
        """Add commits before the rings do, each slot's together and in their order."""
        if not len(slots):
            return
        begins = np.concatenate(([True], slots[1:] != slots[:-1]))
        rows = slots[begins]
        before, before_ms = rings.offset[rows, -1], rings.committed_ms[rows, -1]
        goes_on = (before_ms // STEP_MS == committed_ms[begins] // STEP_MS) & (offset[begins] >= before)
        settles = np.flatnonzero((rings.filled[rows] > 0) & ~goes_on)
        if len(settles):
            rows = rows[settles]
            known = np.where(rings.live[rows] > 0, np.minimum(rings.lag[rows, -1], MOST_LAG), -1)
            self._settle(rows, before[settles], before_ms[settles], known)
        if len(goes_on) < len(slots):
            lags = np.minimum(lag, MOST_LAG) if live else np.full(len(lag), -1, np.int64)
            self._settle_all_but_last(slots, offset, committed_ms, lags)

    def measure(self, rows: NDArray[np.intp], ends: Longs) -> None:
        """Correct the lags of the last settled commits by the log ends at their time, -1 if not known."""
        known = ends >= 0
        at, end = rows[known], ends[known]
        self.lag[at, -1] = np.clip(end - self.offset[at, -1], 0, MOST_LAG)

    def close(self, rings: Rings, part: slice) -> tuple[Longs, Longs, NDArray[np.int32], NDArray[np.int8]]:
        """Return these rows with the newest commit in the last column, and the number of filled columns.

        The lag of the newest commit is -1.
        """
        offset, committed_ms = (
            np.concatenate((before[part], newest[part, -1:]), axis=1)
            for before, newest in ((self.offset, rings.offset), (self.committed_ms, rings.committed_ms))
        )
        not_measured_yet = np.full((len(offset), 1), -1, np.int32)
        filled = self.settled[part] + (rings.filled[part] > 0)
        lag = np.concatenate((self.lag[part], not_measured_yet), axis=1)
        return offset, committed_ms, lag, filled.astype(np.int8)

    def _settle_all_but_last(self, slots: Slots, offset: Longs, committed_ms: Longs, lag: Longs) -> None:
        """Settle the commits to keep before the last of each slot."""
        step = committed_ms // STEP_MS
        same_slot = slots[1:] == slots[:-1]
        stays = np.flatnonzero(same_slot & ~((step[1:] == step[:-1]) & (offset[1:] >= offset[:-1])))
        if not len(stays):
            return
        stays = _within_plateaus(slots, offset, stays)
        turns = _turns(slots[stays])
        for turn in range(int(turns.max()) + 1):
            these = stays[turns == turn]
            self._settle(slots[these], offset[these], committed_ms[these], lag[these])

    def _settle(self, rows: Slots, offset: Longs, committed_ms: Longs, lag: Longs) -> None:
        """Settle one commit in each of these distinct rows."""
        last, other = self.offset[rows, -1], self.offset[rows, -2]
        between = (last == other) & (last == offset) & (self.settled[rows] >= 2)
        # The newest of a plateau replaces the one before; all others shift.
        source = np.minimum(np.arange(BEFORE) + ~between[:, None], BEFORE - 1)
        at = np.arange(BEFORE - 1, BEFORE * len(rows), BEFORE)
        self.offset.push(rows, source, at, offset)
        self.committed_ms.push(rows, source, at, committed_ms)
        lags = np.take_along_axis(self.lag[rows], source, axis=1)
        lags[:, -1] = lag
        self.lag[rows] = lags
        moved = rows[~between]
        self.settled[moved] = np.minimum(self.settled[moved] + 1, BEFORE)


def _within_plateaus(slots: Slots, offset: Longs, at: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the commits without the inner ones of plateaus, limited to the newest of each slot."""
    slots, offset = slots[at], offset[at]
    same = (slots[1:] == slots[:-1]) & (offset[1:] == offset[:-1])
    between = np.zeros(len(at), np.bool_)
    between[1:-1] = same[:-1] & same[1:]
    at, slots = at[~between], slots[~between]
    return at[_turns(slots[::-1])[::-1] < _MOST_NEW]


def _turns(slots: Slots) -> NDArray[np.intp]:
    """Return for each entry how many of the same slot come before it; a slot's entries are adjacent."""
    index = np.arange(len(slots))
    begins = np.concatenate(([True], slots[1:] != slots[:-1]))
    return index - np.maximum.accumulate(np.where(begins, index, 0))
