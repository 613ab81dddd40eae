"""A full read of real logs by a plain consumer: what the digests, and whole audits, are compared with."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException, TopicPartition

from checksum.digest.record_hash import Content
from tests.checksum.pretend_logs import Held

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Place = tuple[str, int]

DEADLINE_S = 60.0


def read_log(client: Mapping[str, str], topic: str, partition: int, *, committed: bool = False) -> list[Held]:
    """Return every record of a partition; markers of transactions are none."""
    return read_logs(client, [(topic, partition)], committed=committed)[topic, partition]


def read_logs(
    client: Mapping[str, str], places: Iterable[Place], *, committed: bool = False
) -> dict[Place, list[Held]]:
    """Return every record of these partitions, each in the order of its offsets."""
    consumer = Consumer(
        {
            **client,
            "group.id": "census",
            "log_level": 0,
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 20,  # so long a log's end is waited for
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
    )
    found: dict[Place, list[Held]] = {place: [] for place in places}
    left = set(found)
    try:
        consumer.assign([TopicPartition(*place, 0) for place in left])
        until = time.monotonic() + DEADLINE_S
        while left:
            if time.monotonic() > until:
                raise TimeoutError(f"the ends of {sorted(left)} did not come")
            for message in consumer.consume(1000, 0.05):  # it waits as long for fewer
                place = message.topic(), message.partition()
                if message.error() is None:
                    at_ms = message.timestamp()[1]
                    content = Content(message.key(), message.value(), at_ms, message.headers())
                    found[place].append(Held(message.offset(), content))
                elif message.error().name() == "_PARTITION_EOF":
                    left.discard(place)
                else:
                    raise KafkaException(message.error())
        return found
    finally:
        consumer.close()


def log_ends(client: Mapping[str, str], places: Iterable[Place]) -> dict[Place, int]:
    """Return where each log ends."""
    consumer = Consumer({**client, "group.id": "census"})
    try:
        return {
            place: consumer.get_watermark_offsets(TopicPartition(*place), timeout=DEADLINE_S)[1]
            for place in places
        }
    finally:
        consumer.close()
