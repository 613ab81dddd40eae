"""A full read of the canary's topic on both sides, by a consumer of the test's own: the truth to compare with.

It reads the bytes and knows nothing of how the service judges them.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.eventually import eventually

if TYPE_CHECKING:
    from deploy.local.broker import Broker


@dataclass(frozen=True, slots=True)
class Copy:
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]

    @property
    def content(self) -> tuple[object, ...]:
        return (self.partition, self.key, self.value, self.headers)

    @property
    def stamp(self) -> dict[str, Any]:
        return json.loads(self.value)


@dataclass(frozen=True, slots=True)
class Census:
    """What stands on both sides; records that were never changed are the same bytes on both."""

    source: list[Copy]
    target: list[Copy]

    @property
    def missing(self) -> list[Copy]:
        """Return the records of the source of which no intact copy is on the target."""
        there = {copy.content for copy in self.target}
        return [copy for copy in self.source if copy.content not in there]

    @property
    def repeated(self) -> int:
        """Return how many copies more than one there are, over all records."""
        return sum(count - 1 for count in Counter(copy.content for copy in self.target).values())

    @property
    def altered(self) -> int:
        """Return how many records of the target are none of the source."""
        here = {copy.content for copy in self.source}
        return sum(copy.content not in here for copy in self.target)


def census(source: Broker, target: Broker, topic: str, *, alias: str = "A") -> Census:
    """Read both sides from their beginning to their present ends."""
    return Census(read_all(source, topic), read_all(target, f"{alias}.{topic}"))


def _watermarks(consumer: Consumer, place: TopicPartition) -> tuple[int, int]:
    """Return where a log begins and ends; a broker that was thawed or restarted leads again after a moment."""

    def look() -> tuple[int, int] | None:
        try:
            found: tuple[int, int] = consumer.get_watermark_offsets(place, timeout=10)
        except KafkaException:
            return None
        return found

    return eventually(look, 30, what=f"ends of {place}", every_s=0.2)


def read_all(broker: Broker, topic: str) -> list[Copy]:
    consumer = Consumer({**broker.client_properties(), "group.id": "census", "log_level": 0})
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        ends = {number: _watermarks(consumer, TopicPartition(topic, number)) for number in partitions}
        waiting = {number: high for number, (low, high) in ends.items() if high > low}
        consumer.assign([TopicPartition(topic, number, ends[number][0]) for number in waiting])
        found: list[Copy] = []

        def finished() -> bool:
            message = consumer.poll(0.2) if waiting else None
            if message is not None and message.error() is None:
                number, offset = message.partition(), message.offset()
                headers = tuple(message.headers() or ())
                found.append(Copy(number, offset, message.key(), message.value(), headers))
                if offset + 1 >= waiting.get(number, 0):
                    waiting.pop(number, None)
            return not waiting

        eventually(finished, 30, what=f"the end of {topic}", every_s=0)
        return found
    finally:
        consumer.close()
