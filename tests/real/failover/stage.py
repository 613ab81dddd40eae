"""A group that fails over for real: what it reads on the target, against what was read and is on the source."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager

from confluent_kafka import Consumer, Producer, TopicPartition

from deploy.local import topics
from tests.eventually import eventually

PARTITIONS = 3


@contextmanager
def traffic(client, topic, *, per_s=300):
    """Write records with a number each, in turn into all partitions, until the end of the block."""
    ending = threading.Event()

    def write():
        producer = Producer({**client, "linger.ms": 5})
        number = 0
        while not ending.wait(0.02):
            for _ in range(int(per_s * 0.02)):
                producer.produce(topic, b"%d" % number, partition=number % PARTITIONS)
                number += 1
            producer.poll(0)
        assert producer.flush(20) == 0

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


class Reader:
    """A member of a group that reads and commits every so many records."""

    def __init__(self, client, group, topic, *, protocol, commits_every=40):
        self._ending = threading.Event()
        self._every = commits_every
        self._consumer = Consumer(
            {
                **client,
                "group.id": group,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        self._consumer.subscribe([topic])
        self.read = []  # partition, offset, value
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        while not self._ending.is_set():
            messages = self._consumer.consume(self._every, 0.2)
            for message in messages:
                assert message.error() is None, message.error()
                self.read.append((message.partition(), message.offset(), message.value()))
            if messages:
                self._consumer.commit(asynchronous=False)
        self._consumer.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.end()

    def end(self):
        self._ending.set()
        self._thread.join(60)


def log(client, topic):
    """Return every record of a topic: partition, offset, value."""
    ends = topics.log_ends(client, topic)
    consumer = Consumer({**client, "group.id": "truth", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(len(ends))])
    found = []
    try:
        while True:
            messages = consumer.consume(1000, 1.0)
            if not messages:
                break
            found += [(one.partition(), one.offset(), one.value()) for one in messages]
    finally:
        consumer.close()
    return found


def committed(client, group, topic, partitions=PARTITIONS):
    """Return what a group has committed by partition."""
    consumer = Consumer({**client, "group.id": group})
    try:
        places = [TopicPartition(topic, number) for number in range(partitions)]
        return {one.partition: one.offset for one in consumer.committed(places, 10) if one.offset >= 0}
    finally:
        consumer.close()


def mirrorwatch(*arguments, status=None):
    """Return what a command writes; it is expected to end with this status, if one is given."""
    command = [sys.executable, "-m", "mirrorwatch", *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert status in (None, ended.returncode), (ended.returncode, ended.stdout + ended.stderr)
    return ended.stdout + ended.stderr


def predicted(config, group, *, status):
    """Return what `mirrorwatch failover` says of a group, which is expected to end with this status."""
    said = mirrorwatch("failover", config, "--group", group, "--json", status=status)
    (flow,) = json.loads(said)["flows"]
    (found,) = flow["groups"]
    return found


def failed_over(pair, group, topic, *, protocol):
    """Start the group on the target and return what it really reads again, skips, and what is lost to it."""
    remote = f"A.{topic}"
    here, there = log(pair.a.client_properties(), topic), log(pair.b.client_properties(), remote)
    start = committed(pair.a.client_properties(), group, topic)
    ends = topics.log_ends(pair.b.client_properties(), remote)
    with Reader(pair.b.client_properties(), group, remote, protocol=protocol) as reader:
        eventually(
            lambda: all(_reached(reader.read, number, end) for number, end in enumerate(ends)),
            60,
            what="the end",
        )
    offsets = {value: (partition, offset) for partition, offset, value in here}
    read = Counter(value for _, _, value in reader.read)
    done = {value for value, (partition, offset) in offsets.items() if offset < start.get(partition, 0)}
    on_target = {value for _, _, value in there}
    return {
        "read_again": sum(count for value, count in read.items() if value in done),
        "skipped": len(on_target - done - read.keys()),
        "at_risk": len(offsets.keys() - done - on_target),
    }


def _reached(read, partition, end):
    return end == 0 or any(one == partition and offset == end - 1 for one, offset, _ in reversed(read))


def holds(found, truth):
    """Assert that the truth is within what was predicted; return whether all was exact."""
    exact = True
    for name, count in truth.items():
        bounds = found[f"{name}_records"]
        assert bounds["least"] <= count, (name, bounds, truth)
        assert bounds["most"] is None or count <= bounds["most"], (name, bounds, truth)
        exact = exact and bounds["least"] == bounds["most"]
    return exact


def wait_s(seconds):
    """Let traffic and mirror run."""
    time.sleep(seconds)
