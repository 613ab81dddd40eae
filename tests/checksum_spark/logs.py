"""A full read of real logs by a plain consumer, as the lists of which the reference digest is made."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException, TopicPartition

from checksum.record_hash import Content
from tests.checksum.pretend_logs import Held

if TYPE_CHECKING:
    from collections.abc import Mapping

DEADLINE_S = 60.0


def read_log(client: Mapping[str, str], topic: str, partition: int, *, committed: bool = False) -> list[Held]:
    """Return every record of a partition; markers of transactions are none."""
    consumer = Consumer(
        {
            **client,
            "group.id": "census",
            "enable.partition.eof": True,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
    )
    found: list[Held] = []
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=DEADLINE_S)
        consumer.assign([TopicPartition(topic, partition, 0)])
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            message = consumer.poll(1.0)
            if message is None:
                continue
            if message.error() is not None:
                if message.error().name() == "_PARTITION_EOF":
                    return found
                raise KafkaException(message.error())
            content = Content(message.key(), message.value(), message.timestamp()[1], message.headers())
            found.append(Held(message.offset(), content))
        raise TimeoutError(f"{topic}-{partition} has {end} offsets, and {len(found)} records came")
    finally:
        consumer.close()
