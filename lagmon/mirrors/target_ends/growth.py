"""How much a target has grown since the mirror wrote an offset. Pure.

Where the target ended when an offset was written lies between two polls. So all offsets in the window are
used: the *distance* from an offset to the target's end is the same for each, except for records under way.
The result is the median, and the spread of all: differences within the spread prove nothing. Transaction
markers and compaction change the distance slowly, a loss at once: offsets from before a loss are left out.
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


SURE_OF = 5  # distances: so many rarely all lie on one side of the true value


@dataclass(frozen=True, slots=True)
class Distance:
    """From an offset of the source to the target's end when it was written: records, and their spread.

    `sure` is whether there are enough values for the spread to show the possible error.
    """

    records: int
    spread: int
    sure: bool


def distances(flow: FlowFacts, slots: Sequence[int], places: Int32s) -> Floats:
    """Return (slots, columns of the window) distances; NaN if unknown.

    `places` are those of the target partitions, -1 if there is none.
    """
    at, rings = np.array(slots, np.intp), flow.windows.rings
    found = np.full((len(at), rings.length), np.nan)
    for column in range(rings.length):
        offsets, times = rings.offset[at, column], rings.committed_ms[at, column]
        rest = flow.windows.rest[at]
        # An idle tail counts as read, but the target's end belongs to N.
        offsets = np.where((rest >= 0) & (offsets == rest), flow.windows.next_offset[at], offsets)
        known = (places >= 0) & (offsets >= 0)
        ends = np.full(len(at), -1, np.int64)
        ends[known] = flow.target.heads.end_at(places[known], times[known])
        known = ends >= 0
        found[known, column] = ends[known] - offsets[known]
    return found


def usual(row: Floats) -> Distance | None:
    """Return the usual one of a slot's distances, None if none is known."""
    known = row[~np.isnan(row)]
    if not len(known):
        return None
    spread = int(known.max() - known.min())
    return Distance(round(float(np.median(known))), spread, sure=len(known) >= SURE_OF)
