"""The canary's topic is made anew, grows, or goes away under a running service and a running mirror."""

from __future__ import annotations

import json
import time

import pytest

from deploy.local import topics
from tests.eventually import eventually
from tests.real.census import census
from tests.real.service.process import ServiceProcess


@pytest.fixture
def topic(topic_name):
    return topic_name("canary")


@pytest.fixture
def watched(mirror, topic, tmp_path):
    """Give a service that watches A->B by a canary topic of this test's own, healthy."""
    running = mirror()
    with ServiceProcess(tmp_path / "service", topic=topic, mm2=running.properties_file) as one:
        one.is_healthy()
        yield one


def test_a_source_topic_that_is_deleted_comes_back_by_itself(watched, kafka_pair, topic):
    client = kafka_pair.a.client_properties()
    before = topics.topic_id(client, topic)
    had = watched.books()
    good = had["good"]
    topics.delete_topic(client, topic)
    eventually(lambda: topics.partition_count(client, topic) == 2, 20, what="the topic, made by the service")
    assert topics.topic_id(client, topic) != before
    eventually(lambda: watched.books()["good"] > good + 12, 40, what="good probes of the new topic")
    watched.is_healthy(deadline_s=40)
    books = watched.end()["A->B"]
    print(f"source deleted: {books}")
    assert "topic was re-created" in [line["sentence"] for line in watched.lines()]
    assert books["lost"] == books["confirmed"] == books["duplicated"] == books["corrupted"] == 0
    # A topic that is back before the next probe is due costs only the warm-up of the new one.
    assert any(books[name] > had[name] for name in ("unknown", "produce_failed", "skipped", "warmup"))
    assert not watched.verdicts() & {"losing", "altered", "repeating"}


def test_a_source_topic_that_somebody_makes_anew_is_followed(watched, kafka_pair, topic):
    client = kafka_pair.a.client_properties()
    good = watched.books()["good"]
    topics.recreate_topic(client, topic, partitions=2)
    eventually(lambda: watched.books()["good"] > good + 16, 60, what="good probes of the new topic")
    watched.is_healthy(deadline_s=40)
    books = watched.end()["A->B"]
    print(f"source re-created: {books}")
    assert books["lost"] == books["confirmed"] == books["duplicated"] == books["corrupted"] == 0
    assert not watched.verdicts() & {"losing", "altered", "repeating"}
    assert census(kafka_pair.a, kafka_pair.b, topic).source


def test_a_target_topic_that_is_made_anew_is_read_again(watched, kafka_pair, topic):
    good = watched.books()["good"]
    topics.recreate_topic(kafka_pair.b.client_properties(), f"A.{topic}", partitions=2)
    remade_ms = int(time.time() * 1000)
    eventually(lambda: watched.books()["good"] > good + 16, 60, what="good probes in the new topic")
    books = watched.end()["A->B"]
    print(f"target re-created: {books}; said {watched.since(0)}")
    found = census(kafka_pair.a, kafka_pair.b, topic)
    # Of those that the mirror sends again, the first copies went with the old topic.
    again = sum(json.loads(copy.value)["due_at_ms"] < remade_ms for copy in found.target)
    assert found.repeated <= books["duplicated"] <= found.repeated + again
    assert books["corrupted"] == books["misrouted"] == 0
    # What stood in the old topic had been seen there; only what fell between the two is gone for good.
    assert books["lost"] + books["confirmed"] <= len(found.missing)


def test_added_partitions_are_probed_too(watched, kafka_pair, topic):
    topics.add_partitions(kafka_pair.a.client_properties(), topic, total=4)
    eventually(lambda: watched.flow()["canary"]["partition_count"] == 4, 20)
    eventually(lambda: topics.partition_count(kafka_pair.b.client_properties(), f"A.{topic}") == 4, 30)
    watched.is_healthy(good=16, deadline_s=40)
    books = watched.end()["A->B"]
    print(f"partitions added: {books}")
    found = census(kafka_pair.a, kafka_pair.b, topic)
    assert found.missing == []
    assert {copy.partition for copy in found.target} == {0, 1, 2, 3}
    assert books["lost"] == books["confirmed"] == books["unknown"] == books["skipped"] == 0
    assert books["duplicated"] == found.repeated
    assert not watched.verdicts() & {"losing", "altered", "repeating"}


def test_a_control_topic_that_is_deleted_is_made_anew_and_blames_nobody(watched, kafka_pair):
    client = kafka_pair.b.client_properties()
    before = topics.topic_id(client, "__mirrorwatch-control")
    topics.delete_topic(client, "__mirrorwatch-control")
    eventually(lambda: topics.partition_count(client, "__mirrorwatch-control") == 1, 30)
    assert topics.topic_id(client, "__mirrorwatch-control") != before
    good = watched.metric("control_probes_total", kafka_cluster="B", outcome="good")
    eventually(
        lambda: watched.metric("control_probes_total", kafka_cluster="B", outcome="good") >= good + 3, 20
    )
    assert watched.metric("kafka_cluster_up", kafka_cluster="B") == 1
    assert watched.verdicts() <= {"unknown", "healthy"}
    watched.end()
