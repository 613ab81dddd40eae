"""The number of records that retention deleted, by the mirror's offset syncs. Pure.

The last sync before a log start passed the mirror, and the first one after that start, show how many records
reached the target between them, and how many offsets were passed. They count only if polls of both ends leave
room for them: others may belong to another mirror, or to another log. And only if none is missing:
MirrorMaker writes a sync each `offset.lag.max` records, and a later sync may include unknown gaps. Aborted
transactions that are not replicated, and compaction, leave gaps of any length: then syncs do not show a loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lagmon.mirrors.target_ends.distance import LEAST_RECORDS, PastPoll, replicates_all
from lagmon.syncs.progress import DEFAULT_LAG_MAX

if TYPE_CHECKING:
    from lagmon.mirrors.target_ends.distance import DistanceRange, EndPoll
    from lagmon.mirrors.view import FlowView
    from lagmon.syncs.runs import SyncRun

TIMES = 3  # at most so many times offset.lag.max from one sync to the next, or to the target's end


def run_before(flow: FlowView, slot: int, start: int, span: DistanceRange | None) -> SyncRun | None:
    """Return the newest run of syncs that began before a log start passed the mirror."""
    run = flow.syncs.before(*flow.windows.name(slot), start)
    poll = flow.distance.newest(flow, slot)
    if run is None or span is None or poll is None:
        return None
    low = min(span.low, poll.end - poll.most)  # gaps since the lower bound was measured reduce it
    return run if low <= run.distance <= span.high else None


def most_at(flow: FlowView, slot: int, run: SyncRun, end: int) -> int | None:
    """Return the largest offset that the mirror can be at when its target ends there, without a loss.

    Nothing was lost since the run, and no more gaps come than the run leaves room for. None if gaps have any
    length, or syncs are missing.
    """
    if not replicates_all(flow, slot) or end - (run.last + run.distance) > _far(flow):
        return None
    records = run.last - run.first
    records = records if records >= LEAST_RECORDS else 0
    # A marker may follow the last synced record.
    return PastPoll(run.last + 1, run.last + run.distance, 1, records, replicates_all=True).most_at(end)


def lost_since(
    flow: FlowView, slot: int, start: int, span: DistanceRange, poll: EndPoll
) -> tuple[int, int] | None:
    """Return how many were lost when the mirror passed a log start, at least and at most; None if unknown.

    `span` is from before, and `poll` a poll of the target since.
    """
    crossing = flow.syncs.after(*flow.windows.name(slot), start)
    if crossing is None or crossing.end > poll.end or crossing.run.distance > span.high:
        return None
    run, at, end = crossing
    if poll.end - (end - at) > poll.most:
        return None  # with gaps since then the mirror may be further than by the sync, but not less far
    most = most_at(flow, slot, run, end) if end - at != run.distance else at
    if most is None or (most < at and at - start > _far(flow)):
        return None
    return max(0, at - most), run.distance - (end - at)


def _far(flow: FlowView) -> int:
    return TIMES * max(flow.order.flow.offset_lag_max, DEFAULT_LAG_MAX)
