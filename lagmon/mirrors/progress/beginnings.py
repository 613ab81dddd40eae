"""From where on a mirror is known to have to copy a partition of which it has written no offset yet. Pure.

One with `auto.offset.reset=earliest`, as MirrorMaker sets it, begins where the log does. Any other begins at
the end of what is there when it first reads the partition, and nothing tells when that was: at the latest
once it has had its time to look for topics. So what comes after that, by our looks, is what it has to copy.
Should it be started anew later, it begins at the end again: that it leaves records out is never proved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.verdicts.flow import EARLIEST

if TYPE_CHECKING:
    from lagmon.mirrors.facts import FlowFacts

    Name = tuple[str, int]  # topic and partition


@dataclass(slots=True)
class Beginnings:
    """Where partitions are to be copied from that a mirror which begins late has no offset of."""

    _known: dict[Name, tuple[int, int]] = field(default_factory=dict)  # since when, and the first offset

    def note(self, flow: FlowFacts, *, now_ms: int, patience_ms: int) -> None:
        """Take note of where the logs end; `patience_ms` is how long a mirror may take to find a topic."""
        if begins_early(flow):
            return
        ends, known = flow.readable_ends, {}
        for topic, partition, place in flow.places_without():
            name, end = (topic, partition), int(ends[place])
            if end >= 0:
                since_ms, first = self._known.get(name, (now_ms, end))
                waits = now_ms - since_ms <= patience_ms
                known[name] = since_ms, end if waits else min(first, end)  # less: the log was made anew
        self._known = known

    def first(self, flow: FlowFacts, name: Name, place: int) -> int:
        """Return the first offset that is to be copied, of a partition at its place on the source."""
        _, first = self._known.get(name, (-1, 0))
        return max(0, int(flow.source.heads.start[place]), first)


def begins_early(flow: FlowFacts) -> bool:
    """Tell whether the mirror copies what was in a partition before it first read it."""
    return flow.order.flow.offset_reset == EARLIEST
