"""Partitions on which a transaction seems to hang: open for longer than brokers let one be. Pure.

The last stable offset is where the oldest open transaction begins: no reader of committed records gets past
it, and by what such a reader may read it has no lag. A transaction is aborted when its time-out is over, 15
minutes by the brokers' default for the longest (`transaction.max.timeout.ms`; ours is `longest_transaction`).
One that stays open for longer hangs (mm2.md: stall at the last stable offset): nobody ends it, what is behind
it waits, and retention deletes it in the end. It counts only where the partition was written to for that
long: else all that waits may be the transaction's own records.

For how long it was open is told by the looks that saw it open at the same offset, without a gap between them
in which brokers may have been away and could not end it: never by estimates of when its record was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lagmon.arrays.kinds import Int64s
    from lagmon.arrays.place_rows import Int32s
    from lagmon.cluster.marks import TopicMarks
    from lagmon.logs.heads import Heads

ENDED_WITHIN_MS = 30_000  # until the brokers have looked for what is over, and written its end
STALE_MS = 60_000  # a look that is older does not tell that it is open still


def hangs_since_ms(
    heads: Heads, marks: TopicMarks, places: Int32s, now_ms: int, *, longest_ms: int
) -> Int64s:
    """Return since when a transaction that seems to hang is seen at each of these places, -1 for none."""
    looked_ms, seen_ms = (one[places] for one in marks.held_looks(len(heads.end)))
    found = np.full(len(places), -1, np.int64)
    # A look that had no answer about transactions does not tell that one is open still.
    told = (seen_ms >= 0) & (looked_ms >= heads.sampled_ms[places]) & (now_ms - looked_ms <= STALE_MS)
    rows = np.flatnonzero(told & (now_ms - seen_ms > longest_ms))
    if len(rows):
        written_ms, _ = heads.passed_ms(places[rows], heads.end[places[rows]] - 1)
        rows = rows[written_ms - seen_ms[rows] > longest_ms + ENDED_WITHIN_MS]
        found[rows] = seen_ms[rows]
    return found
