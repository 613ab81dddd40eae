"""Partitions with a hanging transaction: one that is open for longer than brokers allow. Pure.

The last stable offset is where the oldest open transaction begins. Consumers of committed records cannot pass
it, and have no lag by what they can read. Brokers abort a transaction after its timeout, by default after 15
minutes at most (`transaction.max.timeout.ms`; here `longest_transaction`). One that stays open for longer
hangs: it never ends by itself, and retention deletes the records behind it. It counts only if the partition
was written to all that time: otherwise the records that wait may be the transaction's own.

Its age is counted by the polls that saw it open at the same offset, without a gap in which brokers may have
been down, never by estimated times of records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from lagmon.arrays.kinds import Int64s
    from lagmon.arrays.place_rows import Int32s
    from lagmon.cluster.marks import TopicMarks
    from lagmon.logs.heads import Heads

ENDED_WITHIN_MS = 30_000  # brokers check for timeouts and write the end within this time
STALE_MS = 60_000  # an older poll does not prove that it is still open


def hangs_since_ms(
    heads: Heads, marks: TopicMarks, places: Int32s, now_ms: int, *, longest_ms: int
) -> Int64s:
    """Return since when a hanging transaction is seen at each of these places, -1 for none."""
    looked_ms, seen_ms = (one[places] for one in marks.held_polls(len(heads.end)))
    found = np.full(len(places), -1, np.int64)
    # A poll without an answer about transactions does not prove that one is open.
    told = (seen_ms >= 0) & (looked_ms >= heads.sampled_ms[places]) & (now_ms - looked_ms <= STALE_MS)
    rows = np.flatnonzero(told & (now_ms - seen_ms > longest_ms))
    if len(rows):
        written_ms, _ = heads.passed_ms(places[rows], heads.end[places[rows]] - 1)
        rows = rows[written_ms - seen_ms[rows] > longest_ms + ENDED_WITHIN_MS]
        found[rows] = seen_ms[rows]
    return found
