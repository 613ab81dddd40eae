"""From a mirror's offsets to the ends of its copies: bounds, out of each look at a copy's end. Pure.

While each record is copied once, a copy's end is the mirror's offset at that instant and a constant, the
*distance*. At a look at the copy's end the mirror's offset was at least the newest that was written by then,
and at most what is written later or where the source's log ended later. So each look bounds the distance from
both sides, and all looks together narrow it: to one number as soon as the mirror has once read all that there
was. Where a look contradicts those before it (records that were left out, a copy that was made anew), bounds
begin anew with that look.

Markers of transactions make the distance fall as offsets go on. So its upper bound holds for all that comes
later, and the lower one only where it was told: between the look that told the upper and a later one that
told the lower, it fell by no more than the two lie apart. No more markers than that, offset by offset, are
taken to come behind that look. What a look at the very same end told of the mirror's offset holds without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirror_flow import MirrorFlow
    from lagmon.mirror_sight import MirrorSight

    Longs = NDArray[np.int64]

EVERY_MS = 4_000  # ends are read each ten seconds
_FAR = np.iinfo(np.int64).max
WRITING_MS = 2_000  # an offset written so soon after a look may have been settled on before it
READING_MS = 2_000  # ends are read within this from the instant that a look is told by, where nothing tells


@dataclass(frozen=True, slots=True)
class Reach:
    """The bounds of a distance, in records, and at which offsets of the source they were told."""

    low: int
    high: int
    low_at: int  # the mirror was at least here
    high_at: int  # the mirror was at most here

    def gaps(self, offsets: int) -> int | None:
        """Return how many markers are among so many offsets at most, None where nothing tells."""
        held_for = self.low_at - self.high_at
        if held_for <= self.high - self.low:
            return None
        return math.ceil((self.high - self.low) * max(0, offsets) / held_for)


@dataclass(frozen=True, slots=True)
class CopyLook:
    """A look at a copy's end, and between which offsets the mirror was then."""

    least: int
    most: int
    end: int
    at_ms: int


class DistanceBounds:
    """Keeps the bounds of each slot of a flow, in records; `copy's end - next offset` lies between them."""

    def __init__(self) -> None:
        self._begin(0)
        self._version = (-1, -1)  # of the windows' slots
        self._noted_ms = -EVERY_MS

    def _begin(self, count: int) -> None:
        self._low, self._high, self._low_at, self._high_at = (np.zeros(count, np.int64) for _ in range(4))
        self._known = np.zeros(count, np.bool_)
        self._seen = np.full((4, count), -1, np.int64)  # the newest look that was used, as CopyLook has it
        self._same_most = np.full(count, -1, np.int64)  # the least of `most` of all looks at the same end
        self._end = np.full(count, -1, np.int64)  # of the copy, at a look that is not used yet
        self._looked_ms = np.full(count, -1, np.int64)  # when that was, or the last that was used
        self._read_ms = np.full(count, -1, np.int64)  # when its ends had been read

    def of(self, slot: int) -> Reach | None:
        """Return the bounds of a slot, None where no look has told any yet."""
        if slot >= len(self._known) or not self._known[slot]:
            return None
        each = self._low, self._high, self._low_at, self._high_at
        return Reach(*(int(one[slot]) for one in each))

    def newest(self, slot: int) -> CopyLook | None:
        """Return the newest look at a slot's copy that was used, None where there is none."""
        if slot >= len(self._known) or self._seen[3, slot] < 0:
            return None
        return CopyLook(*self._seen[:, slot].tolist())

    def most_at(self, slot: int, end: int, *, stands: bool = False) -> int | None:
        """Return which offset the mirror was at, at most, when its copy ended there; None where not known.

        Where looks lie too close to each other to tell how many markers there are, as many are taken to have
        come as the bounds leave room for, but only of a copy that `stands`: one that grows may grow by them.
        """
        if slot >= len(self._known):
            return None
        found = [int(self._same_most[slot])] if int(self._seen[2, slot]) == end >= 0 else []
        reach = self.of(slot)
        if reach is not None:
            # Markers put the mirror's offset further on, where there may be more of them.
            width, held_for = reach.high - reach.low, reach.low_at - reach.high_at
            behind = end - reach.low - reach.low_at
            gaps = reach.gaps(behind * held_for // (held_for - width) + 1) if held_for > width else None
            if gaps is None and stands:
                gaps = min(width, max(0, behind + width))
            found += [] if gaps is None else [end - reach.low + gaps]
        return min(found, default=None)

    def forget(self, slot: int) -> None:
        """Begin anew with a slot's next look: its copy lacks records from here on."""
        if slot < len(self._known):
            self._known[slot] = False

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
            later = (source_ends >= 0) & (source_ms >= looked_ms + READING_MS)
            ended = np.where(later.any(axis=0), source_ends[later.argmax(axis=0), row], -1)
            at = ends >= 0
            self._bound(flow, slots[at], ends[at], looked_ms[at], ended[at])

    def _use(self, flow: MirrorFlow, sight: MirrorSight, slots: NDArray[np.intp]) -> None:
        """Bound by a look that the source has been looked at after, or an offset was written after."""
        source, looked_ms, places = flow.source.heads, self._looked_ms[slots], sight.places[slots]
        read = source.sampled_ms[places] >= self._read_ms[slots]
        ended = np.where(read, source.end[places], -1)
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
        slots, ends, least, most, times = (one[use] for one in (slots, ends, least, most, looked_ms))
        low, high = ends - most, ends - least
        lows, highs = np.maximum(self._low[slots], low), np.minimum(self._high[slots], high)
        fits = self._known[slots] & (lows <= highs)
        # Of equal bounds the upper one is of the first look, the lower of the last: fewer gaps lie between.
        self._low_at[slots] = np.where(fits & (self._low[slots] > low), self._low_at[slots], least)
        self._high_at[slots] = np.where(fits & (self._high[slots] <= high), self._high_at[slots], most)
        self._low[slots], self._high[slots] = np.where(fits, lows, low), np.where(fits, highs, high)
        same = (self._seen[2, slots] == ends) & (self._same_most[slots] >= 0)
        self._same_most[slots] = np.where(same, np.minimum(self._same_most[slots], most), most)
        self._seen[:, slots] = least, most, ends, times
        self._known[slots] = True
        return slots

    def _take(self, flow: MirrorFlow, sight: MirrorSight, slots: NDArray[np.intp]) -> None:
        """Keep the newest look at each copy's end until it can be used."""
        heads, places = flow.target.heads, sight.target_places[slots]
        new = (heads.sampled_ms[places] > self._looked_ms[slots]) & (heads.end[places] >= 0)
        self._end[slots[new]] = heads.end[places[new]]
        looked_ms = heads.sampled_ms[places[new]]
        read_ms = np.int64(flow.target.ends_read_ms)
        self._looked_ms[slots[new]] = looked_ms
        self._read_ms[slots[new]] = np.where(read_ms >= looked_ms, read_ms, looked_ms + READING_MS)
