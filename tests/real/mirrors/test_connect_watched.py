"""A mirror on a real Kafka Connect worker: how its tasks are is asked, or read, and shows in the verdict."""

from __future__ import annotations

import contextlib
import json
import re

import pytest
from confluent_kafka import Producer

from deploy.local.service import cause_of
from deploy.local.topics import create_topic
from tests.eventually import eventually
from tests.real.orders import change
from tests.real.service.process import ServiceProcess

DEADLINE_S = 90
NAME, OTHER = "mirror-source", "other-source"
TOO_SMALL = {"producer.override.max.request.size": "10"}  # its task cannot write: every record is larger


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
            return after_a_record(service, producer, topic)

        eventually(lambda: keeps_up(flow()), DEADLINE_S, what="healthy, and a cadence", every_s=0.5)

        worker.ask("PUT", f"/connectors/{NAME}/pause")
        paused = "is PAUSED: it replicates nothing until it is resumed."
        where = f"Kafka Connect: {NAME}"
        eventually(lambda: service.problems().get(where) == paused, 60, what="that it is paused", every_s=0.5)
        found = eventually(
            lambda: cause_of(told := flow()) == "paused" and told, 120, what="paused", every_s=0.5
        )
        assert f"The connector {NAME} is PAUSED since" in found["sentence"]
        worker.ask("PUT", f"/connectors/{NAME}/resume")
        eventually(lambda: where not in service.problems(), 60, what="that it goes on", every_s=0.5)
        eventually(lambda: flow().get("verdict") == "healthy", DEADLINE_S, what="healthy again", every_s=0.5)

        worker.mirror(kafka_pair.a, kafka_pair.b, name=NAME, topics=topic, settings=TOO_SMALL)
        found = eventually(
            lambda: cause_of(told := flow()) == "task_failed" and told, 120, what="failed", every_s=0.5
        )
        assert f"Task 0 of {NAME} is FAILED since" in found["sentence"]
        assert service.problems()[where].startswith(
            "has 1 of its 1 tasks that is FAILED, as its worker reports"
        )

        worker.ask("DELETE", f"/connectors/{NAME}")
        eventually(
            lambda: "does not know this name" in service.problems().get(where, ""),
            60,
            every_s=0.5,
        )
        worker.stop()
        eventually(
            lambda: "cannot be reached" in service.problems().get("Kafka Connect", ""), 60, every_s=0.5
        )
        service.end()


@pytest.mark.long
def test_a_failed_task_is_told_from_the_topic_of_states_where_nothing_else_tells_it(
    worker, kafka_pair, topic_name, tmp_path
):
    client, topic, others = kafka_pair.a.client_properties(), topic_name("orders"), topic_name("others")
    for name in (topic, others):
        create_topic(client, name)
    producer = Producer(client)
    worker.mirror(kafka_pair.a, kafka_pair.b, name=NAME, topics=topic)
    worker.mirror(kafka_pair.a, kafka_pair.b, name=OTHER, topics=others, settings=TOO_SMALL)
    eventually(lambda: states(worker) == ["RUNNING"], DEADLINE_S, what="a task that runs", every_s=0.5)
    connector = tmp_path / "connector.json"
    connector.write_text(json.dumps(worker.ask("GET", f"/connectors/{NAME}")), encoding="utf-8")
    made = ServiceProcess(
        tmp_path / "service",
        topic=topic_name("canary"),
        mm2=connector,
        canary={"mode": "off"},
        lag={"commits": "topic"},
        flows={"A->B": {"offsets": {"topic": worker.offsets_topic, "status_topic": worker.status_topic}}},
    )
    with made as service:

        def flow():
            return after_a_record(service, producer, topic)

        # The other connector of the worker has failed, and that is none of this flow's business.
        producer.produce(others, b"x")
        producer.flush(10)
        eventually(lambda: states(worker, OTHER) == ["FAILED"], DEADLINE_S, what="the other", every_s=0.5)
        eventually(lambda: keeps_up(flow()), DEADLINE_S, what="healthy, and a cadence", every_s=0.5)

        worker.mirror(kafka_pair.a, kafka_pair.b, name=NAME, topics=topic, settings=TOO_SMALL)
        found = eventually(
            lambda: cause_of(told := flow()) == "task_failed" and told, 120, what="failed", every_s=0.5
        )
        assert re.search(f"Task 0 of {NAME} is FAILED since .*UTC.*: ", found["sentence"])
        assert OTHER not in found["sentence"]
        assert [where for where in service.problems() if where.startswith("Kafka Connect")] == []

        worker.mirror(kafka_pair.a, kafka_pair.b, name=NAME, topics=topic)
        eventually(lambda: flow().get("verdict") == "healthy", DEADLINE_S, what="healthy again", every_s=0.5)
        service.end()


@pytest.mark.long
def test_what_no_task_of_a_connector_carries_any_more_and_what_one_carries_anew_is_told(
    worker, kafka_pair, topic_name, tmp_path
):
    client, topic, others = kafka_pair.a.client_properties(), topic_name("orders"), topic_name("others")
    added = topic_name("added")
    for name in (topic, others, added):
        create_topic(client, name)
    producer = Producer(client)
    worker.mirror(kafka_pair.a, kafka_pair.b, name=NAME, topics=f"{topic},{others}")
    eventually(lambda: states(worker) == ["RUNNING"], DEADLINE_S, what="a task that runs", every_s=0.5)
    made = ServiceProcess(
        tmp_path / "service",
        topic=topic_name("canary"),
        canary={"mode": "off"},
        lag={"commits": "topic"},
        flows={"A->B": {"offsets": {"topic": worker.offsets_topic, "config_topic": worker.config_topic}}},
    )
    change(made, lambda document: document.update(connect={"url": worker.url, "connectors": [NAME]}))
    with made as service:

        def flow():
            for each in (others, added):
                producer.produce(each, b"x")
            return after_a_record(service, producer, topic)

        eventually(lambda: keeps_up(flow()), DEADLINE_S, what="healthy, and a cadence", every_s=0.5)
        # Somebody takes the topic out of the connector while the service runs.
        worker.mirror(kafka_pair.a, kafka_pair.b, name=NAME, topics=others)
        found = eventually(
            lambda: cause_of(told := flow()) == "not_mirrored" and told, 120, what="told", every_s=0.5
        )
        assert found["verdict"] == "stalled"
        assert f"No task of {NAME} is assigned to it" in found["sentence"]
        assert topic in found["sentence"]

        worker.mirror(kafka_pair.a, kafka_pair.b, name=NAME, topics=f"{topic},{others}")
        eventually(lambda: flow().get("verdict") == "healthy", DEADLINE_S, what="healthy again", every_s=0.5)
        # And another one is put in.
        worker.mirror(kafka_pair.a, kafka_pair.b, name=NAME, topics=f"{topic},{others},{added}")
        unwatched = f"leaves out as it was read here, so that nothing watches it: {added}."
        eventually(lambda: unwatched in flow().get("sentence", ""), 120, what="unwatched", every_s=0.5)
        service.end()


def after_a_record(service, producer, topic):
    """Return what is told of the flow by its offsets, with one more record to copy each time."""
    producer.produce(topic, b"x")
    producer.flush(10)
    with contextlib.suppress(ValueError):
        return json.loads(service.get("/api/v1/flows/A->B/offsets")[1])
    return {}


def keeps_up(told):
    # How often its worker writes offsets has to be seen: it is taken for a minute until then.
    return told.get("verdict") == "healthy" and told["commit_interval_s"] < 10


def states(worker, name=NAME):
    with contextlib.suppress(OSError):
        tasks = worker.ask("GET", f"/connectors/{name}/status")["tasks"]
        return [one["state"] for one in tasks]
    return []
