"""Partitions that a hanging transaction blocks for a mirror that reads committed records only. Pure.

logs/hanging.py decides when a transaction hangs. In a topic in use the last stable offset moves: its record
is new.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from lagmon.groups.rules.sentences import hangs_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView

    Name = tuple[str, int]  # topic and partition


@dataclass(frozen=True, slots=True)
class BlockedPartition:
    """A partition that a transaction has blocked for too long."""

    topic: str
    partition: int
    stable: int  # its first offset: nothing from there on is read
    end: int
    since_ms: int  # when it was seen first
    now_ms: int

    @property
    def records(self) -> int:
        """Return how many offsets wait after the last stable one, including those of the transaction."""
        return self.end - self.stable


def blocked_partitions(flow: FlowView, partitions: PartitionsSnapshot) -> tuple[BlockedPartition, ...]:
    """Return the blocked partitions of the flow, as of recent polls of their logs."""
    if not flow.committed_only:
        return ()
    heads = flow.source.heads
    places = np.flatnonzero((heads.stable >= 0) & (heads.stable < heads.end)).astype(np.int32)
    if not len(places):
        return ()
    since_ms = flow.source.hangs_since_ms(places, partitions.now_ms)
    hanging = since_ms >= 0
    since = dict(zip(places[hanging].tolist(), since_ms[hanging].tolist(), strict=True))
    return tuple(
        BlockedPartition(
            *name, int(heads.stable[place]), int(heads.end[place]), since[place], partitions.now_ms
        )
        for place, name in _names(flow, partitions, [*since])
    )


def _names(
    flow: FlowView, partitions: PartitionsSnapshot, places: Sequence[int]
) -> Iterator[tuple[int, Name]]:
    """Yield the places that belong to the flow, with topic and partition."""
    if not places:
        return
    for slot in np.flatnonzero(partitions.used & np.isin(partitions.places, places)).tolist():
        yield int(partitions.places[slot]), flow.windows.name(slot)
    for topic, partition, place in flow.places_without():
        if place in places:
            yield place, (topic, partition)


def sentence(flow: FlowView, found: Sequence[BlockedPartition]) -> str:
    """Return which transaction blocks which partitions, "" if none does."""
    if not found:
        return ""
    one = max(found, key=lambda each: each.records)
    others = len(found) - 1
    such = f" ({count_text(others, 'more partition')} {'is' if others == 1 else 'are'} blocked too)"
    waits = "waits" if one.records == 1 else "wait"
    hangs = hangs_text(f"offset {one.stable} of {one.topic}-{one.partition}", one.since_ms, one.now_ms)
    return (
        f"A transaction on {flow.order.flow.source} {hangs} The mirror reads committed records only:"
        f" {count_text(one.records, 'record')} after its last stable offset {waits}{such if others else ''}."
        " Abort it with kafka-transactions.sh."
    )
