"""The service on a cluster with TLS, SCRAM and an authorizer: end to end, and every way to be refused."""

from __future__ import annotations

import time

import pytest

from deploy.local import topics
from deploy.local.mirror import MirrorMaker
from deploy.local.security import jaas_line
from tests.conftest import SECURE_USERS
from tests.eventually import eventually
from tests.real.service.process import ServiceProcess

WATCHER = "User:watcher"


@pytest.fixture
def topic(topic_name):
    return topic_name("canary")


def secret_is_nowhere(service, *secrets):
    said = (
        service.logged() + service.get("/")[1] + service.get("/metrics")[1] + service.get("/api/v1/flows")[1]
    )
    for secret in secrets:
        assert secret not in said


@pytest.mark.long
def test_over_tls_and_scram_from_the_mirrors_own_file(secure_broker, kafka_pair, topic, tmp_path):
    mirror = MirrorMaker(
        (secure_broker, kafka_pair.b), tmp_path, flows=["S->B"], settings={"S->B.topics": topic}
    )
    with ServiceProcess(tmp_path / "service", topic=topic, mm2=mirror.properties_file) as service:
        try:
            # The service makes the topic, so that the mirror finds one to copy.
            eventually(
                lambda: topics.partition_count(secure_broker.client_properties(), topic) == 2, 30, what=topic
            )
            mirror.start()
            service.is_healthy(flow="S->B", deadline_s=60)
            assert service.metric("kafka_cluster_up", kafka_cluster="S") == 1
            assert service.problems() == {}
            secret_is_nowhere(service, SECURE_USERS["admin"])
            books = service.end()["S->B"]
            assert books["lost"] == books["overdue"] == books["produce_failed"] == books["unknown"] == 0
        finally:
            mirror.kill()


def test_a_wrong_password_is_told_once_and_blames_no_mirror(secure_broker, kafka_pair, topic, tmp_path):
    wrong = "geheim-und-falsch"
    clusters = {
        "S": secure_broker.java_properties() | {"sasl.jaas.config": jaas_line("admin", wrong)},
        "B": kafka_pair.b.client_properties(),
    }
    flows = {"S->B": {}, "B->S": {}}
    with ServiceProcess(tmp_path / "service", topic=topic, clusters=clusters, flows=flows) as service:
        eventually(lambda: service.get("/-/ready")[0] == 200, 20)
        problems = eventually(service.problems, 10)
        assert "does not accept the credentials" in problems["S"]
        assert service.metric("kafka_cluster_up", kafka_cluster="S") == 0
        assert service.metric("kafka_cluster_up", kafka_cluster="B") == 1
        assert service.metric("collector_errors_total", kafka_cluster="S", collector="cluster") >= 1
        (cluster,) = [one for one in service.answer()["clusters"] if one["kafka_cluster"] == "S"]
        assert cluster["state"] == "refused"
        time.sleep(2)  # whatever would be said again and again is said by now
        assert [one.count("credentials") for one in service.warned("S")] == [1]
        assert "does not accept the credentials" in service.get("/")[1]
        assert service.flow("S->B")["verdict"] == "unknown"
        assert service.verdicts("B->S") <= {"unknown"}
        secret_is_nowhere(service, wrong)
        began = time.monotonic()
        service.end()
        assert time.monotonic() - began < 15


def test_rights_that_are_missing_and_then_granted(secure_broker, kafka_pair, rights, topic, tmp_path):
    secure = secure_broker.client_properties()
    remote = f"B.{topic}"
    clusters = {"S": secure_broker.java_properties("watcher"), "B": kafka_pair.b.client_properties()}
    flows = {"S->B": {}, "B->S": {}}
    topics.create_topic(secure, remote, partitions=1)
    with ServiceProcess(tmp_path / "service", topic=topic, clusters=clusters, flows=flows) as service:
        # Nothing is granted: neither our topic nor the other one may even be looked at.
        eventually(lambda: "S: topics" in service.problems(), 30)
        assert "the principal may not do this with the topic" in service.problems()["S: topics"]
        assert "the principal may not do this" in service.flow("S->B")["canary"]["sentence"]
        assert "S: __mirrorwatch-control" in service.problems()
        assert service.metric("collector_errors_total", kafka_cluster="S", collector="topics") >= 1
        # Nor may the commits of groups be read: that is said once, with what is done instead.
        asked = lambda: service.metric("commits_source", kafka_cluster="S", source="admin")  # noqa: E731
        eventually(lambda: asked() == 1, 30, what="the Admin API asked about groups of S")
        assert service.metric("commits_source", kafka_cluster="B", source="topic") == 1
        said = [one["sentence"] for one in service.lines() if "no permission to read" in one["sentence"]]
        assert [one.count("no permission to read __consumer_offsets") for one in said] == [1], said
        assert "Grant the principal Read on the topic __consumer_offsets" in said[0]
        flow = service.becomes("unknown", flow="B->S", cause="prober", deadline_s=10)
        assert f"it may not read {remote} on S" in flow["sentence"]
        # The topic may be looked at, but is not there and may not be made.
        rights.grant(topic, "DESCRIBE")
        eventually(
            lambda: f"creating the topic {topic} failed" in service.flow("S->B")["canary"]["sentence"], 15
        )
        eventually(lambda: topic in service.problems().get("S: topics", ""), 15)
        # It is there, and may not be written to.
        topics.create_topic(secure, topic, partitions=1)
        refused = lambda: service.metric("collector_errors_total", kafka_cluster="S", collector="sender")  # noqa: E731
        eventually(lambda: refused() >= 2, 30)
        print(service.problems()[f"S: writing {topic}"])
        assert "check --acls" in service.problems()[f"S: writing {topic}"]
        assert service.verdicts("S->B") <= {"unknown"}
        # The other topic may be looked at and not be read.
        rights.grant(remote, "DESCRIBE")
        eventually(lambda: f"S: reading {remote}" in service.problems(), 20)
        flow = service.becomes("unknown", flow="B->S", cause="prober", deadline_s=10)
        assert "may not do this" in flow["sentence"]
        assert service.metric("collector_errors_total", kafka_cluster="S", collector="tap") >= 1
        # All is granted, and all of it is over by itself.
        rights.grant(topic, "READ", "WRITE")
        rights.grant(remote, "READ")
        over = [f"S: writing {topic}", f"S: reading {remote}", f"S: reading {topic}", "S: topics"]
        eventually(lambda: not set(over) & set(service.problems()), 30, what="the end of the problems")
        before = refused()
        time.sleep(3)
        assert refused() == before
        for where in over:
            assert len(service.warned(where)) <= 3, service.warned(where)
        assert service.verdicts("S->B") | service.verdicts("B->S") <= {"unknown"}
        service.end()


def test_topics_that_may_only_be_used_are_asked_for(kafka_pair, topic, tmp_path):
    client = kafka_pair.a.client_properties()
    clusters = {"A": client, "B": kafka_pair.b.client_properties()}
    with ServiceProcess(
        tmp_path / "service",
        topic=topic,
        clusters=clusters,
        flows={"A->B": {}},
        canary={"mode": "precreated"},
    ) as service:
        eventually(lambda: "A: topics" in service.problems(), 30)
        assert f"the topic {topic} does not exist on A" in service.problems()["A: topics"]
        assert "canary.mode is precreated" in service.flow()["canary"]["sentence"]
        assert service.metric("collector_errors_total", kafka_cluster="A", collector="topics") >= 1
        time.sleep(3)
        assert topics.partition_count(client, topic) == 0
        assert len(service.warned("A: topics")) == 1
        assert service.metric("kafka_cluster_up", kafka_cluster="A") == 1
        topics.create_topic(client, topic, partitions=3)
        eventually(lambda: service.flow()["canary"]["state"] == "running", 15)
        eventually(lambda: "A: topics" not in service.problems(), 15)
        eventually(lambda: service.flow()["canary"]["partition_count"] == 3, 5)
        service.end()
