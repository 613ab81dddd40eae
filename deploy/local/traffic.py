"""Records as ordinary applications write them: several topics, keys, some headers, some tombstones.

Runs by itself as `python -m deploy.local.traffic FOLDER`, where FOLDER holds a stack.json, until SIGTERM.
Every record is numbered in its value, so that a reader can tell which ones are missing.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError, KafkaException, Producer

from deploy.local import topics
from deploy.local.pair import STACK_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One topic with its share of the traffic."""

    topic: str
    partitions: int
    records_per_s: float
    headers: bool = False
    tombstones: float = 0.0  # share of records without a value


STREAMS = (
    Stream(topic="orders", partitions=4, records_per_s=150, headers=True),
    Stream(topic="payments", partitions=3, records_per_s=80, headers=True),
    Stream(topic="stock-levels", partitions=2, records_per_s=60, tombstones=0.05),
    Stream(topic="page-views", partitions=3, records_per_s=100),
)


@dataclass(frozen=True, slots=True)
class Record:
    """A record that is to be written."""

    topic: str
    key: bytes
    value: bytes | None
    headers: list[tuple[str, str | bytes | None]]


def records(stream: Stream, *, seed: int) -> Iterator[Record]:
    """Yield the stream's records without end, the same ones for the same seed."""
    chance = random.Random(f"{seed} {stream.topic}")  # noqa: S311  (not a secret)
    number = 0
    while True:
        key = f"{stream.topic}-{chance.randrange(2000)}".encode()
        value: bytes | None = json.dumps({"number": number, "body": "x" * chance.randrange(20, 200)}).encode()
        if chance.random() < stream.tombstones:
            value = None
        headers: list[tuple[str, str | bytes | None]] = []
        if stream.headers:
            headers = [("trace", f"{number:016x}".encode()), ("origin", b"\x00\xff")]
        yield Record(stream.topic, key, value, headers)
        number += 1


def create_topics(client: Mapping[str, str], streams: Sequence[Stream] = STREAMS) -> None:
    """Create the topics that are not there yet."""
    for stream in streams:
        if topics.partition_count(client, stream.topic) == 0:
            topics.create_topic(client, stream.topic, partitions=stream.partitions)


def run(
    client: Mapping[str, str],
    stop: threading.Event,
    *,
    streams: Sequence[Stream] = STREAMS,
    rate: float = 1.0,
    seed: int = 1,
) -> int:
    """Write at `rate` times the streams' pace until `stop` is set; return how many records were acknowledged.

    While the cluster is away, records wait in the client's queue and are dropped when it is full, as a
    careless application would do.
    """
    acknowledged = 0

    def on_delivery(error: KafkaError | None, _: Any) -> None:
        nonlocal acknowledged
        acknowledged += error is None

    settings: dict[str, Any] = {**client, "linger.ms": 20, "client.id": "traffic", "log_level": 0}
    producer = Producer(settings)
    sources = [(records(stream, seed=seed), stream.records_per_s * rate) for stream in streams]
    sent = [0] * len(sources)
    begun = time.monotonic()
    while not stop.wait(0.02):
        elapsed_s = time.monotonic() - begun
        for number, (source, pace) in enumerate(sources):
            for _ in range(int(elapsed_s * pace) - sent[number]):
                _send(producer, next(source), on_delivery)
                sent[number] += 1
        producer.poll(0)
    producer.flush(5)
    return acknowledged


def _send(producer: Producer, record: Record, on_delivery: Callable[[KafkaError | None, Any], None]) -> None:
    """Hand a record over; drop it where the queue is full, or its topic is away, to be re-created perhaps."""
    try:
        producer.produce(
            record.topic, record.value, record.key, headers=record.headers, on_delivery=on_delivery
        )
    except BufferError:
        producer.poll(0)
    except KafkaException as error:
        if error.args[0].code() != KafkaError._UNKNOWN_TOPIC:  # noqa: SLF001  (its public name)
            raise
        with suppress(KafkaException):
            producer.list_topics(timeout=1.0)  # else it asks again within minutes


def main() -> None:
    """Write traffic to one cluster of the stack in FOLDER until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m deploy.local.traffic", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="the folder of the stack, with its stack.json")
    parser.add_argument("--cluster", default="A")
    parser.add_argument("--rate", type=float, default=1.0, help="times 390 records a second (default 1)")
    chosen = parser.parse_args()
    client = json.loads((chosen.folder / STACK_FILE).read_text(encoding="utf-8"))["brokers"][chosen.cluster][
        "client"
    ]
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        create_topics(client)
        print(f"{run(client, stop, rate=chosen.rate)} records acknowledged", flush=True)
    except KafkaException as error:
        raise SystemExit(f"The cluster {chosen.cluster} refused the traffic: {error}") from None


if __name__ == "__main__":
    main()
