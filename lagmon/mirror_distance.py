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
_FAR = np.iinfo(np.int64).max
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
        """Take in what was looked at since the last time, at first all looks that are kept."""
        if 0 <= sight.now_ms - self._noted_ms < EVERY_MS:
            return
        self._noted_ms = sight.now_ms
        anew = flow.windows.version != self._version or len(sight.used) != len(self._known)
        if anew:
            self._version = flow.windows.version  # a slot may be another partition's by now
            self._begin(len(sight.used))
        there = sight.used & (sight.places >= 0) & (sight.target_places >= 0) & (sight.tail == 0)
        if anew:
            self._look_back(flow, sight, np.flatnonzero(there))
        self._use(flow, sight, np.flatnonzero(there & (self._end >= 0)))
        self._take(flow, sight, np.flatnonzero(there))

    def _look_back(self, flow: MirrorFlow, sight: MirrorSight, slots: NDArray[np.intp]) -> None:
        """Bound by the looks that are kept of before, the oldest first."""
        target, source = flow.target.heads.state(), flow.source.heads.state()
        places, target_places = sight.places[slots], sight.target_places[slots]
        row = np.arange(len(slots))
        source_ends, source_ms = source.ends[:, places], source.times[:, places] + np.int64(source.origin_ms)
        for ends, times in zip(target.ends[:, target_places], target.times[:, target_places], strict=True):
            looked_ms = times + np.int64(target.origin_ms)
            later = (source_ends >= 0) & (source_ms >= looked_ms)
            ended = np.where(later.any(axis=0), source_ends[later.argmax(axis=0), row], -1)
            at = ends >= 0
            self._bound(flow, slots[at], ends[at], looked_ms[at], ended[at])

    def _use(self, flow: MirrorFlow, sight: MirrorSight, slots: NDArray[np.intp]) -> None:
        """Bound by a look that the source has been looked at after, or an offset was written after."""
        source, looked_ms, places = flow.source.heads, self._looked_ms[slots], sight.places[slots]
        ended = np.where(source.sampled_ms[places] >= looked_ms, source.end[places], -1)
        used = self._bound(flow, slots, self._end[slots], looked_ms, ended)
        self._end[used] = -1

    def _bound(
        self, flow: MirrorFlow, slots: NDArray[np.intp], ends: Longs, looked_ms: Longs, source_ends: Longs
    ) -> NDArray[np.intp]:
        """Bound by looks at the copies' ends; return of which slots that could be told.

        `source_ends` are where the source ended at some look after, -1 where that is not known.
        """
        offsets, times = flow.windows.rings.offset[slots], flow.windows.rings.committed_ms[slots]
        known = (times >= 0) & (offsets >= 0)
        written = np.where(known & (times > looked_ms[:, None] + WRITING_MS), offsets, _FAR)
        most = np.minimum(written.min(axis=1, initial=_FAR), np.where(source_ends >= 0, source_ends, _FAR))
        least = np.where(known & (times < looked_ms[:, None]), offsets, -1).max(axis=1, initial=-1)
        use = (most < _FAR) & (least >= 0) & (most >= least)
        slots, low, high, least = slots[use], (ends - most)[use], (ends - least)[use], least[use]
        lows, highs = np.maximum(self._low[slots], low), np.minimum(self._high[slots], high)
        fits = self._known[slots] & (lows <= highs)
        self._from[slots] = np.where(fits, self._from[slots], least)
        self._width[slots] = np.where(fits, self._width[slots], high - low)
        self._low[slots], self._high[slots] = np.where(fits, lows, low), np.where(fits, highs, high)
        self._known[slots] = True
        return slots

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
