"""Polled log ends of a cluster, for readers of offset syncs; under its lock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lagmon.ingest.watching import ClusterWatch


def newest_poll_ms(watch: ClusterWatch) -> int:
    """Return when any end was last read, -1 never."""
    with watch.lock:
        return int(watch.lag.heads.sampled_ms.max(initial=-1))


def polled(
    watch: ClusterWatch, partitions: Sequence[tuple[str, int]]
) -> tuple[list[int], list[int], list[int]]:
    """Return end, last stable offset and time of the last poll of each place, -1 if not known."""
    with watch.lock:
        heads = watch.lag.heads
        of = {topic: watch.lag.places.of(topic) for topic, _ in partitions}
        at = [of[topic][number] if number < len(of[topic]) else -1 for topic, number in partitions]
        there = np.array([place for place in at if place >= 0], np.int32)
        found = [iter(one[there].tolist()) for one in (heads.end, heads.stable, heads.sampled_ms)]
        ends, stables, times_ms = ([-1 if place < 0 else next(one) for place in at] for one in found)
    return ends, stables, times_ms
