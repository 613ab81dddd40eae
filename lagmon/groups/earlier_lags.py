"""Lags of commits from before a start, computed from log end offsets that were stored. Pure.

Commits that are read back from their topic have no lag: only Mirrorwatch knows where the log ended then
(snapshots/cluster.py). Once a group commits while Mirrorwatch watches, the broker's timestamps give the times
of its earlier commits, and the polls around each give its lag. So a group that fell behind before a restart
is reported right after it.

This works only soon after a start, as few old polls are kept. It leaves out commits from a downtime of more
than `SHORT_MS`: log end offsets in between are not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.groups.trail import BEFORE, MOST_LAG

if TYPE_CHECKING:
    from lagmon.ingest.intake import Intake
    from lagmon.logs.heads import Heads

EARLIER_MS = 300_000  # after a start, and before now: a full trail spans about two minutes
SHORT_MS = 30_000  # three polls
MOST_COMMITS = 100_000  # measured at one poll, the newest first: about 20 ms


def measure_earlier(intake: Intake, heads: Heads, now_ms: int) -> None:
    """Set missing lags of the trails' commits; call it after each poll of log end offsets."""
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
