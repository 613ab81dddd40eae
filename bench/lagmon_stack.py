"""A cluster of several brokers with tens of thousands of partitions, in memory where the system has room.

Making a partition costs a broker several calls of fsync: 50,000 of them are a quarter of an hour on a disk
and half a minute in memory. A broker keeps a file open for each, and a process may have 20,000 of them here.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from deploy.local.broker import Broker, cluster_id, start_together
from deploy.local.ports import free_port
from deploy.local.server_properties import Seat
from deploy.local.several import Several
from deploy.local.topics import admin_client
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEMORY = Path("/dev/shm")  # noqa: S108 - where Linux has files in memory
_ROOM_BYTES = 4 << 30
_TOPICS_AT_ONCE = 25
_HEAP_MB = 900
OFFSETS_PARTITIONS = 50  # Kafka's default
SINGLE = {
    "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
    "log.index.size.max.bytes": "4096",
    "log.cleaner.min.compaction.lag.ms": "3600000",  # or small segments go soon
}


class Wide(Several):
    """A cluster in which every partition has one replica; inside the context manager it is ready."""

    def __init__(self, folder: Path, *, brokers: int) -> None:
        ports = {node: free_port() for node in range(1, brokers + 1)}
        identity = cluster_id()
        one_replica = {
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "default.replication.factor": "1",
            "min.insync.replicas": "1",
            "broker.session.timeout.ms": "30000",
        }
        self.brokers = [
            Broker(
                f"A-{node}",
                folder / str(node),
                seat=Seat(node_id=node, cluster_id=identity, controller_ports=ports),
                properties=SINGLE | one_replica,
            )
            for node in ports
        ]
        self.client = {"bootstrap.servers": ",".join(one.bootstrap for one in self.brokers)}

    def bring_up(self) -> None:
        """Start every broker and wait until each serves clients."""
        with larger_heap():
            start_together(self.brokers)
        for one in self.brokers:
            one.wait_ready()

    def kill(self) -> None:
        """End every broker at once."""
        for one in self.brokers:
            one.kill()


@contextmanager
def larger_heap() -> Iterator[None]:
    """Let the brokers that start inside have more memory than `java_command` gives them."""
    before = os.environ.get("_JAVA_OPTIONS")
    os.environ["_JAVA_OPTIONS"] = f"{before or ''} -Xmx{_HEAP_MB}m".strip()  # goes over the command line's
    try:
        yield
    finally:
        os.environ.pop("_JAVA_OPTIONS", None)
        if before is not None:
            os.environ["_JAVA_OPTIONS"] = before


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder that is gone afterwards, in memory where there is room."""
    roomy = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-bench-", dir=_MEMORY if roomy else None) as name:
        yield Path(name)


def make_topics(client: dict[str, str], names: list[str], *, partitions: int, deadline_s: float) -> float:
    """Make these topics and wait until each partition has a leader; return the seconds that it took."""
    began = time.monotonic()
    admin = admin_client(client)
    for first in range(0, len(names), _TOPICS_AT_ONCE):
        new = [NewTopic(name, num_partitions=partitions) for name in names[first : first + _TOPICS_AT_ONCE]]
        for future in admin.create_topics(new, request_timeout=60).values():
            future.result()

    def led() -> bool:
        found = admin.list_topics(timeout=30).topics
        return all(
            name in found and sum(one.leader >= 0 for one in found[name].partitions.values()) == partitions
            for name in names
        )

    wait_until(led, deadline_s=deadline_s, what="A leader for every partition", every_s=2.0)
    return time.monotonic() - began


def fill(
    client: dict[str, str], names: list[str], *, partitions: int, records: int, deadline_s: float
) -> None:
    """Write so many records to each partition of these topics, once each, and wait until they are there.

    Raises TimeoutError where they are not in time. Brokers that lead a partition since a moment ago may not
    know it yet: what they refuse is written again.
    """
    producer = Producer(
        {
            **client,
            "enable.idempotence": True,  # or what a client tries again may be there twice
            "linger.ms": 200,
            "queue.buffering.max.messages": 1_000_000,
            "message.timeout.ms": round(deadline_s * 1000),  # given up earlier, one may be there all the same
        }
    )
    refused: list[tuple[str, int]] = []

    def hear(error: object, message: Any) -> None:
        if error is not None:
            refused.append((message.topic(), message.partition()))

    left = [(name, partition) for name in names for partition in range(partitions) for _ in range(records)]
    until = time.monotonic() + deadline_s
    while left:
        for number, (name, partition) in enumerate(left):
            producer.produce(name, b"x", partition=partition, on_delivery=hear)
            if number % 1000 == 0:
                producer.poll(0)
        waiting = producer.flush(max(1.0, until - time.monotonic()))
        if waiting or (refused and time.monotonic() > until):
            late = waiting + len(refused)
            raise TimeoutError(f"{late} records were not written within {deadline_s:g} s.")
        left, refused[:] = list(refused), []
