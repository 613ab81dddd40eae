"""Commits of every group-partition over minutes, however often they come: what our own rules look at. Pure.

Rows are those of `Rings`, and the newest commit is the one that stands there: a row here holds what came
before it, in `BEFORE` columns, and `close` puts the newest behind them. Of what came before:

- of commits in the same `STEP_MS` of the broker's clock only the last stands, so that a full row spans
  `(BEFORE - 1) * STEP_MS` at least, two minutes, where ten commits as they come may span one second;
- but what a step back went back from stands like any last one, so that where the group had been is not lost
  while the row goes back to it;
- of a plateau (the same offset again and again) the first and the last stand, so that since when a group has
  been there is known for as long as it stays, and how it moved before is not pushed out.

What stands does not depend on how the commits were cut into batches. Lags are those of when each was read, -1
where it was not read as it came, and at most `MOST_LAG`: against the look at the end before it, until looks
around it let `measure` say better, since the end moves on by some seconds' records meanwhile.
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
_MOST_NEW = LENGTH + 2  # of one slot and batch: of more, the last fill its columns anyway
_FIRST_ROWS = 1024


class Trail:
    """Trails by slot: `offset`, `committed_ms` by the broker, `lag`; `settled` columns are filled."""

    def __init__(self) -> None:
        self.offset = NearNumbers(_FIRST_ROWS, BEFORE)
        self.committed_ms = NearNumbers(_FIRST_ROWS, BEFORE)
        self.lag = np.full((_FIRST_ROWS, BEFORE), -1, np.int32)
        self.settled = np.zeros(_FIRST_ROWS, np.int8)

    def hold(self, slots: int) -> None:
        """Have room for slots up to, but not including, this one, and no more: the rings say how many."""
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
        """Take commits that the rings are about to take, of each slot together and in their order."""
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
        """Tell the lags of what was settled last by where the logs ended just then, -1 where not known."""
        known = ends >= 0
        at, end = rows[known], ends[known]
        self.lag[at, -1] = np.clip(end - self.offset[at, -1], 0, MOST_LAG)

    def close(self, rings: Rings, part: slice) -> tuple[Longs, Longs, NDArray[np.int32], NDArray[np.int8]]:
        """Return these rows with the newest commit in the last column, and how many columns are filled.

        The newest one's lag is left open.
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
        """Settle what stands of commits before the last of each slot."""
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
        """Settle one commit in each of these rows, which are all different."""
        last, other = self.offset[rows, -1], self.offset[rows, -2]
        between = (last == other) & (last == offset) & (self.settled[rows] >= 2)
        # Where it is the newest of a plateau it takes the place of the one before; else all make room.
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
    """Leave out what stands between the first and the last of a plateau, and of the rest the oldest."""
    slots, offset = slots[at], offset[at]
    same = (slots[1:] == slots[:-1]) & (offset[1:] == offset[:-1])
    between = np.zeros(len(at), np.bool_)
    between[1:-1] = same[:-1] & same[1:]
    at, slots = at[~between], slots[~between]
    return at[_turns(slots[::-1])[::-1] < _MOST_NEW]


def _turns(slots: Slots) -> NDArray[np.intp]:
    """Return of each how many of the same slot stand before it; those of a slot stand together."""
    index = np.arange(len(slots))
    begins = np.concatenate(([True], slots[1:] != slots[:-1]))
    return index - np.maximum.accumulate(np.where(begins, index, 0))
