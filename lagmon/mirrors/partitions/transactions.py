"""Topics of a flow that have had an open transaction: markers are gaps that no record fills. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from lagmon.mirrors.facts import FlowFacts
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot


class OpenTransactions:
    """The topics, by their names on the source, until they are removed or re-created there."""

    def __init__(self) -> None:
        self.topics: set[str] = set()

    def note(self, flow: FlowFacts, partitions: PartitionsSnapshot) -> None:
        """Note the logs whose last stable offset is below their end."""
        slots = np.flatnonzero(partitions.used & (partitions.places >= 0))
        places = partitions.places[slots]
        stable = flow.source.heads.stable[places]
        undecided = (stable >= 0) & (stable < flow.source.heads.end[places])
        self.topics |= {flow.windows.name(slot)[0] for slot in slots[undecided].tolist()}

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Forget topics that are removed or re-created on the source."""
        self.topics = {topic for topic in self.topics if not is_gone(topic)}
