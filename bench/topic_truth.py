"""What two topics really hold: every record read, and the copies of one held against the other.

It compares bytes and knows nothing of how the service reads a probe.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, TopicPartition

from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka import Message

_TIMEOUT_S = 20.0

Content = tuple[int, bytes | None, bytes | None, tuple[Any, ...]]  # partition, key, value, headers


@dataclass(frozen=True, slots=True)
class Truth:
    """Counts of records; `missing` are the places (partition, offset) of those without an intact copy."""

    source_records: int
    source_repeated: int
    target_records: int
    target_repeated: int
    target_altered: int
    missing: frozenset[tuple[int, int]]


def compare(
    source: tuple[Mapping[str, str], str],
    target: tuple[Mapping[str, str], str],
    *,
    deadline_s: float = 120.0,
) -> Truth:
    """Read two topics, each given as client properties and name, from their beginnings to their ends.

    What is still missing on the target is looked for again until `deadline_s`: it may be on its way.
    """
    here = read_topic(*source, deadline_s=deadline_s)
    there: dict[tuple[int, int], Content] = {}

    def complete() -> bool:
        there.update(read_topic(*target, deadline_s=deadline_s))
        return set(here.values()) <= set(there.values())

    with contextlib.suppress(TimeoutError):  # what is not there by then is missing indeed
        wait_until(complete, deadline_s=min(30.0, deadline_s), what="The last copies", every_s=2.0)
    originals, copies = set(here.values()), Counter(there.values())
    return Truth(
        source_records=len(here),
        source_repeated=len(here) - len(originals),
        target_records=len(there),
        target_repeated=sum(count - 1 for count in copies.values()),
        target_altered=sum(count for content, count in copies.items() if content not in originals),
        missing=frozenset(place for place, content in here.items() if content not in copies),
    )


def read_topic(
    client: Mapping[str, str], topic: str, *, deadline_s: float = 120.0
) -> dict[tuple[int, int], Content]:
    """Return by partition and offset what every record of the topic says, up to the ends of this moment."""
    consumer = Consumer({**client, "group.id": "bench-truth", "enable.auto.commit": False, "log_level": 0})
    try:
        partitions = consumer.list_topics(topic, timeout=_TIMEOUT_S).topics[topic].partitions
        ends = {
            number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=_TIMEOUT_S)
            for number in partitions
        }
        waiting = {number: high for number, (low, high) in ends.items() if high > low}
        consumer.assign([TopicPartition(topic, number, ends[number][0]) for number in waiting])
        found: dict[tuple[int, int], Content] = {}

        def read_on() -> bool:
            for message in consumer.consume(1000, 0.5) if waiting else ():
                _note(message, found, waiting)
            return not waiting

        wait_until(read_on, deadline_s=deadline_s, what=f"Reading {topic} to its end", every_s=0)
        return found
    finally:
        consumer.close()


def _note(message: Message, found: dict[tuple[int, int], Content], waiting: dict[int, int]) -> None:
    partition, offset = message.partition(), message.offset()
    if message.error() is not None or partition is None or offset is None:
        return
    headers = tuple(message.headers() or ())
    found[partition, offset] = (partition, message.key(), message.value(), headers)
    if offset + 1 >= waiting.get(partition, offset + 2):
        del waiting[partition]
