"""A mirror that reads as a consumer group and commits what it has copied, each second: as MirrorMaker 1 does.

python group_mirror.py SOURCE TARGET GROUP TOPIC [MOST_PER_S]; topics keep their names. SIGTERM ends it.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer

COMMIT_S = 1.0


def main() -> None:
    """Copy until told to end."""
    source, target, group, topic = sys.argv[1:5]
    most_per_s = float(sys.argv[5]) if len(sys.argv) > 5 else 1e9
    ending: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _frame: ending.append(number))
    consumer = Consumer(
        {
            "bootstrap.servers": source,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
        }
    )
    producer = Producer({"bootstrap.servers": target, "enable.idempotence": True, "linger.ms": 5})
    consumer.subscribe([topic])
    began, copied = time.monotonic(), 0
    committed_at = time.monotonic()
    while not ending:
        if copied <= (time.monotonic() - began) * most_per_s:
            for message in consumer.consume(50, timeout=0.1):
                if message.error() is None:
                    producer.produce(topic, message.value(), key=message.key(), partition=message.partition())
                    copied += 1
        else:
            time.sleep(0.02)
        producer.poll(0)
        if time.monotonic() - committed_at >= COMMIT_S:
            producer.flush(30)
            commit(consumer)
            committed_at = time.monotonic()
    producer.flush(30)
    commit(consumer)
    consumer.close()


def commit(consumer: Consumer) -> None:
    """Commit what was copied; one that was left out of its group for a while cannot, and joins again."""
    with contextlib.suppress(KafkaException):
        consumer.commit(asynchronous=False)


if __name__ == "__main__":
    main()
