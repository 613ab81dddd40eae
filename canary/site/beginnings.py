"""Where a tap begins with a topic that became known, and what that says of what earlier processes left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from canary.persistence.heritage import Place, earliest
from canary.tracker.events import TargetGap, TargetReplaced, TopicReplaced

if TYPE_CHECKING:
    from canary.dispatch import Dispatch
    from canary.site.site import Site
    from canary.site.topics import TopicChange

REWIND_S = 60.0  # how far before an instant a tap begins to read: clocks of brokers may differ from ours


@dataclass(frozen=True, slots=True)
class Beginnings:
    """By (topic, partition) the offset to begin at; `gaps` are (flow, partition) read too late for that."""

    places: dict[tuple[str, int], int]
    gaps: tuple[tuple[str, int], ...] = ()


async def beginnings(
    site: Site, change: TopicChange, dispatch: Dispatch, *, topic: str, since_at: float
) -> Beginnings:
    """Ask the cluster where to begin with the partitions of a topic that are not read yet.

    `topic` is the canary's on every source, and `since_at` (epoch s) when this one was first wanted.
    """
    assert change.new is not None
    name = change.name
    new = [
        number
        for number in range(change.new.partitions)
        if change.replaced or (name, number) not in site.reader.positions
    ]
    if change.old is not None or not new:  # known before, so these partitions began after we did
        return Beginnings(dict.fromkeys([(name, number) for number in new], 0))
    sources = dispatch.by_source.get(site.alias, ()) if name == topic else ()
    targets = dispatch.by_target.get((site.alias, name), ())
    left: dict[int, Place] = {}
    told: dict[tuple[str, int], int | None] = {}  # by flow and partition of the target
    for number in new:
        places = [held.watch.heritage.source_place(change.new.topic_id, number) for held in sources]
        for held in targets:
            place = held.watch.heritage.target_place(change.new.topic_id, number)
            places.append(place)
            if place != Place():
                told[held.flow.name, number] = place.offset
        left[number] = earliest(places)
    earlier = [place.since_at for place in left.values() if place.since_at is not None]
    at_ms = int((min(since_at, *earlier) if earlier else since_at) * 1000 - REWIND_S * 1000)
    found = await site.admin.offsets_since(name, new, at_ms=at_ms)
    starts = await site.admin.start_offsets(name, new) if told else {}
    return Beginnings(
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
    """Tell whether the log begins behind what was left; a place found by time may be just its start."""
    return start > left if left is not None else start == found and start > 0


def tell_first_sight(site: Site, change: TopicChange, dispatch: Dispatch, *, topic: str, now_ns: int) -> None:
    """Tell the flows of a topic that became known what that ends of what earlier processes left."""
    assert change.new is not None
    for held in dispatch.by_source.get(site.alias, ()) if change.name == topic else ():
        for topic_id in sorted(held.watch.heritage.topic_ids() - {change.new.topic_id}):
            dispatch.tell(held, TopicReplaced(topic_id, now_ns, change.new.topic_id))
    for held in dispatch.by_target.get((site.alias, change.name), ()):
        before = held.watch.heritage.target_topic_ids()
        if before and change.new.topic_id not in before:
            dispatch.tell(held, TargetReplaced(now_ns))


def tell_gaps(found: Beginnings, dispatch: Dispatch, *, now_ns: int) -> None:
    """Tell flows that what stood on the target for them may have been deleted unread."""
    for flow, partition in found.gaps:
        held = dispatch.running.get(flow)
        if held is not None:
            dispatch.tell(held, TargetGap(partition, now_ns))
