"""Two shards of a service, led by two of three replicas, on a real PostgreSQL: any replica answers for all."""

from __future__ import annotations

import html
import json
import time
import urllib.error

import pytest
from confluent_kafka import Consumer, TopicPartition

from bench.replica import Replica
from deploy.local import topics
from lagmon.arrays.java_hash import partition_of
from tests.databases import new_database
from tests.eventually import eventually

FLOWS = ("A->B", "B->A")
CANARY = {"interval": "250ms", "threshold": "2s", "horizon": "8s"}
FLOW_S, GROUP_S = 10.0, 30.0  # within this, another replica watches
GROUPS = [f"sharded-{number}" for number in range(12)]


def document(replica, path):
    return json.loads(replica.get(path))


@pytest.fixture
def replicas(postgresql, mirror, kafka_pair, topic_name, tmp_path):
    topic = topic_name("orders")
    client = kafka_pair.a.client_properties()
    topics.create_topic(client, topic)
    for group in GROUPS:
        consumer = Consumer({**client, "group.id": group, "log_level": 0})
        consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
        consumer.close()
    settings = {"A->B.topics": ".*canary.*", "B->A.topics": ".*canary.*"}
    mm2 = mirror(settings, flows=FLOWS).properties_file
    url = new_database(postgresql)
    found = [
        Replica(
            tmp_path,
            name,
            store=url,
            group="all",
            shards=2,
            mm2=mm2,
            canary=CANARY,
            lag={"commits": "topic"},
        )
        for name in ("one", "two", "three")
    ]
    yield found
    for one in found:
        one.kill()


def shards(replicas):
    """Return the shards that are led, in order."""
    return sorted(filter(None, (one.shard for one in replicas if one.running)))


def flows_of(replicas):
    """Return which flows are watched by which replica, by their series."""
    return {one.replica: one.labels("mirrorwatch_flow_info", "flow") for one in replicas if one.running}


def groups_of(replicas):
    return [
        (group, one.replica)
        for one in replicas
        if one.running
        for group in set(one.labels("mirrorwatch_group_status", "group"))
        if group in GROUPS
    ]


def healthy(replica):
    try:
        found = {one["flow"]: one["verdict"] for one in document(replica, "/api/v1/flows")["flows"]}
    except (OSError, urllib.error.HTTPError):
        return False
    return found == dict.fromkeys(FLOWS, "healthy")


def watched_once(replicas):
    groups = groups_of(replicas)
    return sorted(group for group, _ in groups) == sorted(GROUPS)


def test_any_replica_answers_for_all_and_a_standby_takes_over(replicas, kafka_pair):
    for one in replicas:
        one.start()
    eventually(lambda: shards(replicas) == ["1", "2"], 60, what="two leaders")
    eventually(lambda: all(map(healthy, replicas)), 120, what="both flows healthy, by every replica")
    watching = flows_of(replicas)
    assert sorted(map(sorted, watching.values())) == [[], ["A->B"], ["B->A"]]
    eventually(lambda: watched_once(replicas), 60, what="each group by one replica")
    by_shard = {one.shard: one.replica for one in replicas}
    count = topics.partition_count(kafka_pair.a.client_properties(), "__consumer_offsets")
    for group, name in groups_of(replicas):
        assert name == by_shard[str(partition_of(group, count) % 2 + 1)]

    for one in replicas:
        page = one.get("/").decode()
        for flow in FLOWS:
            assert f'href="/flows/{flow.replace("->", ":")}"' in page
        listed = document(one, "/api/v1/groups?kafka_cluster=A&limit=5&search=sharded-")
        assert listed["count"] == len(GROUPS)
        names = [group["group"] for group in listed["groups"]]
        second = document(one, "/api/v1/groups?kafka_cluster=A&limit=100&offset=5&search=sharded-")
        names += [group["group"] for group in second["groups"]]
        assert sorted(names) == sorted(GROUPS)
        for group in GROUPS[:4]:
            assert document(one, f"/api/v1/groups/A/{group}")["group"] == group
        for flow in FLOWS:
            assert document(one, f"/api/v1/flows/{flow}")["flow"] == flow
            assert one.get(f"/flows/{flow}")
        burrow = document(one, "/v3/kafka/A/consumer")
        assert set(GROUPS) <= set(burrow["consumers"])

    first = next(one for one in replicas if one.shard == "1")
    others = [one for one in replicas if one is not first]
    first.kill()
    began = time.monotonic()
    eventually(lambda: shards(others) == ["1", "2"], 60, what="a new leader")
    eventually(lambda: all(map(healthy, others)), 60, what="both flows healthy again")
    assert time.monotonic() - began < FLOW_S + 2
    eventually(lambda: watched_once(others), 60, what="each group by one replica again")
    assert time.monotonic() - began < GROUP_S

    last = next(one for one in others if one.shard == "2")
    left = next(one for one in others if one.shard == "1")
    last.stop()
    page = eventually(lambda: shown(left, "shard 2 of 2"), 20, what="the shard without a leader on the page")
    assert "B->A" in page or "A->B" in page
    assert len(left.labels("mirrorwatch_flow_info", "flow")) == 1
    for one in replicas:
        assert "Traceback" not in one.logged()


def shown(replica, text):
    page = html.unescape(replica.get("/").decode())
    return page if text in page else ""
