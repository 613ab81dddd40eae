"""Read over which time the records of each partition spread, to plan for as many cells as fit into memory."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from checksum.plan.cell_count import MOST_CELLS, Extent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from checksum.anchors.reading import Place, Side
    from checksum.plan.building import TopicFound
    from checksum.plan.shape import OffsetRange, PartitionPlan

_LAST = 2  # offsets, because the last one may be a transaction marker


async def extents_of(topics: Sequence[TopicFound], source: Side, target: Side) -> list[Extent]:
    """Return the extent of each partition; reads nothing if the offsets alone are few enough."""
    offsets = {
        (topic.topic, one.partition): max(one.source.span, one.target.span)
        for topic in topics
        for one in topic.partitions
    }
    if sum(offsets.values()) <= MOST_CELLS:
        return [Extent(count) for count in offsets.values()]
    timed = [topic for topic in topics if not topic.target_stamps]
    here = {place: one.source for place, one in _partitions(timed).items() if one.source.span}
    there = {place: one.target for place, one in _partitions(timed).items() if not one.source.span}
    times = await _times(source, here) | await _times(target, there)
    # A partition without a readable record is assumed to spread as far as any other.
    widest = max(times.values(), key=lambda both: both[1] - both[0], default=(0, 0))
    stamped = _partitions([topic for topic in topics if topic.target_stamps])
    return [
        Extent(count, segments=len(stamped[place].segments) + 1)
        if place in stamped
        else Extent(count, *times.get(place, widest))
        for place, count in offsets.items()
    ]


def _partitions(topics: Sequence[TopicFound]) -> dict[Place, PartitionPlan]:
    return {(topic.topic, one.partition): one for topic in topics for one in topic.partitions}


async def _times(side: Side, ranges: Mapping[Place, OffsetRange]) -> dict[Place, tuple[int, int]]:
    """Return the least and the greatest time of the first and the last record of each range."""
    firsts = await asyncio.to_thread(side.windows, {place: (one.first, 1) for place, one in ranges.items()})
    lasts = await asyncio.to_thread(
        side.windows, {place: (max(one.first, one.until - _LAST), _LAST) for place, one in ranges.items()}
    )
    found = {place: [one.timestamp_ms for one in (*firsts[place], *lasts[place])] for place in ranges}
    return {place: (min(times), max(times)) for place, times in found.items() if times}
