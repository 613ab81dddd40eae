"""What an operator does to consumer groups, in one call that returns when it is done.

Takes the client properties of a cluster, as `topics` does; errors of the Kafka client pass through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from deploy.local.topics import admin_client
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT_S = 30.0


def set_offsets(client: Mapping[str, str], group: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Have a group without members stand at these next offsets, by topic and partition.

    A coordinator that has just come, as after a broker's start, refuses that at first: of each partition for
    itself, in an answer that is no error.
    """
    places = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
    admin = admin_client(client)

    def taken() -> bool:
        asked = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])
        told = asked[group].result(_TIMEOUT_S)
        return all(place.error is None for place in told.topic_partitions)

    wait_until(taken, deadline_s=_TIMEOUT_S, what=f"Offsets of {group}")
