"""Ends of source logs that a mirror stands before: what was found there, and what to look at. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.mirror_sight import LOOK_MS
from lagmon.readable import Readers
from lagmon.record_due import OldReaders

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirror_flow import MirrorFlow
    from lagmon.mirror_sight import MirrorPace


def readable_from(
    flow: MirrorFlow, places: NDArray[np.int32], pace: MirrorPace, now_ms: int
) -> NDArray[np.int64]:
    """Return where a record may be again behind each slot's next offset, -1 not known; ask for what is not.

    The source's watch looks (tail_looks.py) with the next look at the ends. A mirror that is between two
    commits is not asked about.
    """
    source, heads, count = flow.source, flow.source.heads, len(places)
    readable = source.readable if pace.committed_only else source.readable_uncommitted
    used = np.flatnonzero((places >= 0) & (flow.windows.next_offset[:count] >= 0))
    found = np.full(count, -1, np.int64)
    at, offset = places[used], flow.windows.next_offset[used]
    found[used] = readable.readable_from(at, offset)
    end, stable = heads.end[at], heads.stable[at]
    head = np.where((stable >= 0) & pace.committed_only, np.minimum(stable, end), end)
    between_ms = pace.configured_ms + min(pace.configured_ms, LOOK_MS)
    standing_ms = now_ms - flow.windows.committed_ms[used] - between_ms
    there = (offset >= heads.start[at]) & pace.tails
    far = np.full(np.count_nonzero(there), pace.committed_only)
    readers = Readers(at[there], offset[there], head[there], standing_ms[there], far)
    source.mirror_readers[flow.order.flow.name] = pace.committed_only, readers
    if pace.read_to_ms >= 0:  # until then its offsets are read one after the other
        source.mirrors_stand[flow.order.flow.name] = OldReaders(at, offset, to_end=not pace.tails)
    return found
