"""Topics of a flow on which a transaction was seen open: markers are gaps that no record fills. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import Bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from lagmon.mirrors.flow import MirrorFlow
    from lagmon.mirrors.sight import MirrorSight


def record_bounds(flow: MirrorFlow, topic: str, partition: int, offsets: int) -> Bounds:
    """Return how many records stand at so many offsets of a partition's log on the source.

    The markers of transactions and what compaction took have offsets too. A marker ends a record at least;
    that of the first one may be the last before these offsets.
    """
    if offsets <= 0 or not _has_gaps(flow, topic, partition):
        return Bounds(offsets, offsets)
    any_length = flow.committed_only or topic in flow.settings.compacted
    return Bounds(1 if any_length else offsets // 2, offsets)


def _has_gaps(flow: MirrorFlow, topic: str, partition: int) -> bool:
    """Tell whether a log was seen to have offsets without a record."""
    if topic in flow.settings.compacted or topic in flow.transactions.topics:
        return True
    if flow.syncs.has_gaps(topic, partition):
        return True
    slot = flow.windows.slot(topic, partition)
    return slot is not None and flow.distance.has_gaps(flow, slot)


class OpenTransactions:
    """Keeps the topics, by their names on the source, until these are gone or made anew there."""

    def __init__(self) -> None:
        self.topics: set[str] = set()

    def note(self, flow: MirrorFlow, sight: MirrorSight) -> None:
        """Take note of logs whose last stable offset is before their end, as they are known now."""
        slots = np.flatnonzero(sight.used & (sight.places >= 0))
        places = sight.places[slots]
        stable = flow.source.heads.stable[places]
        undecided = (stable >= 0) & (stable < flow.source.heads.end[places])
        self.topics |= {flow.windows.name(slot)[0] for slot in slots[undecided].tolist()}

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Forget topics that are gone, or were made anew on the source."""
        self.topics = {topic for topic in self.topics if not is_gone(topic)}
