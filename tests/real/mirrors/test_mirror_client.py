"""What `check` and our view say of two brokers with a real MirrorMaker, against what the real MirrorClient says.

The mirror goes in both directions, and once more on from the second broker to the first under other names, so
that one topic and its heartbeats are replicated twice. Topics made by hand have names that only look like those
of a mirror.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from rich.console import Console

from deploy.local import groups, topics
from deploy.local.mirror import MirrorMaker
from deploy.local.pair import Pair
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.wire.mirror import Checkpoint, decode_checkpoint
from mirrorwatch.check.check import check
from mirrorwatch.configuration.reading import read_configuration
from tests.eventually import eventually
from tests.fleet.golden.mirror_client import java_answers, our_answer

if TYPE_CHECKING:
    from deploy.local.broker import Broker

VERSIONS = ("3.9.2", "4.3.0")
IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
FLOWS = ("A->B", "B->A", "D->C")  # D is B's broker, and C is A's
ALIASES = ["A", "B", "C", "D", "E", "x", "orders", "none", ""]
RECORDS, COMMITTED = 6, 4
BY_HAND = (
    "A{s}B{s}x-{m}",
    "heartbeats",
    "A{s}heartbeats",
    "B{s}A{s}heartbeats",
    "C{s}C{s}E{s}heartbeats",
    "A{s}checkpoints{s}internal",
    "x-{m}{s}checkpoints{s}internal",
    "x-{m}.checkpoints.internal",
    "A{s}stock-{m}.internal",
    "orders.eu-{m}",
    ".hidden-{m}",
    "__own{s}x-{m}",
)


@dataclass(frozen=True)
class Named:
    """A broker under another name."""

    alias: str
    broker: Broker

    def java_properties(self, user=None):
        return self.broker.java_properties(user)


@pytest.fixture(scope="module")
def brokers(kafka_folder):
    """Give two brokers of this module alone: heartbeats topics made by hand would mislead other tests."""
    with Pair(kafka_folder / "client", flows=()) as pair:
        yield pair


def names_on(broker):
    return set(topics.admin_client(broker.client_properties()).list_topics(timeout=20).topics)


def write(broker, topic):
    producer = Producer({**broker.client_properties(), "log_level": 0})
    for number in range(RECORDS):
        producer.produce(topic, str(number).encode(), partition=0)
    assert producer.flush(20) == 0


def create(broker, names):
    for name in names:
        with contextlib.suppress(KafkaException):  # MirrorMaker has made it already
            topics.create_topic(broker.client_properties(), name)


def mirror_of(brokers, folder, policy, mark):
    """Return a mirror with this policy: it replicates one topic and the heartbeats, and no topic for ever."""
    topic, heartbeats = f"x-{mark}", policy.remote_topic("A", "heartbeats")
    named = [Named("A", brokers.a), Named("B", brokers.b), Named("C", brokers.a), Named("D", brokers.b)]
    settings = {
        "emit.heartbeats.enabled": "false",  # else every pair of names has a herder
        **{f"{flow}.emit.heartbeats.enabled": "true" for flow in FLOWS},
        "heartbeats.replication.enabled": "false",  # with two names for a broker they would go round
        **{f"{alias}.{kept}.storage.partitions": "1" for alias in "ABCD" for kept in ("offset", "status")},
        "A->B.topics": f"{topic}, heartbeats",
        "B->A.topics": "heartbeats",
        "D->C.topics": f"{policy.remote_topic('A', topic)}, {heartbeats}".replace(".", r"\."),
        "tasks.max": "1",
    }
    settings["replication.policy.separator"] = policy.separator
    if policy.kind is PolicyKind.IDENTITY:
        settings["replication.policy.class"] = IDENTITY
    return MirrorMaker(named, folder, flows=FLOWS, settings=settings, switchable=False, heap_mb=640)


def client_of(broker, policy):
    """Return the properties of a client of this broker with this policy."""
    given = {**broker.java_properties(), "replication.policy.separator": policy.separator}
    if policy.kind is PolicyKind.IDENTITY:
        given["replication.policy.class"] = IDENTITY
        if policy.source_alias is not None:
            given["source.cluster.alias"] = policy.source_alias
    return given


def checked(path):
    """Return the documents of the clusters by alias, as `check --json` gives them."""
    console = Console(file=io.StringIO(), width=80, color_system=None)
    asyncio.run(check(read_configuration(path, environ={}), console=console, connect=True, as_json=True))
    return {one["kafka_cluster"]: one for one in json.loads(console.file.getvalue())["clusters"]}


def of_version(document, version):
    """Return the answers in the document in the form of the Java program, for clients of this version."""
    older = set(document["depends_on_version"]) if version.startswith("3") else set()
    remote = {
        one["source"]: [x for x in one["topics"] if x not in older] for one in document["remote_topics"]
    }
    hops = {one["alias"]: one["hops"] for one in document["upstream_clusters"]}
    return {
        "upstream": sorted(hops),
        "heartbeats": document["heartbeat_topics"],
        "checkpoints": document["checkpoint_topics"],
        "remote": sorted(name for names in remote.values() for name in names),
        "hops": dict.fromkeys(ALIASES, -1) | {alias: hops[alias] for alias in hops if alias in ALIASES},
        "remote_by_source": {alias: remote.get(alias, []) for alias in ALIASES},
    }


def newest_checkpoints(broker, topic, group):
    """Return the newest target offset of each partition in a checkpoints topic, read by our own code."""
    client = {**broker.client_properties(), "group.id": "checkpoints", "enable.auto.commit": False}
    found = {}
    with contextlib.closing(Consumer(client)) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])
        end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)[1]
        while consumer.position([TopicPartition(topic, 0)])[0].offset < end:
            message = consumer.poll(20)
            assert message is not None
            assert message.error() is None
            one = decode_checkpoint(message.key(), message.value())
            if isinstance(one, Checkpoint) and one.key.group == group:
                found[f"{one.key.topic}-{one.key.partition}"] = one.downstream_offset
    return found


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param(ReplicationPolicy(), id="default"),
        pytest.param(ReplicationPolicy(separator="-"), id="separator", marks=pytest.mark.long),
        pytest.param(ReplicationPolicy(PolicyKind.IDENTITY, "--"), id="identity", marks=pytest.mark.long),
    ],
)
def test_the_answers_are_those_of_the_real_client(brokers, policy, tmp_path):
    a, b = brokers.a, brokers.b
    mark = "m" + hashlib.sha256(str(policy).encode()).hexdigest()[:8]
    topic, group = f"x-{mark}", f"readers-{mark}"
    topics.create_topic(a.client_properties(), topic)
    identity = policy.kind is PolicyKind.IDENTITY  # records would go round
    if not identity:
        write(a, topic)
        groups.set_offsets(a.client_properties(), group, {(topic, 0): COMMITTED})
    mirror = mirror_of(brokers, tmp_path / "mirror", policy, mark)
    mirror.start()
    try:
        mirror.wait_ready()
        remote = policy.remote_topic
        heartbeats = remote("A", "heartbeats")
        on_b = {remote("A", topic), heartbeats, policy.checkpoints_topic("A")}
        on_a = {remote("D", remote("A", topic)), remote("D", heartbeats), remote("B", "heartbeats")}
        eventually(lambda: on_b <= names_on(b), 60, what="what is replicated to B")
        eventually(lambda: on_a <= names_on(a), 60, what="what is replicated to A")
        checkpoints = policy.checkpoints_topic("A")
        if not identity:
            eventually(lambda: newest_checkpoints(b, checkpoints, group), 60, what="a checkpoint")
    finally:
        mirror.stop()

    of_a, of_b = compared(brokers, mirror.properties_file, policy)
    assert {alias: hops for alias, hops in of_a.items() if hops != -1} == {"B": 1, "D": 1, "A": 2}
    assert {alias: hops for alias, hops in of_b.items() if hops != -1} == {"A": 1}
    by_hand = [name.format(s=policy.separator, m=mark) for name in BY_HAND]
    create(a, by_hand)
    create(b, by_hand)
    of_a, of_b = compared(brokers, mirror.properties_file, policy)
    assert {alias: hops for alias, hops in of_a.items() if hops != -1} == {"B": 1, "D": 1, "A": 1, "C": 1}
    assert {alias: hops for alias, hops in of_b.items() if hops != -1} == {"A": 1, "B": 1, "C": 1}
    if identity:
        return
    expected = newest_checkpoints(b, checkpoints, group)
    assert expected.keys() == {f"{remote('A', topic)}-0"}
    for version in VERSIONS:
        question = {"props": client_of(b, policy), "aliases": ["A"], "group": group}
        (answer,) = java_answers([question], version)
        assert answer["translated"]["A"] == expected


def compared(brokers, path, policy):
    """Compare everything with clients of both versions; return the hops on either cluster."""
    clients = [policy]
    if policy.kind is PolicyKind.IDENTITY:
        clients.append(replace(policy, source_alias="A"))
    documents = checked(path)
    hops = []
    for version in VERSIONS:
        questions, ours = [], []
        for alias, broker in (("A", brokers.a), ("B", brokers.b)):
            listed = sorted(names_on(broker) - {"__consumer_offsets"})
            (document,) = documents[alias]["mirror_client"]
            for each in clients:
                questions.append({"props": client_of(broker, each), "aliases": ALIASES})
                ours.append(our_answer(listed, each, version, ALIASES))
            shown = replace(policy, source_alias=document["source_alias"])
            questions.append({"props": client_of(broker, shown), "aliases": ALIASES})
            ours.append(of_version(document, version))
        answers = java_answers(questions, version)
        for question, answer, mine in zip(questions, answers, ours, strict=True):
            assert {key: answer[key] for key in mine} == mine, question["props"]
            assert answer["utils"] == {key: answer[key] for key in answer["utils"]}
        assert all(len(answer["remote"]) > 1 or policy.kind is PolicyKind.IDENTITY for answer in answers)
        hops = [answers[number]["hops"] for number in (0, len(answers) // 2)]
    return hops
