"""Counts by time bucket from the cells of a run. Pure."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from checksum.digest.cell_rows import Side, planned_partitions
from checksum.history.entries import Counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checksum.digest.cell_rows import CellRow
    from checksum.plan.shape import Plan


def counts_of_cells(plan: Plan, cells: Mapping[Side, Iterable[CellRow]]) -> list[Counted]:
    """Return the counts to store.

    Without topics whose target sets timestamps: their buckets are not times. Without compacted ones, which
    are read completely each time, and of which each side deletes records at different times.
    """
    planned = planned_partitions(plan)
    sums: dict[tuple[str, int, int], dict[Side, int]] = defaultdict(lambda: dict.fromkeys(Side, 0))
    for side, rows in cells.items():
        for row in rows:
            topic = planned[row.topic, row.partition].topic
            if topic.timestamps and not topic.compacted:
                sums[row.topic, row.partition, row.bucket][side] += row.records
    return [
        Counted(
            topic,
            partition,
            bucket * plan.bucket_ms,
            count[Side.SOURCE],
            count[Side.TARGET],
            planned[topic, partition].partition.source.first,
            planned[topic, partition].topic.source_topic_id,
        )
        for (topic, partition, bucket), count in sorted(sums.items())
    ]
