"""Records that retention deleted, counted by the offset syncs of the mirror. Pure.

The last sync before a log's start passed the mirror and the first one behind that start tell how many records
came to the copy between them, and how many offsets were passed. They count where looks at both ends leave
room for them: others may be of another mirror, or of another log. And only where none is missing: MirrorMaker
syncs each `offset.lag.max` records, and what comes much later may be of gaps that nobody told of. Aborted
transactions that are not copied, and compaction, leave gaps of any length: there they tell nothing of a loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagmon.mirrors.target_ends.distance import LEAST_RECORDS, PastLook, copies_all

if TYPE_CHECKING:
    from lagmon.mirrors.target_ends.distance import CopyLook, Reach
    from lagmon.mirrors.view import FlowView
    from lagmon.syncs.runs import SyncRun

DEFAULT_LAG_MAX = 100  # offset.lag.max of MirrorMaker; it may be 0
TIMES = 3  # so many times offset.lag.max from one sync to the next, or to where the copy ends, at most


def run_before(flow: FlowView, slot: int, start: int, reach: Reach | None) -> SyncRun | None:
    """Return the newest run of syncs that began before a log's start passed the mirror."""
    run = flow.syncs.before(*flow.windows.name(slot), start)
    look = flow.distance.newest(flow, slot)
    if run is None or reach is None or look is None:
        return None
    low = min(reach.low, look.end - look.most)  # gaps since the lower bound was told make it less
    return run if low <= run.distance <= reach.high else None


def most_at(flow: FlowView, slot: int, run: SyncRun, end: int) -> int | None:
    """Return which offset the mirror is at, at most, where its copy ends there; nothing lost since a run.

    No more gaps come than the run leaves room for. None where these have any length, or syncs are missing.
    """
    if not copies_all(flow, slot) or end - (run.last + run.distance) > _far(flow):
        return None
    records = run.last - run.first
    records = records if records >= LEAST_RECORDS else 0
    # A marker may follow the record that was synced last.
    return PastLook(run.last + 1, run.last + run.distance, 1, records, copies_all=True).most_at(end)


def lost_since(flow: FlowView, slot: int, start: int, reach: Reach, look: CopyLook) -> tuple[int, int] | None:
    """Return how many were lost where the mirror passed a log's start, at least and at most; None not told.

    `reach` is of before, and `look` one at the copy since.
    """
    passage = flow.syncs.after(*flow.windows.name(slot), start)
    if passage is None or passage.end > look.end or passage.run.distance > reach.high:
        return None
    run, at, end = passage
    if look.end - (end - at) > look.most:
        return None  # by gaps since then the mirror may be further than by the sync, but not less far
    most = most_at(flow, slot, run, end) if end - at != run.distance else at
    if most is None or (most < at and at - start > _far(flow)):
        return None
    return max(0, at - most), run.distance - (end - at)


def _far(flow: FlowView) -> int:
    return TIMES * max(flow.order.flow.offset_lag_max, DEFAULT_LAG_MAX)
