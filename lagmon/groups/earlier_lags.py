"""Lags of groups' commits from before a start, by the looks that were kept over it. Pure.

Commits come back from their topic without a lag: where the log ended then stands nowhere but in our own
looks (snapshots/cluster.py). When a group has committed under our eyes, the broker's own differences of time
tell when it made the others, and the looks around each what it lagged by. So a group that fell behind before
a restart is told to fall behind right after it.

Only soon after a start, as what is further back is known by few looks; and not what was committed while we
were away for longer than `SHORT_MS`, as nothing tells how the log went on meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.groups.trail import BEFORE, MOST_LAG

if TYPE_CHECKING:
    from lagmon.ingest.intake import Intake
    from lagmon.logs.heads import Heads

EARLIER_MS = 300_000  # after a start, and before now: a full trail spans two minutes or somewhat more
SHORT_MS = 30_000  # three looks
MOST_COMMITS = (
    100_000  # that are measured at one look, the newest first: about 20 ms, and no others wait long
)


def measure_earlier(intake: Intake, heads: Heads, now_ms: int) -> None:
    """Tell the lags of the trails' commits that have none; call it when ends were looked at."""
    if not heads.away or now_ms - heads.away[-1][1] > EARLIER_MS:
        return
    count = len(intake.slots)
    places, trail, rings = intake.slots.place[:count], intake.trail, intake.rings
    seen, left = (places >= 0) & (rings.live[:count] > 0), MOST_COMMITS
    for column in range(-1, -BEFORE - 1, -1):
        made_ms = intake.seen_ms[:count] - rings.committed_ms[:count, -1] + trail.committed_ms[:count, column]
        unknown = seen & (trail.lag[:count, column] < 0) & (trail.committed_ms[:count, column] > 0)
        unknown &= made_ms > now_ms - EARLIER_MS
        for left_ms, back_ms in heads.away:
            if back_ms - left_ms > SHORT_MS:
                unknown &= (made_ms <= left_ms) | (made_ms >= back_ms)
        rows = np.flatnonzero(unknown)[:left]
        left -= len(rows)
        if len(rows):
            ends = heads.end_at(places[rows], made_ms[rows])
            told = rows[ends >= 0]
            trail.lag[told, column] = np.clip(ends[ends >= 0] - trail.offset[told, column], 0, MOST_LAG)
