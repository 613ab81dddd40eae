"""A mirror that keeps offsets: it writes each record at the offset that it had, to a copy that began empty.

python equal_mirror.py SOURCE TARGET TOPIC; it goes on where the copy ends, and is no consumer group.
"""

from __future__ import annotations

import signal
import sys

from confluent_kafka import Consumer, Producer, TopicPartition

WAIT_S = 20


def main() -> None:
    """Copy until told to end."""
    source, target, topic = sys.argv[1:4]
    ending: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: ending.append(number))
    consumer = Consumer({"bootstrap.servers": source, "group.id": "nobody", "enable.auto.commit": False})
    producer = Producer({"bootstrap.servers": target, "enable.idempotence": True, "linger.ms": 5})
    consumer.assign(
        [TopicPartition(topic, number, end) for number, end in ends(target, topic, consumer).items()]
    )
    while not ending:
        for message in consumer.consume(500, timeout=0.1):
            if message.error() is None:
                producer.produce(topic, message.value(), key=message.key(), partition=message.partition())
        producer.poll(0)
    producer.flush(30)
    consumer.close()


def ends(target: str, topic: str, source: Consumer) -> dict[int, int]:
    """Return where each partition's copy ends."""
    partitions = source.list_topics(topic, timeout=WAIT_S).topics[topic].partitions
    there = Consumer({"bootstrap.servers": target, "group.id": "nobody"})
    found = {
        number: there.get_watermark_offsets(TopicPartition(topic, number), timeout=WAIT_S)[1]
        for number in partitions
    }
    there.close()
    return found


if __name__ == "__main__":
    main()
