"""The lag monitor and the service killed and started again: what stood still stands, and nothing else alarms."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from deploy.local.groups import set_offsets
from deploy.local.service import cause_of
from deploy.local.topics import create_topic, delete_records, recreate_topic
from fleet.dialect import moment_ms
from tests.eventually import eventually
from tests.real.lag.test_mirrors import ends_of
from tests.real.service.process import ServiceProcess

LOOK_MS = 12_000
DEADLINE_S = 150
BACK_S = 60.0  # within which all must be known again
ALARMS = {"STOP", "STALL", "REWIND", "ERR"}


class Work:
    """Fifty records a second to a topic on A, and a group that reads and commits them."""

    def __init__(self, client, topic, group):
        self._client, self._topic, self._group = client, topic, group
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=one, daemon=True) for one in (self._write, self._read)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception):
        self._ending.set()
        for thread in self._threads:
            thread.join(30)

    def _write(self):
        producer = Producer(self._client)
        while not self._ending.wait(0.02):
            producer.produce(self._topic, b"x")
            producer.poll(0)
        producer.flush(10)

    def _read(self):
        told = {"group.id": self._group, "auto.offset.reset": "earliest", "auto.commit.interval.ms": 1000}
        consumer = Consumer({**self._client, **told})
        consumer.subscribe([self._topic])
        while not self._ending.is_set():
            consumer.poll(0.1)
        consumer.close()


@pytest.fixture
def scene(kafka_pair, mirror, topic_name, tmp_path):
    """Give a service that watches a group that stopped, one that moves, and a mirror of two topics."""
    client = kafka_pair.a.client_properties()
    names = {word: topic_name(word) for word in ("orders", "ordersagain", "read", "left")}
    for word in ("orders", "ordersagain", "read", "left"):
        create_topic(client, names[word], partitions=2)
    write(client, names["left"], 50)
    stopped = topic_name("stopped")
    set_offsets(client, stopped, {(names["left"], 0): 10})
    running = mirror({"A->B.topics": f"{names['orders']}|{names['ordersagain']}"})
    for word in ("orders", "ordersagain"):  # the copies are there at the service's first look
        write(client, names[word], 20)
        copied(kafka_pair.b.client_properties(), f"A.{names[word]}", 20)
    with (
        Work(client, names["read"], topic_name("moving")),
        ServiceProcess(
            tmp_path / "service",
            topic=topic_name("canary"),
            mm2=running.properties_file,
            canary={"mode": "off"},
            lag={"commits": "topic"},
        ) as service,
    ):
        groups = {"stopped": stopped, "moving": topic_name("moving")}
        yield Scene(service, client, running, names, groups)


def copied(client, topic, count):
    eventually(lambda: ends_of(client, topic, partitions=2) == dict.fromkeys((0, 1), count), 60, every_s=0.5)


def write(client, topic, count):
    producer = Producer(client)
    for number in range(count):
        for partition in (0, 1):
            producer.produce(topic, b"%d" % number, partition=partition)
    assert producer.flush(30) == 0


def answered(document):
    """Return a document; an empty one for a refusal, whose status is that of HTTP."""
    return {} if "code" in document else document


class Scene:
    """What is asked of the service."""

    def __init__(self, service, client, mirror, topics, groups):
        self.service, self.client, self.mirror = service, client, mirror
        self.topics, self.groups = topics, groups

    def get(self, path):
        """Return the document there, empty while there is none."""
        _, body = self.service.get(path)
        with contextlib.suppress(ValueError):
            return json.loads(body)
        return {}

    def group(self, word):
        return answered(self.get(f"/api/v1/groups/A/{self.groups[word]}"))

    def flow(self):
        return answered(self.get("/api/v1/flows/A->B/offsets"))

    def offsets(self):
        """Return where the mirror stands in each partition of the two topics."""
        topics = {self.topics["orders"], self.topics["ordersagain"]}
        return [row["next_offset"] for row in self.flow().get("partitions", []) if row["topic"] in topics]

    def kept_at(self):
        """Return when a snapshot was written last (epoch s), 0 while none was."""
        path = self.service.config.parent / "mirrorwatch.db"
        with contextlib.closing(sqlite3.connect(path, timeout=10)) as connection:
            return connection.execute("select max(taken_at) from lag_snapshots").fetchone()[0] or 0.0

    def becomes(self, told, **wanted):
        """Wait until what is told has these values."""
        try:
            eventually(
                lambda: (found := told()) and {key: found.get(key) for key in wanted} == wanted,
                DEADLINE_S,
                what=str(wanted),
                every_s=0.5,
            )
        except (AssertionError, TypeError) as error:
            raise AssertionError(f"{error}; it says {told()}") from None

    def ingest(self):
        """Return the process id of the lag monitor, None while there is none."""
        with contextlib.suppress(OSError, ValueError):
            path = Path(f"/proc/{self.service.pid}/task/{self.service.pid}/children")
            for one in path.read_text().split():
                if b"lagmon" in Path(f"/proc/{one}/cmdline").read_bytes():
                    return int(one)
        return None

    def comes_back(self, before):
        """See from the first answer on that what stood stands again, as of the same time, and nothing alarms."""
        told = []

        def look():
            stopped, moving, flow = self.group("stopped"), self.group("moving"), self.flow()
            told.append((stopped.get("status"), moving.get("status"), flow.get("verdict"), cause_of(flow)))
            assert moving.get("status") not in ALARMS, (moving, told)
            assert flow.get("verdict") in (None, "unknown", "stalled"), (flow, told)
            assert stopped.get("status") in (None, "UNKNOWN", "STOP"), (stopped, told)
            back = stopped.get("status") == "STOP" and flow.get("verdict") == "stalled"
            return (stopped, flow) if back and moving.get("status") in ("OK", "WARN") else None

        try:
            stopped, flow = eventually(look, BACK_S, what="all is known again", every_s=0.2)
        except AssertionError as error:
            raise AssertionError(f"{error}; {told}; {self.service.logged()[-3000:]}") from None
        assert stopped["lag_records"] == 40
        assert abs(moment_ms(stopped["partitions"][0]["since"]) - before["group"]) <= LOOK_MS
        assert cause_of(flow) == before["cause"]
        assert moment_ms(flow["since"]) == before["flow"]
        return flow


@pytest.mark.long
def test_nobody_is_blind_or_alarmed_after_a_restart(scene):
    service = scene.service
    scene.becomes(scene.flow, verdict="healthy")
    eventually(lambda: scene.offsets() == [20] * 4, DEADLINE_S, what="offsets of all", every_s=0.5)
    scene.mirror.freeze()
    time.sleep(15)  # one look at the logs, so that what is written next is seen to come after the last offset
    write(scene.client, scene.topics["orders"], 20)
    write(scene.client, scene.topics["ordersagain"], 20)
    scene.becomes(lambda: scene.group("stopped"), status="STOP")
    scene.becomes(scene.flow, verdict="stalled")
    assert cause_of(scene.flow()) == "mirror_down"
    flow = scene.flow()
    before = {
        "group": moment_ms(scene.group("stopped")["partitions"][0]["since"]),
        "flow": moment_ms(flow["since"]),
        "cause": cause_of(flow),
    }
    since = time.time()
    eventually(lambda: scene.kept_at() > since, 90, what="a snapshot", every_s=1.0)

    # The lag monitor alone.
    killed = scene.ingest()
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: scene.ingest() not in (None, killed), 30, what="another process", every_s=0.2)
    scene.comes_back(before)

    # The service with all its processes.
    service.kill()
    service.start()
    scene.comes_back(before)

    # In order: what is known is written as it ends.
    asked_at = time.time()
    service.end(deadline_s=40)
    assert scene.kept_at() >= asked_at
    service.start()
    scene.comes_back(before)

    # Away for a while, in which retention overtakes the mirror and a topic is made anew.
    service.end(deadline_s=40)
    delete_records(scene.client, scene.topics["orders"], before={0: 30})
    recreate_topic(scene.client, scene.topics["ordersagain"], partitions=2)
    service.start()

    def found():
        flow = scene.flow()
        overtaken = {(one["topic"], one["partition"]): one["records"] for one in flow.get("overtaken", ())}
        recreated = {(one["topic"], one["side"]) for one in flow.get("recreated_topics", ())}
        wanted = (scene.topics["ordersagain"], "source")
        return overtaken.get((scene.topics["orders"], 0)) == 10 and wanted in recreated

    try:
        eventually(found, BACK_S, what="overtaken, and made anew", every_s=0.5)
    except AssertionError as error:
        raise AssertionError(f"{error}; it says {scene.flow()}") from None
    service.end(deadline_s=40)
