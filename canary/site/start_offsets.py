"""Where a tap starts with a new topic, and what that means for probes of earlier processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from canary.persistence.inherited import Place, earliest
from canary.tracker.events import TargetGap, TargetReplaced, TopicReplaced

if TYPE_CHECKING:
    from canary.dispatch import Dispatch
    from canary.site.site import Site
    from canary.site.topics import TopicChange

REWIND_S = 60.0  # a tap starts this long before an instant, since brokers' clocks differ


@dataclass(frozen=True, slots=True)
class StartOffsets:
    """Start offset by (topic, partition); `gaps` are (flow, partition) whose log starts too late."""

    places: dict[tuple[str, int], int]
    gaps: tuple[tuple[str, int], ...] = ()


async def find_start_offsets(
    site: Site, change: TopicChange, dispatch: Dispatch, *, topic: str, since_at: float
) -> StartOffsets:
    """Query the start offsets of the partitions of a topic that are not read yet.

    `topic` is the canary's on every source; `since_at` (epoch s) is when this one was first wanted.
    """
    assert change.new is not None
    name = change.name
    new = [
        number
        for number in range(change.new.partitions)
        if change.replaced or (name, number) not in site.reader.positions
    ]
    if change.old is not None or not new:  # known before, so these partitions are new
        return StartOffsets(dict.fromkeys([(name, number) for number in new], 0))
    sources = dispatch.by_source.get(site.alias, ()) if name == topic else ()
    targets = dispatch.by_target.get((site.alias, name), ())
    left: dict[int, Place] = {}
    told: dict[tuple[str, int], int | None] = {}  # by flow and partition of the target
    for number in new:
        places = [watched.watch.inherited.source_place(change.new.topic_id, number) for watched in sources]
        for watched in targets:
            place = watched.watch.inherited.target_place(change.new.topic_id, number)
            places.append(place)
            if place != Place():
                told[watched.flow.name, number] = place.offset
        left[number] = earliest(places)
    earlier = [place.since_at for place in left.values() if place.since_at is not None]
    at_ms = int((min(since_at, *earlier) if earlier else since_at) * 1000 - REWIND_S * 1000)
    found = await site.admin.offsets_since(name, new, at_ms=at_ms)
    starts = await site.admin.start_offsets(name, new) if told else {}
    return StartOffsets(
        {
            (name, number): min(
                offset for offset in (found[number], left[number].offset) if offset is not None
            )
            for number in new
        },
        tuple(
            (flow, number)
            for (flow, number), offset in told.items()
            if _is_gap(starts[number], found[number], offset)
        ),
    )


def _is_gap(start: int, found: int, left: int | None) -> bool:
    """Return whether the log starts after the unfinished probes."""
    return start > left if left is not None else start == found and start > 0


def deliver_first_seen(
    site: Site, change: TopicChange, dispatch: Dispatch, *, topic: str, now_ns: int
) -> None:
    """Deliver to the flows of a new topic which earlier topics are replaced."""
    assert change.new is not None
    for watched in dispatch.by_source.get(site.alias, ()) if change.name == topic else ():
        for topic_id in sorted(watched.watch.inherited.topic_ids() - {change.new.topic_id}):
            dispatch.deliver_to_flow(watched, TopicReplaced(topic_id, now_ns, change.new.topic_id))
    for watched in dispatch.by_target.get((site.alias, change.name), ()):
        before = watched.watch.inherited.target_topic_ids()
        if before and change.new.topic_id not in before:
            dispatch.deliver_to_flow(watched, TargetReplaced(now_ns))


def deliver_gaps(found: StartOffsets, dispatch: Dispatch, *, now_ns: int) -> None:
    """Deliver to flows that records on the target may be deleted unread."""
    for flow, partition in found.gaps:
        watched = dispatch.running.get(flow)
        if watched is not None:
            dispatch.deliver_to_flow(watched, TargetGap(partition, now_ns))
