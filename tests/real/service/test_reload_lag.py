"""Another configuration and the lag monitor: its process begins anew where that is needed, and nothing alarms."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from deploy.local.topics import create_topic
from fleet.dialect import moment_ms
from tests.eventually import eventually
from tests.real.orders import change
from tests.real.service.process import ServiceProcess

DEADLINE_S = 90
BLIND_S = 30.0  # at most, and as short as at a restart


@pytest.fixture
def scene(mirror, kafka_pair, topic_name, tmp_path):
    client = kafka_pair.a.client_properties()
    topic = topic_name("orders")
    create_topic(client, topic, partitions=2)
    running = mirror({"A->B.topics": f"{topic}|{topic_name('canary')}"})
    with ServiceProcess(
        tmp_path / "service",
        topic=topic_name("canary"),
        mm2=running.properties_file,
        lag={"commits": "topic"},
    ) as service:
        yield Scene(service, client, topic)


class Scene:
    """What is asked of the service, and of the machine about its processes."""

    def __init__(self, service, client, topic):
        self.service, self.topic = service, topic
        self._producer = Producer(client)

    def write(self):
        for partition in (0, 1):
            self._producer.produce(self.topic, b"x", partition=partition)
        self._producer.flush(10)

    def offsets(self, flow="A->B"):
        status, body = self.service.get(f"/api/v1/flows/{flow}/offsets")
        with contextlib.suppress(ValueError):
            return {"http": status, **json.loads(body)}
        return {"http": status}

    def ingest(self):
        with contextlib.suppress(OSError):
            path = Path(f"/proc/{self.service.pid}/task/{self.service.pid}/children")
            for one in path.read_text().split():
                if b"lagmon" in Path(f"/proc/{one}/cmdline").read_bytes():
                    return int(one)
        return None

    def reload(self, how):
        change(self.service, how)
        self.service.signal(signal.SIGHUP)

    def comes_back(self, killed):
        """Write on until another process tells that all is well, with no alarm; return how long it was blind."""
        began, blind_s, last = time.monotonic(), 0.0, time.monotonic()

        def look():
            nonlocal blind_s, last
            self.write()
            found, now = self.offsets(), time.monotonic()
            assert found.get("verdict") in (None, "unknown", "healthy"), found
            if found.get("verdict") != "healthy":
                blind_s += now - last
            last = now
            return self.ingest() not in (None, killed) and found.get("verdict") == "healthy"

        eventually(look, DEADLINE_S, what="healthy by another process", every_s=0.2)
        print(f"blind for {blind_s:.1f} s, back after {time.monotonic() - began:.1f} s")
        return blind_s


def groups(text):
    return lambda document: document["lag"].update(groups=text)


@pytest.mark.long
def test_other_orders_reach_it_and_nothing_alarms(scene):
    service = scene.service
    service.is_healthy()
    eventually(lambda: scene.write() or scene.offsets().get("verdict") == "healthy", DEADLINE_S, every_s=0.5)
    since_ms = moment_ms(scene.offsets()["since"])
    first = scene.ingest()
    said = len(service.said)

    scene.reload(lambda document: document["canary"].update(max_partitions=7))
    eventually(lambda: "canary.max_partitions: changed" in service.logged(), 20)
    time.sleep(2)
    assert scene.ingest() == first

    scene.reload(groups("shop-.*"))
    assert scene.comes_back(first) <= BLIND_S
    second = scene.ingest()
    assert moment_ms(scene.offsets()["since"]) == since_ms  # it has been well all the time

    scene.reload(lambda document: document.update(flows={"B->A": {"topics": "no-such"}}))
    os.kill(second, signal.SIGKILL)  # in the middle of it
    assert scene.comes_back(second) <= BLIND_S
    eventually(lambda: scene.offsets("B->A")["http"] == 200, 20)
    third = scene.ingest()

    scene.reload(lambda document: document["lag"].update(commits="off"))
    eventually(lambda: scene.ingest() is None and scene.offsets()["http"] == 404, 30)
    assert "lag_records" not in service.get("/metrics")[1]
    scene.reload(lambda document: document["lag"].update(commits="topic"))
    scene.comes_back(third)
    verdicts = {verdict for _, flow, verdict, _ in service.said[said:] if flow == "A->B"}
    assert verdicts == {"healthy"}

    scene.reload(groups(".*"))
    time.sleep(0.3)
    began = time.monotonic()
    service.signal(signal.SIGINT)  # right into it
    assert service.wait(deadline_s=30) == 0
    print(f"ended after {time.monotonic() - began:.1f} s")
    assert "Traceback" not in service.logged()
