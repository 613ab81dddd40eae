"""Applications that read in consumer groups and commit: two that keep up, and one that is too slow.

Runs by itself as `python -m deploy.local.demo.readers FOLDER` until SIGTERM; FOLDER holds a stack.json.
"""

from __future__ import annotations

import argparse
import json
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaException

from deploy.local.pair import STACK_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

_TURN_S = 0.1
_AT_ONCE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A consumer group with one member: where it reads, what, and how much of it at most."""

    group: str
    cluster: str
    topics: tuple[str, ...]
    records_per_s: float

    def may_read(self, *, elapsed_s: float, read: int) -> int:
        """Return how many records it may take now, so long after its start and after so many of them."""
        return max(0, min(_AT_ONCE, int(elapsed_s * self.records_per_s) - read))


# Of the topics of deploy.local.traffic. The second one reads two thirds of what comes, and falls behind.
READERS = (
    Reader(group="billing", cluster="A", topics=("orders", "payments"), records_per_s=5000),
    Reader(group="page-statistics", cluster="A", topics=("page-views",), records_per_s=65),
    Reader(group="order-search", cluster="B", topics=("A.orders",), records_per_s=5000),
)


def consumer_of(reader: Reader, client: Mapping[str, str]) -> Consumer:
    """Return its member, which has subscribed; topics that are not there yet are found soon."""
    consumer = Consumer(
        {
            **client,
            "group.id": reader.group,
            "client.id": reader.group,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 2000,
            "topic.metadata.refresh.interval.ms": 2000,
            "queued.max.messages.kbytes": 256,
            "log_level": 0,
        }
    )
    consumer.subscribe(list(reader.topics))
    return consumer


def run(clients: Mapping[str, Mapping[str, str]], stop: threading.Event) -> dict[str, int]:
    """Read until `stop` is set; return by group how many records were read."""
    members = [(reader, consumer_of(reader, clients[reader.cluster])) for reader in READERS]
    read = {reader.group: 0 for reader in READERS}
    begun = time.monotonic()
    while not stop.wait(_TURN_S):
        elapsed_s = time.monotonic() - begun
        for reader, consumer in members:
            most = reader.may_read(elapsed_s=elapsed_s, read=read[reader.group])
            found = consumer.consume(num_messages=most, timeout=0) if most else []
            read[reader.group] += sum(record.error() is None for record in found)
    for _, consumer in members:
        consumer.close()
    return read


def main() -> None:
    """Read from the stack in FOLDER until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m deploy.local.demo.readers", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="the folder of the stack, with its stack.json")
    chosen = parser.parse_args()
    brokers = json.loads((chosen.folder / STACK_FILE).read_text(encoding="utf-8"))["brokers"]
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        read = run({alias: broker["client"] for alias, broker in brokers.items()}, stop)
    except KafkaException as error:
        raise SystemExit(f"The readers cannot continue: {error}") from None
    print(", ".join(f"{group} has read {count} records" for group, count in read.items()), flush=True)


if __name__ == "__main__":
    main()
