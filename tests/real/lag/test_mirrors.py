"""A real mirror judged from its offsets alone: it keeps up, stands, is overtaken by retention, comes back."""

from __future__ import annotations

import contextlib
import re
import threading

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from deploy.local.topics import create_topic, delete_records
from tests.eventually import eventually
from tests.real.service.process import ServiceProcess

LABELS = {"flow": "A->B", "source_cluster": "A", "target_cluster": "B"}
PARTITIONS = 3


class Traffic:
    """A hundred records a second to a topic on A, to its partitions in turn, until told to pause."""

    def __init__(self, client, topic):
        self._producer = Producer(client)
        self._topic = topic
        self._ending, self._going = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._turn = threading.Lock()

    def __enter__(self):
        self._going.set()
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._ending.set()
        self._going.set()
        self._thread.join(10)

    def pause(self):
        """Write no more, and have all that was written acknowledged."""
        with self._turn:
            self._going.clear()
        self._producer.flush(10)

    def resume(self):
        """Go on."""
        self._going.set()

    def _write(self):
        number = 0
        while not self._ending.wait(0.01):
            self._going.wait()
            with self._turn:
                if self._going.is_set():
                    self._producer.produce(self._topic, b"%d" % number, partition=number % PARTITIONS)
                    number += 1
            self._producer.poll(0)
        self._producer.flush(10)


@pytest.fixture
def watched(kafka_pair, mirror, topic_name, tmp_path):
    """Give topic, traffic, mirror and service: the flow is watched by its offsets, without a canary."""
    topic = topic_name("orders")
    client = kafka_pair.a.client_properties()
    create_topic(client, topic, partitions=PARTITIONS)
    running = mirror({"A->B.topics": topic})
    with (
        Traffic(client, topic) as traffic,
        ServiceProcess(
            tmp_path / "service",
            topic=topic_name("canary"),
            mm2=running.properties_file,
            canary={"mode": "off"},
            lag={"commits": "topic", "per_partition": "true"},
        ) as service,
    ):
        yield topic, traffic, running, service


def said(service, words, *, deadline_s):
    """Wait until offsets say something of the flow that holds these words, and return it."""

    def look():
        sentence = service.flow().get("parts", {}).get("lag", "")
        return sentence if re.search(words, sentence) else None

    try:
        return eventually(look, deadline_s, what=words, every_s=0.5)
    except AssertionError as error:
        raise AssertionError(f"{error}; it says {service.flow().get('parts')}") from None


def metric(service, name, **labels):
    return service.metric(name, **LABELS, **labels)


def looked_at(service):
    """Return when the ends of the logs on A and on B were read last."""
    name = "collector_last_success_timestamp_seconds"
    return [service.metric(name, kafka_cluster=alias, collector="positions") for alias in "AB"]


def looked_twice(service):
    """Wait until both clusters were looked at twice more."""
    for _ in range(2):
        at = looked_at(service)
        eventually(lambda at=at: all(new > old for new, old in zip(looked_at(service), at, strict=True)), 60)


def ends_of(client, topic, *, partitions=PARTITIONS):
    """Return by partition where the log ends, nothing of one that is not there yet."""
    consumer = Consumer({**client, "group.id": "nobody"})
    found = {}
    for number in range(partitions):
        with contextlib.suppress(KafkaException):
            found[number] = consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=20)[1]
    consumer.close()
    return found


def next_offsets(service, topic):
    """Return by partition where the mirror stands, by its headroom over a log that begins at 0."""
    found = {
        number: metric(service, "replication_partition_headroom_records", topic=topic, partition=str(number))
        for number in range(PARTITIONS)
    }
    assert None not in found.values(), found
    return {number: int(headroom) for number, headroom in found.items()}


def test_a_mirror_keeps_up_stands_is_overtaken_and_comes_back(watched, kafka_pair):
    topic, traffic, running, service = watched
    client = kafka_pair.a.client_properties()

    # Traffic flows: no lag.
    said(service, "^Lag [0-9,]+ records? on", deadline_s=60)
    eventually(lambda: metric(service, "replication_topic_lag_records", topic=topic) == 0, 60, every_s=0.5)
    assert metric(service, "replication_topic_lag_seconds", topic=topic) == 0
    assert metric(service, "replication_status") == 1
    ends = [metric(service, f"replication_{side}_end_offset", topic=topic) for side in ("source", "target")]
    assert ends[0] > 0
    assert ends[1] == pytest.approx(ends[0], abs=400)  # the two clusters are looked at one after the other

    # The mirror stands: stalled, and its lag is what has been written since. It had copied all before, and its
    # offsets and two looks at the copies had told so: else fewer would be lost than its offsets say.
    traffic.pause()
    written = ends_of(client, topic)
    eventually(lambda: next_offsets(service, topic) == written, 60, what=f"come to {written}", every_s=0.5)
    everything, target_end = sum(written.values()), "replication_target_end_offset"
    eventually(lambda: metric(service, target_end, topic=topic) == everything, 60, every_s=0.5)
    looked_twice(service)
    running.freeze()
    traffic.resume()
    told = said(service, "No other partition moves", deadline_s=100)
    assert re.search(r"lag [\d,]+ record", told)
    assert metric(service, "replication_status") == 4
    assert metric(service, "replication_topic_lag_records", topic=topic) > 1000
    assert metric(service, "replication_topic_lag_seconds", topic=topic) > 15

    # Retention overtakes it in two of three partitions, by a number that only we know.
    stood = next_offsets(service, topic)
    traffic.pause()
    starts = {0: stood[0] + 123, 1: stood[1] + 45}
    delete_records(client, topic, before=starts)
    deleted = (
        rf"A deleted 168 records before the mirror replicated them \(123 of {topic}-0, 45 of {topic}-1\)"
    )
    said(service, f"Records lost: retention on {deleted}", deadline_s=100)
    assert metric(service, "replication_status") == 3
    headroom = "replication_partition_headroom_records"
    assert metric(service, headroom, topic=topic, partition="0") == 0
    assert metric(service, headroom, topic=topic, partition="2") == stood[2]

    # It goes on: healthy, and the loss stays counted.
    running.thaw()
    traffic.resume()
    said(service, "^Lag [0-9,]+ records? on", deadline_s=90)
    traffic.pause()
    eventually(lambda: metric(service, "replication_topic_lag_records", topic=topic) == 0, 60, every_s=0.5)

    def missing():
        # The topic on B is this mirror's alone, record for record. What it had fetched before it stood it
        # copies all the same, so that fewer are lost than its offsets said.
        written, copied = ends_of(client, topic), ends_of(kafka_pair.b.client_properties(), f"A.{topic}")
        return sum(written[number] - copied[number] for number in written)

    # Where the target stood when N was written lies on a line between two looks, with traffic meanwhile.
    counts = []

    def agree():
        counts.append((metric(service, "overtaken_records_total", topic=topic), missing()))
        counted, missed = counts[-1]
        return abs(counted - missed) <= 3

    try:
        eventually(agree, 150, every_s=0.5)
    except AssertionError:
        raise AssertionError(f"counted and missing: {counts}; {service.flow()}") from None
    assert 0 < missing() <= 168
    service.end()
