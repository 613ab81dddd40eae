"""The service audits its groups: ready, ahead on the target, and with checkpoints that MirrorMaker stopped to write."""

from __future__ import annotations

import json

import pytest
import requests
from confluent_kafka import Consumer, TopicPartition

from deploy.drills.failovers import PARTITIONS, Reader, committed, traffic
from deploy.local import topics
from deploy.local.service import Service, flows_at
from tests.eventually import eventually
from tests.real.failover.test_failover import stage
from tests.real.orders import change
from tests.real.service.process import ServiceProcess

__all__ = ["stage"]

MIRROR, CHECKPOINTS = "mirror-source", "mirror-checkpoint"
SYNCING = {
    "connector.class": "org.apache.kafka.connect.mirror.MirrorCheckpointConnector",
    "checkpoints.topic.replication.factor": "1",
    "emit.checkpoints.interval.seconds": "1",
    "refresh.groups.interval.seconds": "2",
    "sync.group.offsets.enabled": "true",
    "sync.group.offsets.interval.seconds": "1",
}


def answered(url, path):
    return requests.get(f"{url}{path}", timeout=10).text


def status(service, group):
    """Return the status of a group by the API, None while it is not there."""
    document = json.loads(answered(service.url, f"/api/v1/failover?search={group}"))
    return next((one["status"] for one in document.get("groups", ())), None)


def commit(client, group, topic, offset):
    consumer = Consumer({**client, "group.id": group})
    try:
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    finally:
        consumer.close()


@pytest.fixture
def service(stage, tmp_path):
    _, running, _, _ = stage
    document = {
        "mm2": str(running.properties_file),
        "canary": {"mode": "off"},
        "failover": {"interval": "5s"},
    }
    made = Service(tmp_path / "service", document)
    made.start()
    try:
        eventually(lambda: flows_at(made.url), 60, what="the service")
        yield made
        problems = [line for line in made.lines() if line.get("level") in ("warning", "error")]
        assert [line for line in problems if "failover" in line["sentence"]] == []
    finally:
        made.stop()


def test_the_service_says_which_groups_are_ready(stage, service):
    pair, _, topic, group = stage
    source, target = pair.a.client_properties(), pair.b.client_properties()
    with traffic(source, topic), Reader(source, group, topic, protocol="classic") as reader:
        eventually(lambda: len(reader.read) > 500, 60, what="reading")
        eventually(
            lambda: len(committed(target, group, f"A.{topic}")) == PARTITIONS, 90, what="synced offsets"
        )
        eventually(lambda: status(service, group) == "ready", 60, what="ready")
    commit(target, group, f"A.{topic}", 100_000)
    eventually(lambda: status(service, group) == "out_of_range", 60, what="out of range")
    eventually(
        lambda: flows_at(service.url)["A->B"]["failover"]["groups_by_status"].get("out_of_range"),
        30,
        what="the flow's document",
    )
    assert "group ready to fail over to B" in flows_at(service.url)["A->B"]["parts"]["failover"]
    name = "mirrorwatch_failover_group_ready{"
    (line,) = (
        one
        for one in answered(service.url, "/metrics").splitlines()
        if one.startswith(name) and f'group="{group}"' in one
    )
    assert line.endswith(" 0")
    shown = answered(service.url, "/flows/A-%3EB")
    assert group in shown
    assert "out of range" in shown


@pytest.mark.long
def test_a_paused_checkpoint_connector_is_noticed(worker, kafka_pair, topic_name, tmp_path):
    source, topic, group = kafka_pair.a.client_properties(), topic_name("orders"), topic_name("billing")
    topics.create_topic(source, topic, partitions=PARTITIONS)
    worker.mirror(kafka_pair.a, kafka_pair.b, name=MIRROR, topics=topic)
    worker.mirror(kafka_pair.a, kafka_pair.b, name=CHECKPOINTS, topics=topic, settings=SYNCING)
    made = ServiceProcess(
        tmp_path / "service",
        topic=topic_name("canary"),
        canary={"mode": "off"},
        lag={"commits": "topic"},
        flows={"A->B": {"offsets": {"topic": worker.offsets_topic}}},
    )
    of_connect = {"url": worker.url, "connectors": [MIRROR, CHECKPOINTS]}
    change(made, lambda document: document.update(connect=of_connect, failover={"interval": "5s"}))
    with made as service, traffic(source, topic), Reader(source, group, topic, protocol="classic"):
        eventually(service.flows, 60, what="the service")
        eventually(lambda: status(service, group) == "ready", 120, what="ready")
        worker.ask("PUT", f"/connectors/{CHECKPOINTS}/pause")
        eventually(lambda: status(service, group) == "stale", 150, what="stale")
        worker.ask("PUT", f"/connectors/{CHECKPOINTS}/resume")
        eventually(lambda: status(service, group) == "ready", 60, what="ready again")
