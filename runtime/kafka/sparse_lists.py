"""Topic lists with less memory: only the leader of each partition.

The client creates an object with two lists and a dictionary for each partition: 50,000 partitions take 20 MB
while the list exists. It creates the partitions first and passes them to the topic, whose class it looks up
by name. A class that keeps only the leaders needs less than half a megabyte. If a client version does not
look it up, lists work as before.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from confluent_kafka import admin
from confluent_kafka.admin import PartitionMetadata, TopicMetadata

if TYPE_CHECKING:
    from collections.abc import Mapping


class SparseTopic(TopicMetadata):
    """A topic whose partitions are made anew whenever they are asked for, with number and leader alone."""

    @property
    def partitions(self) -> dict[int, PartitionMetadata]:
        """Return its partitions by number."""
        return {
            number: _partition(number, leader)
            for number, leader in zip(self._numbers, self._leaders, strict=True)
        }

    @partitions.setter
    def partitions(self, partitions: Mapping[int, PartitionMetadata]) -> None:
        self._numbers = array("i", partitions)
        self._leaders = array("i", (one.leader for one in partitions.values()))


def list_sparingly() -> None:
    """Have every client of this process list topics so from here on."""
    setattr(admin, "TopicMetadata", SparseTopic)  # noqa: B010 - mypy knows a class when it is assigned to


def _partition(number: int, leader: int) -> PartitionMetadata:
    found = PartitionMetadata()
    found.id, found.leader = number, leader
    return found
