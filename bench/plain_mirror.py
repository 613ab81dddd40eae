"""Copy one topic along many flows, plainly: a stand-in where a real mirror would not fit on the machine.

    python -m bench.plain_mirror PLAN

It is no MirrorMaker: no Connect, no offsets kept, no topics made, everything from the beginning again after
a restart. A MirrorMaker runs one Connect worker for each flow, and fifty of them in one JVM want more
memory and processor time than twenty brokers leave. What the canary looks at is kept as MirrorMaker keeps
it: partition, order, key, value, headers and timestamp, in `<source>.<topic>` on the target.

PLAN is a JSON file: `topic`, `clusters` (bootstrap servers by alias), `partitions` (by source) and `flows`
(targets by source).
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

if TYPE_CHECKING:
    from collections.abc import Sequence

_RETURN = {"reconnect.backoff.ms": 100, "reconnect.backoff.max.ms": 1000}


def main() -> None:
    """Copy until it is killed."""
    plan = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    topic, clusters = plan["topic"], plan["clusters"]
    silent = logging.getLogger("plain_mirror")
    silent.addHandler(logging.NullHandler())
    silent.propagate = False
    targets = sorted({target for found in plan["flows"].values() for target in found})
    producers = {target: _producer(clusters[target], silent) for target in targets}
    threads = [
        threading.Thread(
            target=_copy,
            args=(
                _consumer(clusters[source], topic, plan["partitions"][source], silent),
                f"{source}.{topic}",
                [producers[target] for target in found],
            ),
        )
        for source, found in plan["flows"].items()
    ]
    for thread in threads:
        thread.start()


def _producer(bootstrap: str, log: logging.Logger) -> Any:
    """Return a producer that goes on trying for ever and repeats nothing."""
    config: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "enable.idempotence": True,
        "linger.ms": 0,
        "message.timeout.ms": 0,
        "socket.timeout.ms": 10_000,
        **_RETURN,
    }
    return Producer(config, logger=log)


def _consumer(bootstrap: str, topic: str, partitions: int, log: logging.Logger) -> Any:
    config: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": "plain-mirror",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "fetch.error.backoff.ms": 100,
        **_RETURN,
    }
    consumer = Consumer(config, logger=log)
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
    return consumer


def _copy(consumer: Any, topic: str, producers: Sequence[Any]) -> None:
    while True:
        message = consumer.poll(0.2)
        if message is None or message.error() is not None:
            continue
        for producer in producers:
            producer.produce(
                topic,
                key=message.key(),
                value=message.value(),
                partition=message.partition(),
                headers=message.headers(),
                timestamp=message.timestamp()[1],
            )
            producer.poll(0)


if __name__ == "__main__":
    main()
