"""Topics of a flow on which a transaction was seen open: markers are gaps that no record fills. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from lagmon.mirrors.facts import FlowFacts
    from lagmon.mirrors.partitions.sight import MirrorSight


class OpenTransactions:
    """Keeps the topics, by their names on the source, until these are gone or made anew there."""

    def __init__(self) -> None:
        self.topics: set[str] = set()

    def note(self, flow: FlowFacts, sight: MirrorSight) -> None:
        """Take note of logs whose last stable offset is before their end, as they are known now."""
        slots = np.flatnonzero(sight.used & (sight.places >= 0))
        places = sight.places[slots]
        stable = flow.source.heads.stable[places]
        undecided = (stable >= 0) & (stable < flow.source.heads.end[places])
        self.topics |= {flow.windows.name(slot)[0] for slot in slots[undecided].tolist()}

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Forget topics that are gone, or were made anew on the source."""
        self.topics = {topic for topic in self.topics if not is_gone(topic)}
