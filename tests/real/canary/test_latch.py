"""A probe that comes back to its source: nothing more is sent, over a sudden end too, until a person says so."""

from __future__ import annotations

import time

import pytest

from tests.eventually import eventually
from tests.real.census import read_all
from tests.real.orders import change, post
from tests.real.service.process import ServiceProcess

RESUME = "/api/v1/flows/A:B/canary/resume"
TOKEN = "operators-only"


@pytest.fixture
def circle(mirror, topic_name):
    """Give a function that starts a mirror which keeps names, both ways; what goes back is its argument.

    A flow that is merely left out goes on: its connector is still in the worker's configuration topic.
    """
    settings = {
        "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        "A->B.topics": topic_name("canary"),
    }
    return lambda back: mirror({**settings, "B->A.topics": back}, flows=("A->B", "B->A"))


def sent_to(broker, topic):
    """Return what was ever sent to a topic, each probe once however often it went round."""
    stamps = [copy.stamp for copy in read_all(broker, topic)]
    return {(stamp["incarnation"], stamp["partition"], stamp["sequence"]) for stamp in stamps}


def rested(broker, topic):
    """Wait until nothing goes round any more: for three seconds nothing was written."""
    sizes = []

    def look():
        sizes.append(len(read_all(broker, topic)))
        time.sleep(1.0)
        return len(sizes) > 3 and len(set(sizes[-4:])) == 1

    eventually(look, 60, what="the loop ends")
    time.sleep(1.0)  # what was written last is read by then


@pytest.mark.long
def test_a_loop_is_latched_off_until_an_operator_resumes(circle, kafka_pair, topic_name, tmp_path):
    topic = topic_name("canary")
    circle(topic)
    clusters = {"A": kafka_pair.a.client_properties(), "B": kafka_pair.b.client_properties()}
    flows = {"A->B": {"policy": "identity", "topics": topic}}  # of the way back this service knows nothing
    service = ServiceProcess(tmp_path / "service", topic=topic, clusters=clusters, flows=flows)
    change(service, lambda document: document["http"].update(tokens={"operator": TOKEN}))
    with service:
        service.becomes("repeating", cause="looping", deadline_s=90)
        eventually(lambda: service.flow()["canary"]["state"] == "latched", 10)
        time.sleep(1.0)  # what was under way when it fell
        before, skipped = sent_to(kafka_pair.a, topic), service.books()["skipped"]
        eventually(lambda: service.books()["skipped"] >= skipped + 8, 20, what="ticks are counted")
        assert sent_to(kafka_pair.a, topic) == before
        said = service.flow()
        assert (said["verdict"], said["cause"]["code"]) == ("repeating", "looping")
        assert f"No canary records are sent to {topic} on A since " in said["canary"]["sentence"]
        assert "came back to its source" in said["canary"]["sentence"]
        books = said["counters"]
        others = (
            "produce_failed",
            "produce_unknown",
            "warmup",
            "skipped",
            "abandoned",
            "unknown",
            "in_flight",
        )
        assert books["expected"] == books["concluded"] + sum(books[name] for name in others)

        service.kill()
        service.start()
        eventually(lambda: service.flow().get("canary", {}).get("state") == "latched", 30)
        eventually(lambda: service.books()["skipped"] >= 4, 30)
        assert sent_to(kafka_pair.a, topic) == before
        assert service.flow()["verdict"] == "repeating"

        circle("no-topic-of-this-name")
        rested(kafka_pair.a, topic)
        assert post(service, RESUME)[0] == 401
        assert post(service, RESUME, token="a guess")[0] == 401
        assert post(service, "/api/v1/flows/A:C/canary/resume", token=TOKEN)[0] == 404
        assert service.flow()["canary"]["state"] == "latched"
        status, answer = post(service, RESUME, token=TOKEN)
        assert (status, answer["lifted"]["kafka_cluster"], answer["lifted"]["topic"]) == (200, "A", topic)
        status, answer = post(service, RESUME, token=TOKEN)
        assert status == 409
        assert answer["detail"].startswith("no latch to lift")
        service.is_healthy()
        lifted = [line for line in service.lines() if line["sentence"] == "latch lifted"]
        assert [line["by"] for line in lifted] == ["127.0.0.1"]
        books = service.end()["A->B"]
    assert books["lost"] == 0
    assert books["good"] > 0
    assert len({incarnation for incarnation, _, _ in sent_to(kafka_pair.a, topic)}) == 2
