"""A mirror on a real Kafka Connect worker: how its tasks are is asked while it runs, and shows in the verdict."""

from __future__ import annotations

import contextlib
import json

import pytest
from confluent_kafka import Producer

from deploy.local.connect import ConnectWorker
from deploy.local.topics import create_topic
from tests.eventually import eventually
from tests.real.orders import change
from tests.real.service_process import ServiceProcess

DEADLINE_S = 90
NAME = "mirror-source"


@pytest.fixture
def worker(no_mirror, kafka_pair, tmp_path):
    made = ConnectWorker(kafka_pair.b, tmp_path / "connect")
    made.start()
    try:
        made.wait_ready()
        yield made
    finally:
        made.kill()


@pytest.mark.long
def test_its_tasks_and_its_end_are_told(worker, kafka_pair, topic_name, tmp_path):
    client, topic = kafka_pair.a.client_properties(), topic_name("orders")
    create_topic(client, topic)
    producer = Producer(client)
    worker.mirror(kafka_pair.a, kafka_pair.b, name=NAME, topics=topic)
    eventually(lambda: states(worker) == ["RUNNING"], DEADLINE_S, what="a task that runs", every_s=0.5)
    folder = tmp_path / "service"
    made = ServiceProcess(
        folder,
        topic=topic_name("canary"),
        canary={"mode": "off"},
        lag={"commits": "topic"},
        flows={"A->B": {"offsets": {"topic": worker.offsets_topic}}},
    )
    change(made, lambda document: document.update(connect={"url": worker.url, "connectors": [NAME]}))
    with made as service:

        def flow():
            producer.produce(topic, b"x")
            producer.flush(10)
            with contextlib.suppress(ValueError):
                return json.loads(service.get("/api/v1/flows/A->B/offsets")[1])
            return {}

        def keeps_up():
            # How often its worker writes offsets has to be seen: it is taken for a minute until then.
            told = flow()
            return told.get("verdict") == "healthy" and told["cadence_s"] < 10

        eventually(keeps_up, DEADLINE_S, what="healthy, and a cadence", every_s=0.5)

        worker.ask("PUT", f"/connectors/{NAME}/pause")
        paused = "is PAUSED: it carries nothing until it is resumed."
        where = f"Kafka Connect: {NAME}"
        eventually(lambda: service.problems().get(where) == paused, 60, what="that it is paused", every_s=0.5)
        found = eventually(
            lambda: (told := flow()).get("cause") == "paused" and told, 120, what="paused", every_s=0.5
        )
        assert f"The connector {NAME} is PAUSED since" in found["sentence"]
        worker.ask("PUT", f"/connectors/{NAME}/resume")
        eventually(lambda: where not in service.problems(), 60, what="that it goes on", every_s=0.5)
        eventually(lambda: flow().get("verdict") == "healthy", DEADLINE_S, what="healthy again", every_s=0.5)

        # A task that cannot write: the target refuses records as large as this one.
        worker.mirror(
            kafka_pair.a,
            kafka_pair.b,
            name=NAME,
            topics=topic,
            settings={"producer.override.max.request.size": "10"},
        )
        found = eventually(
            lambda: (told := flow()).get("cause") == "task_failed" and told, 120, what="failed", every_s=0.5
        )
        assert f"Task 0 of {NAME} is FAILED since" in found["sentence"]
        assert service.problems()[where].startswith(
            "has 1 of its 1 tasks that is FAILED, as its worker tells"
        )

        worker.ask("DELETE", f"/connectors/{NAME}")
        eventually(
            lambda: "there is no connector of this name at" in service.problems().get(where, ""),
            60,
            every_s=0.5,
        )
        worker.stop()
        eventually(
            lambda: "cannot be reached" in service.problems().get("Kafka Connect", ""), 60, every_s=0.5
        )
        service.end()


def states(worker):
    with contextlib.suppress(OSError):
        tasks = worker.ask("GET", f"/connectors/{NAME}/status")["tasks"]
        return [one["state"] for one in tasks]
    return []
