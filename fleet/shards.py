"""How the work of one configuration is divided among replicas: flows by name, groups by partition. Pure.

Every replica computes the same division from the same configuration, so that none has to be agreed on.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of the work: number 1 to `count`."""

    number: int
    count: int

    def has_partition(self, partition: int) -> bool:
        """Return whether groups of this partition of `__consumer_offsets` belong to this shard."""
        return partition % self.count == self.number - 1

    def __str__(self) -> str:
        """Return `2 of 3`."""
        return f"{self.number} of {self.count}"


WHOLE = Shard(1, 1)


def shards_of(flows: Iterable[str], count: int) -> dict[str, int]:
    """Return the number of the shard of each flow, 1 to `count`.

    Loads differ by one at most. A flow goes to the shard with the highest hash of both names that has room
    (rendezvous hashing with bounded loads), so a new flow moves few others.
    """
    names = sorted(set(flows))
    least, larger = divmod(len(names), count)
    loads = dict.fromkeys(range(1, count + 1), 0)
    found = {}
    for name in names:
        full = sum(load > least for load in loads.values()) >= larger
        free = (number for number, load in loads.items() if load < least or (load == least and not full))
        number = max(free, key=lambda one: (hashlib.sha256(f"{one}\0{name}".encode()).digest(), one))
        loads[number] += 1
        found[name] = number
    return found
