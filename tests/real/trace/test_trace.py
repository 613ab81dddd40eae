"""One record of a real mirror: found, dropped, changed, not there yet, deleted on the target."""

from __future__ import annotations

import json
import re
import time

import pytest
from confluent_kafka import Producer

from deploy.drills.failovers import configured, mirrorwatch
from deploy.local import topics
from tests.eventually import eventually

PARTITIONS = 3
FIRST = 300  # records


@pytest.fixture
def stage(kafka_pair, mirror, topic_name, tmp_path):
    """Give the brokers, a mirror, a topic on A with replicated records, and a configuration."""
    topic = topic_name("orders")
    topics.create_topic(kafka_pair.a.client_properties(), topic, partitions=PARTITIONS)
    running = mirror({"A->B.topics": topic}, fresh=True)
    path = configured(tmp_path, running)
    write(kafka_pair, topic, FIRST)
    arrived(kafka_pair, topic, FIRST)
    return kafka_pair, running, topic, path


def write(pair, topic, count, *, word="record"):
    producer = Producer(dict(pair.a.client_properties()))
    for number in range(count):
        key, headers = f"{word}-{number}", [("number", b"%d" % number)]
        producer.produce(topic, b"value " * 20 + key.encode(), key, number % PARTITIONS, headers=headers)
    assert producer.flush(20) == 0


def arrived(pair, topic, count):
    target = pair.b.client_properties()
    eventually(lambda: topics.log_end(target, f"A.{topic}") >= count, 60, what=f"{count} records on B")


def traced(path, topic, *which, status):
    """Return the verdict on the only flow, and print how long the command took."""
    started = time.monotonic()
    said = mirrorwatch("trace", path, "--topic", topic, *which, "--json", status=status)
    print(f"{time.monotonic() - started:.2f} s", *which)
    found = json.loads(said)
    (flow,) = found["flows"]
    print(flow["sentence"])
    return found, flow


def test_one_record_is_followed(stage):
    pair, running, topic, path = stage
    found, flow = traced(path, topic, "--partition", 1, "--offset", 42, status=0)
    assert (flow["status"], flow["target_topic"], flow["target_offsets"]) == ("found", f"A.{topic}", [42])
    assert flow["target_record"]["hash"] == found["record"]["hash"]
    found, flow = traced(path, topic, "--key", "record-100", status=0)
    assert (found["partition"], found["offset"], flow["target_offsets"]) == (1, 33, [33])
    moment = found["record"]["timestamp"]
    found, flow = traced(path, topic, "--time", moment, status=0)
    assert (found["record"]["timestamp"], flow["status"]) == (moment, "found")
    said = mirrorwatch("trace", path, "--topic", topic, "--partition", 1, "--offset", 42, status=0)
    assert re.search(rf"On B at offset 42 of A\.{topic}-1 \(", said)
    assert "record-" not in said
    said = mirrorwatch("trace", path, "--topic", topic, "--partition", 1, "--offset", 100, status=2)
    assert f"offset 100 is out of range; {topic}-1 on A has 0 to 99" in said
    assert "did you mean" in mirrorwatch("trace", path, "--topic", topic[:-1], "--key", "k", status=2)

    running.switch.on("drop", topics=re.escape(topic))
    time.sleep(1)
    write(pair, topic, PARTITIONS, word="dropped")
    time.sleep(2)
    running.switch.off()
    time.sleep(1)
    write(pair, topic, 30, word="later")
    arrived(pair, topic, FIRST + 30)
    _, flow = traced(path, topic, "--partition", 1, "--offset", 100, status=1)
    assert flow["status"] == "dropped"
    _, flow = traced(path, topic, "--partition", 1, "--offset", 101, status=0)
    assert flow["target_offsets"] == [100]

    running.switch.on("alter", topics=re.escape(topic))
    time.sleep(1)
    write(pair, topic, PARTITIONS, word="altered")
    arrived(pair, topic, FIRST + 30 + PARTITIONS)
    running.switch.off()
    time.sleep(1)
    _, flow = traced(path, topic, "--partition", 1, "--offset", 111, status=1)
    assert (flow["status"], flow["target_offsets"], flow["differs"]) == ("changed", [110], ["value"])

    running.freeze()
    write(pair, topic, 30, word="frozen")
    _, flow = traced(path, topic, "--key", "frozen-4", status=3)
    assert flow["status"] == "not_yet"
    assert flow["lag_records_most"] >= 2
    running.thaw()
    arrived(pair, topic, FIRST + 60 + PARTITIONS)
    _, flow = traced(path, topic, "--key", "frozen-4", status=0)

    time.sleep(3)  # until the mirror has committed its offsets
    topics.delete_records(pair.b.client_properties(), f"A.{topic}")
    _, flow = traced(path, topic, "--partition", 1, "--offset", 42, status=1)
    assert flow["status"] == "deleted"
