"""The groups of one cluster that belong to this process, if several processes share them. Pure.

A group belongs to the shard of its partition of `__consumer_offsets`. This partition has all records of the
group, whatever its protocol.

A broker chooses the partition by the number of partitions at its start. After a change of that number a group
may have records in a partition of another shard, so all partitions are read.
"""

from __future__ import annotations

from fleet.shards import WHOLE, Shard
from lagmon.arrays.java_hash import partition_of

USUAL_PARTITIONS = 50  # Kafka's default, offsets.topic.num.partitions


class GroupShare:
    """The groups of one shard; `reads_all`: a mirror's progress may be in any partition."""

    def __init__(self, shard: Shard = WHOLE, *, reads_all: bool = False) -> None:
        self.shard = shard
        self.partitions = USUAL_PARTITIONS  # of `__consumer_offsets`: by this number groups are divided
        self.reads_all = reads_all or shard.count == 1
        self._listed = 0  # the same, 0 until the topic was listed
        self._last: tuple[str, bool] | None = None  # of a group: often of the next, too

    @property
    def divides(self) -> bool:
        """Return whether other processes have a part of the groups."""
        return self.shard.count > 1

    @property
    def has_first(self) -> bool:
        """Return whether this shard does what one process has to do for the whole cluster."""
        return self.shard.number == 1

    def has(self, group: str) -> bool:
        """Return whether a group belongs to this shard."""
        if not self.divides:
            return True
        last = self._last
        if last is None or last[0] != group:
            home = partition_of(group, self.partitions)
            self._last = last = group, self.shard.has_partition(home)
        return last[1]

    def read(self, partitions: int) -> list[int]:
        """Return which of so many partitions of `__consumer_offsets` have to be read."""
        return [one for one in range(partitions) if self.reads_all or self.shard.has_partition(one)]

    def divide(self, listed: int) -> None:
        """Divide groups by the listed number of partitions of `__consumer_offsets`, 0 if it is not listed."""
        if listed and self._listed not in (0, listed):
            self.reads_all = True
        self._listed = listed or self._listed
        self.partitions = listed or USUAL_PARTITIONS
        self._last = None
