"""Which slots stand before records that the source has deleted, and whether their copies stand too. Pure.

An offset is not written again for three reasons: there was nothing to copy, the mirror copies and writes no
offsets, or it copies nothing. Only in the last one what is deleted meanwhile is lost. So an offset stands
from when there was something to copy behind it, and its copy stands where two looks found the same end: the
newest, and one around the time in which the mirror would have written an offset.

A copy that grows proves that its mirror copies, not how far it is: markers of transactions keep it behind by
more and more (`mirror_distance`). One that is looked at no more proves nothing: there is but the offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.mirrors.partitions.sight import LOOK_MS, STALE_MS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.logs.heads import Heads
    from lagmon.mirrors.facts import FlowFacts
    from lagmon.mirrors.partitions.sight import MirrorSight

    Flags = NDArray[np.bool_]
    Longs = NDArray[np.int64]
    Int32s = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands, by slot; none of it where nothing was deleted unread, or it is not known lately."""

    offset: Flags  # for longer than it does in a mirror that moves; the copy was looked at since
    copy: Flags  # its copy as well, or it has none
    unseen: Flags  # the offset as long as that, beside a copy that was not looked at lately

    @property
    def still(self) -> Flags:
        """Return which offsets stand as long as that beside a copy that stands too, or is not looked at."""
        found: Flags = (self.offset & self.copy) | self.unseen
        return found


def longest_ms(sight: MirrorSight) -> int:
    """Return for how long an offset may stand in a mirror that moves."""
    return 2 * sight.cadence_ms + LOOK_MS


def standing(flow: FlowFacts, sight: MirrorSight) -> Standing:
    """Tell of every slot."""
    offset, copy, unseen = np.zeros((3, len(sight.used)), np.bool_)
    # Up to when offsets are read: since then it may have moved, unread.
    known_ms = min(sight.now_ms, flow.read_to_ms)
    slots = np.flatnonzero(sight.used & (sight.deleted > 0))
    slots = slots[known_ms - sight.behind_since_ms[slots] > longest_ms(sight)]
    if not len(slots):
        return Standing(offset, copy, unseen)
    heads, places, since_ms = flow.target.heads, sight.target_places[slots], sight.behind_since_ms[slots]
    absent = places < 0
    at = np.where(absent, 0, places)
    if absent.all():
        offset[slots] = copy[slots] = True
        return Standing(offset, copy, unseen)
    looked_ms = heads.sampled_ms[at]
    late = sight.now_ms - looked_ms > STALE_MS
    fresh = (looked_ms > since_ms + longest_ms(sight)) & ~late
    same = _ended_so(heads, at, since_ms + sight.cadence_ms + LOOK_MS)
    offset[slots] = absent | fresh
    copy[slots] = absent | (fresh & same)
    unseen[slots] = ~absent & late
    return Standing(offset, copy, unseen)


def _ended_so(heads: Heads, places: Int32s, at_ms: Longs) -> Flags:
    """Tell which logs ended as they do now at the last look before an instant, or at the first one after.

    On the line between these two, which may be far apart, they would have grown since.
    """
    state = heads.state(places)
    ends, times = state.ends, state.times + np.int64(state.origin_ms)
    after, row = (ends >= 0) & (times >= at_ms), np.arange(len(places))
    column = np.where(after.any(axis=0), after.argmax(axis=0), len(ends))
    newest = len(ends) - 1
    first, last = np.minimum(column, newest), np.maximum(column - 1, 0)
    then = after & (times == times[first, row]) & (ends >= ends[newest])  # of points of one instant any
    so_after = (column < newest) & then.any(axis=0)
    so_before = (column > 0) & (column <= newest) & (ends[last, row] >= ends[newest, row])
    so: Flags = so_after | so_before
    return so
