"""A few records of each topic: their size, headers, and who set their timestamps."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from checksum.anchors.reading import Side
    from checksum.plan.shape import OffsetRange, PartitionPlan

SAMPLED_PARTITIONS = 4  # of a topic
SAMPLED_RECORDS = 25  # from the middle of one of them
SAMPLED_NEWEST = 100  # of one of them: shows whether producers now send headers


async def take_samples(partitions: Mapping[str, Sequence[PartitionPlan]], source: Side, target: Side) -> None:
    """Read some records from the middle and the end of the compared ranges, on both sides."""
    sampled = {
        (topic, plan.partition): plan
        for topic, plans in partitions.items()
        for plan in plans[:SAMPLED_PARTITIONS]
    }
    for first, count in ((_middle, SAMPLED_RECORDS), (_newest, SAMPLED_NEWEST)):
        here = {place: (first(plan.source), count) for place, plan in sampled.items()}
        there = {place: (first(plan.target), count) for place, plan in sampled.items()}
        await asyncio.gather(
            asyncio.to_thread(source.windows, here), asyncio.to_thread(target.windows, there)
        )


def _middle(held: OffsetRange) -> int:
    return (held.first + held.until) // 2


def _newest(held: OffsetRange) -> int:
    return max(held.first, held.until - SAMPLED_NEWEST)
