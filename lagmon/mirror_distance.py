"""From a mirror's offsets to the ends of its copies: bounds, out of each look at a copy's end. Pure.

While each record is copied once, a copy's end is the mirror's offset at that instant and a constant, the
*distance*. At a look at the copy's end the mirror's offset was at least the newest that was written by then,
and at most what is written later or where the source's log ended later. So each look bounds the distance from
both sides, and all looks together narrow it: to one number as soon as the mirror has once read all that there
was. Where a look contradicts those before it (markers of transactions, records that were left out, a copy
that was made anew), bounds begin anew with that look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.mirror_growth import Distance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirror_flow import MirrorFlow
    from lagmon.mirror_sight import MirrorSight

    Longs = NDArray[np.int64]

EVERY_MS = 4_000  # ends are read each ten seconds
WRITING_MS = 2_000  # an offset written so soon after a look may have been settled on before it


class DistanceBounds:
    """Keeps the bounds of each slot of a flow, in records; `copy's end - next offset` lies between them."""

    def __init__(self) -> None:
        self._begin(0)
        self._version = (-1, -1)  # of the windows' slots
        self._noted_ms = -EVERY_MS

    def _begin(self, count: int) -> None:
        self._low, self._high = (np.zeros(count, np.int64) for _ in range(2))
        self._known = np.zeros(count, np.bool_)
        self._from = np.full(count, -1, np.int64)  # the offset with which the bounds began
        self._width = np.full(count, -1, np.int64)  # how far apart they were then
        self._end = np.full(count, -1, np.int64)  # of the copy, at a look that is not used yet
        self._looked_ms = np.full(count, -1, np.int64)  # when that was, or the last that was used

    def of(self, slot: int) -> tuple[int, int] | None:
        """Return the bounds of a slot, None where no look has told any yet."""
        if slot >= len(self._known) or not self._known[slot]:
            return None
        return int(self._low[slot]), int(self._high[slot])

    def proves(self, slot: int, lost: int, next_offset: int, start: int) -> bool:
        """Tell whether so many records that a copy lacks from an offset to a start can be no gaps.

        Gaps (markers of transactions) make a copy fall behind as offsets go on. In no more offsets than the
        bounds have held for, no more of them are to be expected than the bounds would have let pass.
        """
        if slot >= len(self._known) or not self._known[slot]:
            return False
        held_for = next_offset - int(self._from[slot])
        return start - next_offset <= held_for and lost > int(self._width[slot])

    def note(self, flow: MirrorFlow, sight: MirrorSight) -> None:
        """Take in what was looked at since the last time."""
        if 0 <= sight.now_ms - self._noted_ms < EVERY_MS:
            return
        self._noted_ms = sight.now_ms
        if flow.windows.version != self._version or len(sight.used) != len(self._known):
            self._version = flow.windows.version  # a slot may be another partition's by now
            self._begin(len(sight.used))
        there = sight.used & (sight.places >= 0) & (sight.target_places >= 0) & (sight.tail == 0)
        self._use(flow, sight, np.flatnonzero(there & (self._end >= 0)))
        self._take(flow, sight, np.flatnonzero(there))

    def _use(self, flow: MirrorFlow, sight: MirrorSight, slots: NDArray[np.intp]) -> None:
        """Bound by a look that the source has been looked at after, or an offset was written after."""
        windows, source, looked_ms = flow.windows, flow.source.heads, self._looked_ms[slots]
        places = sight.places[slots]
        most = np.full(len(slots), np.iinfo(np.int64).max)
        ended = (source.sampled_ms[places] >= looked_ms) & (source.end[places] >= 0)
        most[ended] = source.end[places][ended]
        wrote = windows.committed_ms[slots] > looked_ms + WRITING_MS
        most[wrote] = np.minimum(most, windows.next_offset[slots])[wrote]
        offsets, times = windows.rings.offset[slots], windows.rings.committed_ms[slots]
        by_then = (times >= 0) & (times < looked_ms[:, None]) & (offsets >= 0)
        least = np.where(by_then, offsets, -1).max(axis=1, initial=-1)
        use = (ended | wrote) & (least >= 0) & (most >= least)
        slots, low, high = slots[use], (self._end[slots] - most)[use], (self._end[slots] - least)[use]
        self._end[slots] = -1
        lows, highs = np.maximum(self._low[slots], low), np.minimum(self._high[slots], high)
        fits = self._known[slots] & (lows <= highs)
        self._from[slots] = np.where(fits, self._from[slots], least[use])
        self._width[slots] = np.where(fits, self._width[slots], high - low)
        self._low[slots], self._high[slots] = np.where(fits, lows, low), np.where(fits, highs, high)
        self._known[slots] = True

    def _take(self, flow: MirrorFlow, sight: MirrorSight, slots: NDArray[np.intp]) -> None:
        """Keep the newest look at each copy's end until it can be used."""
        heads, places = flow.target.heads, sight.target_places[slots]
        new = (heads.sampled_ms[places] > self._looked_ms[slots]) & (heads.end[places] >= 0)
        self._end[slots[new]] = heads.end[places[new]]
        self._looked_ms[slots[new]] = heads.sampled_ms[places[new]]


def narrowed(usual: Distance | None, bounds: tuple[int, int] | None) -> Distance | None:
    """Return an estimate that keeps within bounds and is no wider than they are."""
    if bounds is None:
        return usual
    low, high = bounds
    if usual is None:
        return Distance(low, high - low, sure=True)
    return Distance(
        min(max(usual.records, low), high),
        min(usual.spread, high - low),
        sure=usual.sure or low == high,
    )
