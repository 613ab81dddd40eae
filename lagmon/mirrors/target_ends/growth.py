"""By how much a copy has grown since the mirror wrote an offset: what it copied since, told or not. Pure.

Where the copy ended when an offset was written lies on a line between two looks. So it is taken from all the
offsets in the window: the *distance* from an offset to the copy's end is the same at each of them, but for
what was under way then. The median is told, with the spread of them all, within which nothing can be told.
Markers of transactions and compaction change the distance slowly, a loss at once: offsets from before one
are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lagmon.mirrors.facts import FlowFacts

    Int32s = NDArray[np.int32]
    Floats = NDArray[np.float64]


SURE_OF = 5  # distances: that all lie on one side of the truth is rare


@dataclass(frozen=True, slots=True)
class Distance:
    """From an offset of the source to the copy's end when it was written: records, and their spread.

    `sure` tells that there are enough of them for the spread to tell how wrong it may be.
    """

    records: int
    spread: int
    sure: bool


def distances(flow: FlowFacts, slots: Sequence[int], places: Int32s) -> Floats:
    """Return (slots, columns of the window) distances, not a number where one is not known.

    `places` are those of the copies on the target, -1 where there is none.
    """
    at, rings = np.array(slots, np.intp), flow.windows.rings
    found = np.full((len(at), rings.length), np.nan)
    for column in range(rings.length):
        offsets, times = rings.offset[at, column], rings.committed_ms[at, column]
        rest = flow.windows.rest[at]
        # A quiet tail counts as read, but N is what the copy's end goes with.
        offsets = np.where((rest >= 0) & (offsets == rest), flow.windows.next_offset[at], offsets)
        known = (places >= 0) & (offsets >= 0)
        ends = np.full(len(at), -1, np.int64)
        ends[known] = flow.target.heads.end_at(places[known], times[known])
        known = ends >= 0
        found[known, column] = ends[known] - offsets[known]
    return found


def usual(row: Floats) -> Distance | None:
    """Return the usual one of a slot's distances, None where none is known."""
    known = row[~np.isnan(row)]
    if not len(known):
        return None
    spread = int(known.max() - known.min())
    return Distance(round(float(np.median(known))), spread, sure=len(known) >= SURE_OF)
