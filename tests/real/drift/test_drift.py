"""Differences that are made on real clusters, with a real mirror that removes them again."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import yaml
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from deploy.drills.failovers import mirrorwatch
from deploy.local import topics
from deploy.local.mirror import MirrorMaker
from tests.eventually import eventually

if TYPE_CHECKING:
    from deploy.local.broker import Broker

MANY = 200
REFRESH_S = 60  # the topics of the test are older or younger


def drift(config, *arguments, status=None):
    """Return the kinds of the only flow."""
    (flow,) = json.loads(mirrorwatch("drift", config, "--json", *arguments, status=status))["flows"]
    return {one["kind"]: one for one in flow["kinds"]}


def differing(config, *, status=None, only=""):
    """Return what differs, of one kind or of all: kind, subject, what, source and target."""
    found = {
        (kind, each["subject"], each["what"], each["source"], each["target"])
        for kind, one in drift(config, status=status).items()
        for each in one["differences"]
        if only in ("", kind)
    }
    print(sorted(found, key=str))
    return found


def is_same(config):
    """Return whether nothing differs; prints what does."""
    found = drift(config)
    print({kind: (one["verdict"], one["differences"][:2]) for kind, one in found.items()})
    return all(one["verdict"] == "same" for one in found.values()) and found


def write(client, topic):
    producer = Producer(client)
    producer.produce(topic, b"x")
    assert producer.flush(20) == 0


def configured(folder, running, **more):
    path = folder / "mirrorwatch.yml"
    path.write_text(yaml.safe_dump({"mm2": str(running.properties_file), "canary": {"mode": "off"}} | more))
    return path


def test_differences_are_found_and_go_once_the_mirror_has_caught_up(kafka_pair, mirror, topic_name, tmp_path):
    source, target = kafka_pair.a.client_properties(), kafka_pair.b.client_properties()
    mine = topic_name("").removeprefix("-")
    orders, bills, gone, late, young, trap = (
        topic_name(word) for word in ("orders", "bills", "gone", "late", "young", "B.foo")
    )
    for name in (orders, bills, gone):
        topics.create_topic(source, name, partitions=2)
    many = [topic_name(f"many-{number:03}") for number in range(MANY)]
    admin = topics.admin_client(source)
    for made in admin.create_topics([NewTopic(name, 1) for name in many]).values():
        made.result(60)
    topics.alter_config(source, bills, {"retention.ms": "604800000", "min.insync.replicas": "1"})
    settings = {"A->B.topics": f".*-{mine}", "refresh.topics.interval.seconds": str(REFRESH_S)}
    running = mirror(settings, fresh=True)
    config = configured(tmp_path, running)
    found = eventually(lambda: is_same(config), 180, what="a target that does not differ")
    assert found["topic_missing"]["compared"] >= MANY + 3
    assert found["config"]["compared"] >= MANY + 3
    assert found["acl"]["note"] == "neither cluster has an authorizer"
    started = time.monotonic()
    assert differing(config, status=0) == set()
    print(f"drift of {MANY + 3} topics: {time.monotonic() - started:.1f} s")

    running.kill()
    topics.add_partitions(source, orders, total=3)
    topics.alter_config(source, bills, {"retention.ms": "86400000", "min.insync.replicas": "2"})
    topics.alter_config(target, f"A.{many[7]}", {"cleanup.policy": "compact"})
    topics.delete_topic(target, f"A.{gone}")
    for name in (late, young, trap):
        topics.create_topic(source, name, partitions=1)
    write(source, young)
    absent = ("topic", "exists", "missing")
    assert differing(config, status=1) == {
        ("partition_count", orders, "partitions", "3", "2"),
        ("config", bills, "retention.ms", "86400000", "604800000"),
        ("config", many[7], "cleanup.policy", "delete", "compact"),
        ("topic_missing", gone, *absent),
        ("topic_missing", late, *absent),
        ("topic_missing", trap, *absent),
    }
    missing = drift(config)["topic_missing"]
    # The mirror's own heartbeats may be as young.
    assert {one["subject"] for one in missing["remarks"]} - {"heartbeats"} == {young}
    print(mirrorwatch("drift", config, status=1))

    topics.delete_topic(source, trap)
    running.restart()
    eventually(lambda: is_same(config), 120, what="a target that does not differ any more")


@dataclass(frozen=True)
class Alias:
    """A name for a broker: two of them make a flow within one cluster, without another broker."""

    alias: str
    broker: Broker

    def java_properties(self, user=None):
        return self.broker.java_properties(user)


def test_acls_that_the_mirror_does_not_sync_or_that_are_removed(secure_broker, rights, topic_name, tmp_path):
    orders = topic_name("orders")
    topics.create_topic(secure_broker.client_properties(), orders, partitions=1)
    rights.grant(orders, "READ", user="reader")
    rights.grant(orders, "ALL", user="owner")
    rights.grant(orders, "WRITE", user="writer")
    rights.grant("orders", "READ", user="analyst", prefixed=True)
    sides = [Alias(alias, secure_broker) for alias in ("S", "T")]
    settings = {"S->T.topics": orders, "sync.topic.acls.interval.seconds": "2"}
    running = MirrorMaker(sides, tmp_path, flows=["S->T"], settings=settings)
    config = configured(tmp_path, running)
    analyst = ("acl", "orders*", "Read for User:analyst", "allowed", None)
    try:
        running.start()
        eventually(lambda: differing(config, only="acl") == {analyst}, 120, what="ACLs on the target")
    finally:
        running.kill()
    rights.withdraw(f"S.{orders}", user="reader")
    reader = ("acl", orders, "Read for User:reader", "allowed", None)
    eventually(lambda: differing(config, only="acl") == {analyst, reader}, 20, what="the removed ACL")

    watcher = {one.alias: one.java_properties("watcher") for one in sides}
    config = configured(tmp_path, running, clusters=watcher)
    why = lambda kind: "; ".join(one["why"] for one in drift(config)[kind]["not_compared"])  # noqa: E731
    eventually(lambda: "no topic is visible on S" in why("topic_missing"), 20)
    mirrorwatch("drift", config, status=3)
    rights.grant(orders, "DESCRIBE")
    eventually(lambda: "may not see them on T" in why("topic_missing"), 20)
    rights.grant("*", "DESCRIBE")
    eventually(lambda: "S: grant it DescribeConfigs" in why("config"), 20)
    assert "S: grant it Describe on the cluster" in why("acl")
    assert drift(config)["partition_count"]["verdict"] == "same"
    print(mirrorwatch("drift", config))
