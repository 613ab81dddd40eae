"""Slots that are stalled before deleted records, and whether their targets are stalled too. Pure.

An offset is not written again for three reasons: there was nothing to replicate, the mirror replicates and
writes no offsets, or it replicates nothing. Only in the last case the deleted records are lost. So an offset
is stalled from when there was a record after it. Its target is stalled if two polls found the same end: the
newest, and one around the time at which the mirror would have written an offset.

A target that grows proves that its mirror replicates, but not how far it is: transaction markers keep it
behind by more and more (target_ends/distance.py). A target that is no longer polled proves nothing: only
the offset counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.mirrors.partitions.snapshot import POLL_MS, STALE_MS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.logs.heads import Heads
    from lagmon.mirrors.facts import FlowFacts
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot

    Flags = NDArray[np.bool_]
    Longs = NDArray[np.int64]
    Int32s = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Stalls:
    """Which slots are stalled; none without deleted unread records, or if the data is old."""

    offset: Flags  # idle for longer than in a mirror that moves; the target was polled since
    target: Flags  # its target as well, or it has none
    unpolled: Flags  # the offset is idle as long, and the target was not polled lately

    @property
    def mirror(self) -> Flags:
        """Return the offsets that are stalled with a target that is stalled too, or not polled."""
        found: Flags = (self.offset & self.target) | self.unpolled
        return found


def longest_ms(partitions: PartitionsSnapshot) -> int:
    """Return for how long an offset may be idle in a mirror that moves."""
    return 2 * partitions.cadence_ms + POLL_MS


def find_stalls(flow: FlowFacts, partitions: PartitionsSnapshot) -> Stalls:
    """Return which slots are stalled."""
    offset, target, unpolled = np.zeros((3, len(partitions.used)), np.bool_)
    # Offsets are read up to here: it may have moved since.
    known_ms = min(partitions.now_ms, flow.read_to_ms)
    slots = np.flatnonzero(partitions.used & (partitions.deleted > 0))
    slots = slots[known_ms - partitions.behind_since_ms[slots] > longest_ms(partitions)]
    if not len(slots):
        return Stalls(offset, target, unpolled)
    heads, places, since_ms = (
        flow.target.heads,
        partitions.target_places[slots],
        partitions.behind_since_ms[slots],
    )
    absent = places < 0
    at = np.where(absent, 0, places)
    if absent.all():
        offset[slots] = target[slots] = True
        return Stalls(offset, target, unpolled)
    polled_ms = heads.sampled_ms[at]
    late = partitions.now_ms - polled_ms > STALE_MS
    fresh = (polled_ms > since_ms + longest_ms(partitions)) & ~late
    same = _ended_so(heads, at, since_ms + partitions.cadence_ms + POLL_MS)
    offset[slots] = absent | fresh
    target[slots] = absent | (fresh & same)
    unpolled[slots] = ~absent & late
    return Stalls(offset, target, unpolled)


def _ended_so(heads: Heads, places: Int32s, at_ms: Longs) -> Flags:
    """Return which logs had their present end at the last poll before an instant, or the first one after.

    A line between these two polls, which may be far apart, would show growth.
    """
    state = heads.state(places)
    ends, times = state.ends, state.times + np.int64(state.origin_ms)
    after, row = (ends >= 0) & (times >= at_ms), np.arange(len(places))
    column = np.where(after.any(axis=0), after.argmax(axis=0), len(ends))
    newest = len(ends) - 1
    first, last = np.minimum(column, newest), np.maximum(column - 1, 0)
    then = after & (times == times[first, row]) & (ends >= ends[newest])  # any of the points of one instant
    so_after = (column < newest) & then.any(axis=0)
    so_before = (column > 0) & (column <= newest) & (ends[last, row] >= ends[newest, row])
    so: Flags = so_after | so_before
    return so
