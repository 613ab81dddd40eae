"""Partitions on which a transaction seems to hang: open for longer than brokers let one be. Pure.

The last stable offset is where the oldest open transaction begins: no reader of committed records gets past
it, and by what such a reader may read it has no lag. A transaction is aborted when its time-out is over, 15
minutes by the brokers' default for the longest (`transaction.max.timeout.ms`). One that stays open while its
partition has been written to for longer than that hangs (mm2.md: stall at the last stable offset): nobody
ends it, what is behind it waits, and retention deletes it in the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lagmon.head_history import Int64s
    from lagmon.heads import Heads
    from lagmon.place_rows import Int32s

HANGS_MS = 900_000 + 30_000  # that time-out, and until the brokers have looked for it and written its end
STALE_MS = 60_000  # a look that is older does not tell that it is open still


def hangs_since_ms(
    heads: Heads,
    places: Int32s,
    marks: Callable[[Sequence[int]], tuple[Sequence[int], Sequence[tuple[int, int]]]],
    now_ms: int,
) -> Int64s:
    """Return since when a transaction that seems to hang is open at each of these places, -1 where none is.

    Their last stable offsets are known and before their ends. `marks` is `TopicMarks.of`.
    """
    found = np.full(len(places), -1, np.int64)
    since_ms, _ = heads.passed_ms(places, heads.stable[places])
    written_ms, _ = heads.passed_ms(places, heads.end[places] - 1)
    sampled_ms = heads.sampled_ms[places]
    long = (since_ms >= 0) & (written_ms - since_ms > HANGS_MS) & (now_ms - sampled_ms <= STALE_MS)
    rows = np.flatnonzero(long)
    _, held = marks(places[rows].tolist())
    held_ms = np.array([at_ms for at_ms, _ in held], np.int64)
    # A look that had no answer about transactions does not tell that one is open still.
    rows = rows[held_ms >= sampled_ms[rows]]
    found[rows] = since_ms[rows]
    return found
