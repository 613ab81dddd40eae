"""Lists of topics of which the client keeps, for each partition, its leader alone.

The client makes an object of each partition, with two lists and a dictionary, and hands all of them over at
once: 50,000 partitions take 20 MB for as long as somebody reads the list. It makes a topic's partitions
first and then gives them to the topic, whose class it looks up by name: one that keeps their leaders alone
needs less than half a megabyte. A client that looks it up no more lists as ever.
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
