"""What MirrorMaker says of itself, beside the canary: heartbeats, and which task carries which partitions.

And what brokers do to our own clients: quotas.
"""

from __future__ import annotations

import re
import time
from contextlib import contextmanager

import pytest

from deploy.local import topics
from deploy.local.quotas import limit_clients
from tests.eventually import eventually
from tests.real.service.process import ServiceProcess

AB = {"flow": "A->B", "source_cluster": "A", "target_cluster": "B"}


@pytest.fixture
def topic(topic_name, kafka_pair):
    """Name a canary's topic of four partitions: two for each of the mirror's tasks."""
    name = topic_name("canary")
    topics.create_topic(kafka_pair.a.client_properties(), name, partitions=4)
    return name


@pytest.fixture
def service(mirror, topic, tmp_path):
    running = mirror()
    with ServiceProcess(tmp_path / "service", topic=topic, mm2=running.properties_file) as one:
        yield one


@pytest.fixture
def brokers(kafka_pair):
    return kafka_pair.brokers


def age_s(service):
    return service.metric("mm2_heartbeat_age_seconds", **AB)


@pytest.mark.long
def test_the_age_of_the_newest_heartbeat_follows_the_mirror(service, mirror, kafka_pair):
    service.is_healthy()
    eventually(lambda: (age_s(service) or 99) < 4, 30, what="a young heartbeat")
    assert service.flow()["heartbeat_age_s"] < 5
    at = service.metric("collector_last_success_timestamp_seconds", kafka_cluster="B", collector="heartbeats")
    assert abs(time.time() - at) < 10
    try:
        mirror.running.freeze()
        eventually(lambda: age_s(service) > 6, 20, what="an old heartbeat")
        assert "s heartbeat: " in service.get("/")[1]
    finally:
        mirror.running.thaw()
    eventually(lambda: age_s(service) < 4, 60, what="a young heartbeat after the thaw")
    # A reader of a topic that was made anew would see nothing any more.
    client = kafka_pair.b.client_properties()
    topics.delete_topic(client, "A.heartbeats")
    eventually(lambda: topics.partition_count(client, "A.heartbeats") == 1, 60, what="its coming back")
    time.sleep(7)  # whatever was read of the old one is older than what is asked for now
    eventually(lambda: (age_s(service) or 99) < 4, 30, what="a heartbeat out of the new topic")
    assert service.metric("collector_errors_total", kafka_cluster="A", collector="heartbeats") == 0
    service.end()


def test_a_task_that_stands_is_named_with_its_partitions(service, mirror, topic):
    service.is_healthy(good=16)
    try:
        mirror.running.switch.on("hang", topics=re.escape(topic), partition=1)
        found = service.becomes("stalled", cause="task_stuck", deadline_s=40)
        named = r"so task MirrorSourceConnector-[01] \(partitions 1 and 3\) hangs or is throttled"
        found = eventually(
            lambda: service.flow() if re.search(named, service.flow()["sentence"]) else None,
            20,
            what=f"{named}; it says {found['cause']['sentence']}",
        )
        print(found["sentence"])
        (name,) = set(re.findall(r"MirrorSourceConnector-\d", found["sentence"]))
        rows = [row["sentence"] for row in found["evidence"] if row["partition"] in (1, 3)]
        assert rows
        assert all(f"; assigned to {name} of the mirror" in row for row in rows)
    finally:
        mirror.running.switch.off()
    service.is_healthy(deadline_s=60)
    service.end()


@pytest.mark.long
def test_nothing_else_of_the_mirrors_configuration_is_kept_or_shown(mirror, topic, tmp_path):
    hidden = "nobody-may-see-this"
    running = mirror(
        {"A->B.transforms.fault.to": hidden}
    )  # a property like any other, in every task's record
    with ServiceProcess(tmp_path / "service", topic=topic, mm2=running.properties_file) as service:
        service.is_healthy()
        try:
            running.switch.on("hang", topics=re.escape(topic), partition=1)
            eventually(
                lambda: "MirrorSourceConnector-" in str(service.flow()["cause"]), 60, what="a named task"
            )
        finally:
            running.switch.off()
        shown = "".join(service.get(path)[1] for path in ("/", "/api/v1/flows", "/metrics"))
        assert hidden not in shown + service.logged()
        assert "HmacSHA256" not in shown + service.logged()  # of the worker's session key
        service.end()


@contextmanager
def quota(broker, client_id, **config):
    """Hold this client back for a while, as an operator does with kafka-configs."""
    limit_clients(broker.bootstrap, client_id, config)
    try:
        yield
    finally:
        limit_clients(broker.bootstrap, client_id, dict.fromkeys(config))


@pytest.mark.long
@pytest.mark.parametrize(
    ("client", "client_id", "limit"),
    [
        ("sender", "mirrorwatch-A-canary", {"producer_byte_rate": 500}),
        ("tap", "mirrorwatch-B-tap", {"consumer_byte_rate": 500}),
    ],
)
def test_a_quota_on_the_canarys_own_client_is_counted_and_told(service, brokers, client, client_id, limit):
    alias = client_id.split("-")[1]
    service.is_healthy()
    held_back = lambda: service.metric("client_throttle_seconds_total", kafka_cluster=alias, client=client)  # noqa: E731
    assert held_back() == 0
    where = f"{alias}: quota of the {client}"
    assert where not in service.problems()
    with quota(brokers[alias], client_id, **limit):
        eventually(lambda: held_back() > 1, 40, what="time that it was held back")
        told = eventually(lambda: service.problems().get(where), 20, what="a problem that says so")
        print(held_back(), told)
        assert client_id in told
    assert "losing" not in service.verdicts()
    eventually(lambda: where not in service.problems(), 60, what="the end of it")
    service.end(deadline_s=30)
