"""Log ends of each place at some polls as 32-bit distances from an anchor. Pure.

A place has an anchor, and a column for each age with the 32-bit distance of the end from it. A newest end
that does not fit becomes the anchor; ends more than 2**31 - 1 records before it are dropped. As ends never
fall along a row, these are the oldest, and the others are less than 2**32 apart.

Searches compare distances; only results are converted to offsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.place_rows import grown, places_of

if TYPE_CHECKING:
    from lagmon.arrays.kinds import Int32s, Int64s
    from lagmon.arrays.place_rows import Rows

UNKNOWN = np.int32(-(1 << 31))  # below all distances, as -1 is below all ends
FARTHEST = (1 << 31) - 1


class NearEnds:
    """Log ends of places, in columns, the newest last; -1 is "not known"."""

    def __init__(self, columns: int, capacity: int) -> None:
        self.near = np.empty((columns, capacity), np.int32)  # from the anchor
        self.newest = np.empty(capacity, np.int64)  # also as offsets, as they are read most often
        self._anchor = np.empty(capacity, np.int64)

    def grow(self, capacity: int, size: int) -> None:
        """Grow to this many places, of which `size` were claimed."""
        # One array after the other, so that at most one is in memory twice.
        self.near = grown(self.near, capacity, size)
        self.newest = grown(self.newest, capacity, size)
        self._anchor = grown(self._anchor, capacity, size)

    def forget(self, rows: Rows) -> None:
        """Forget these rows."""
        self.near[:, rows] = UNKNOWN
        self.newest[rows] = -1
        self._anchor[rows] = 0

    def take(self, places: Int32s, ends: Int64s) -> None:
        """Replace the ends of these places, by column and place."""
        self.newest[places] = newest = ends[-1]
        far = ((ends >= 0) & (ends < newest - FARTHEST)).any(axis=0)
        # Ends that were kept once fit again: they are less than 2**32 apart.
        self._anchor[places] = anchors = np.maximum(newest - np.where(far, FARTHEST, 0), 0)
        for column, found in zip(self.near, ends, strict=True):
            column[places] = _near(found, anchors)

    def whole(self, places: Int32s, first: int = 0) -> Int64s:
        """Return the ends of places from a column on, by column and place."""
        ends = np.empty((len(self.near) - first, len(places)), np.int64)
        for number, column in enumerate(self.near[first:]):
            ends[number] = self.ends(places, column[places])
        return ends

    def ends(self, places: Int32s, near: Int32s) -> Int64s:
        """Return the ends for these distances, one for each place."""
        ends = self._anchor[places] + near
        ends[near == UNKNOWN] = -1
        return ends

    def distances(self, places: Int32s, offsets: Int64s) -> Int32s:
        """Return the distances of offsets from their places' anchors, to be compared with ends.

        Offsets before or after all kept ends are cut off to a value before or after them. A negative offset
        becomes one that no end has passed.
        """
        apart: Int64s = np.clip(offsets - self._anchor[places], UNKNOWN, FARTHEST)
        apart[offsets < 0] = FARTHEST
        return apart.astype(np.int32)

    def reach(self, rows: Rows, ends: Int64s) -> Int32s:
        """Return the distances of new ends, without storing them; move anchors that are too far away.

        If an anchor is moved down, higher ends are lowered to the new end.
        """
        apart = ends - self._anchor[rows]
        if len(apart) and (apart.max() > FARTHEST or apart.min() < -FARTHEST):
            far = np.flatnonzero(np.abs(apart) > FARTHEST)
            self._move(places_of(rows)[far], ends[far])
            apart[far] = 0
        return apart.astype(np.int32)

    def lower(self, places: Int32s, ends: Int64s) -> None:
        """Lower the ends above one that fell, the newest included."""
        near = self.reach(places, ends)
        for column in self.near:
            column[places] = np.minimum(column[places], near)
        self.newest[places] = ends

    def _move(self, places: Int32s, anchors: Int64s) -> None:
        for column in self.near:
            ends = np.minimum(self.ends(places, column[places]), anchors)
            column[places] = _near(ends, anchors)
        self._anchor[places] = anchors


def _near(ends: Int64s, anchors: Int64s) -> Int32s:
    """Return the distances of ends from their anchors, `UNKNOWN` if they are too far before them."""
    apart = ends - anchors
    apart[(ends < 0) | (apart < -FARTHEST)] = UNKNOWN
    return apart.astype(np.int32)
