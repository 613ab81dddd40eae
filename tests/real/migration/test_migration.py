"""A flow moves to another mirror under traffic, as `migrate` says, and nothing is lost."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from deploy.drills.failovers import PARTITIONS, mirrorwatch, traffic
from deploy.local import topics
from deploy.local.connect import ConnectWorker
from deploy.local.jars import kafka_version
from deploy.local.java import java_command
from deploy.local.mirror import MirrorMaker
from deploy.local.process import Process
from tests.eventually import eventually

IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
GROUP_MIRROR = Path(__file__).parents[1] / "mirror_programs" / "group_mirror.py"
OFFSETS = "mm2-offsets.A.internal"
QUIET = {"emit.heartbeats.enabled": "false"}
BEFORE = 1500  # records on the target before the move


@pytest.fixture(scope="module")
def worker(kafka_pair, tmp_path_factory):
    """Start Kafka Connect on B."""
    running = ConnectWorker(kafka_pair.b, tmp_path_factory.mktemp("connect"), name="migration")
    running.start()
    running.wait_ready()
    yield running
    running.kill()


@pytest.fixture
def stage(kafka_pair, no_mirror, topic_name):
    topic = topic_name("orders")
    source = kafka_pair.a.client_properties()
    topics.create_topic(source, topic, partitions=PARTITIONS)
    if "heartbeats" in names(source):  # each mirror replicates it as well
        topics.delete_topic(source, "heartbeats")
    return kafka_pair, topic


def names(client):
    return topics.admin_client(client).list_topics(timeout=10).topics.keys()


def configured(folder, name, **content):
    path = folder / f"{name}.yml"
    path.write_text(json.dumps({"canary": {"mode": "off"}, **content}))
    return path


def on_connect(folder, worker, name):
    return configured(folder, name, connect={"url": worker.url, "connectors": [name]})


def created(worker, pair, name, topic, **settings):
    """Create a connector that is stopped."""
    worker.mirror(pair.a, pair.b, name=f"{name}-draft", topics="no-topic-has-this-name")
    config = worker.ask("GET", f"/connectors/{name}-draft/config")
    worker.ask("DELETE", f"/connectors/{name}-draft")
    config |= {"name": name, "topics": topic, **settings}
    worker.ask("POST", "/connectors", {"name": name, "initial_state": "STOPPED", "config": config})


def exported(config, file):
    """Export positions once the mirror's workers have left their group."""

    def stopped():
        file.unlink(missing_ok=True)
        said = mirrorwatch("migrate", "export", config, "--flow", "A->B", "--out", file)
        return "is stopped" in said

    eventually(stopped, 90, what="the end of the old mirror")


def values(client, topic):
    """Return how often each value is in a topic."""
    ends = topics.log_ends(client, topic)
    consumer = Consumer({**client, "group.id": "truth", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, number, 0) for number in range(len(ends))])
    found = Counter()
    try:
        while messages := consumer.consume(1000, 1.0):
            found.update(one.value() for one in messages if one.error() is None)
    finally:
        consumer.close()
    return found


def count_in(said, name):
    found = re.search(rf"^ *{name} +(?:at least )?(none found|[0-9,]+)", said, re.MULTILINE)[1]
    return 0 if found == "none found" else int(found.replace(",", ""))


def sent(command, text=None):
    """Run a command that `migrate plan` printed."""
    subprocess.run(shlex.split(command), input=text, check=True, capture_output=True, text=True, timeout=60)


def printed(said, start):
    (line,) = [line.strip() for line in said.splitlines() if line.strip().startswith(start)]
    return line


def followed(new, file, out):
    """Follow the steps of the plan on Kafka Connect."""
    said = mirrorwatch("migrate", "plan", new, file, "--out", out, status=1)
    sent(printed(said, "curl -X PATCH"))
    said = mirrorwatch("migrate", "plan", new, file, status=0)
    sent(printed(said, "curl -X PUT"))


def verified(new, file, *, pair, names):
    """Return what `verify` says once the new mirror has replicated all; the truth is read from the topics."""
    here = values(pair.a.client_properties(), names[0])

    def complete():
        said = mirrorwatch("migrate", "verify", new, file)
        print(said)  # shown if it is never complete
        _, _, waiting = said.partition("not compared")  # other tests leave topics that are quiet
        return said if count_in(said, "compared") and names[0] not in waiting else ""

    target = pair.b.client_properties()

    def on_target():
        return sum((values(target, name) for name in names[1:]), Counter())

    eventually(lambda: here.keys() <= on_target().keys(), 60, what="everything on B")
    said = eventually(complete, 120, what="everything verified")
    there = on_target()
    assert here.keys() <= there.keys()
    twice = sum(there.values()) - len(here)
    assert count_in(said, "skipped") == 0
    return said, twice


@pytest.mark.parametrize(
    "killed", [pytest.param(False, marks=pytest.mark.long), True], ids=["stopped", "killed"]
)
def test_dedicated_to_connect(stage, worker, tmp_path, killed):
    pair, topic = stage
    source, target = pair.a.client_properties(), pair.b.client_properties()
    name = f"mm-{topic}"
    settings = {"A->B.topics": topic, **QUIET, "B.offset.flush.interval.ms": "30000" if killed else "1000"}
    old = MirrorMaker((pair.a, pair.b), tmp_path / "old", settings=settings)
    config = configured(tmp_path, "old", mm2=str(old.properties_file))
    file = tmp_path / "positions.json"
    with traffic(source, topic):
        old.start()
        try:
            eventually(lambda: topics.log_end(target, f"A.{topic}") > BEFORE / 3, 90, what="the old mirror")
            running = mirrorwatch("migrate", "export", config, "--flow", "A->B", "--out", file, status=1)
            assert "group A-mm2 on B has 1 member" in running
            assert not file.exists()
        finally:
            (old.kill if killed else old.stop)()
        exported(config, file)
        created(worker, pair, name, topic)
        new = on_connect(tmp_path, worker, name)
        followed(new, file, tmp_path / "seeds")
        eventually(
            lambda: len(worker.ask("GET", f"/connectors/{name}/offsets")["offsets"]) > 2, 60, what="new"
        )
        assert "it runs and has continued" in mirrorwatch("migrate", "plan", new, file, status=0)
        mirrorwatch("migrate", "verify", new, file)  # while records are written
    said, twice = verified(new, file, pair=pair, names=(topic, f"A.{topic}"))
    assert count_in(said, "repeated") == twice
    assert twice <= (PARTITIONS * 200 if killed else 0)
    worker.ask("DELETE", f"/connectors/{name}")


def test_connect_to_dedicated_by_records(stage, worker, tmp_path):
    pair, topic = stage
    source, target = pair.a.client_properties(), pair.b.client_properties()
    name = f"mm-{topic}"
    created(worker, pair, name, topic)
    old = on_connect(tmp_path, worker, name)
    new = MirrorMaker((pair.a, pair.b), tmp_path / "new", settings={"A->B.topics": topic, **QUIET})
    config = configured(tmp_path, "new", mm2=str(new.properties_file))
    file, out = tmp_path / "positions.json", tmp_path / "seeds"
    with traffic(source, topic):
        worker.ask("PUT", f"/connectors/{name}/resume")
        eventually(lambda: topics.log_end(target, f"A.{topic}") > BEFORE / 3, 90, what="the old mirror")
        worker.ask("PUT", f"/connectors/{name}/stop")
        exported(old, file)
        if OFFSETS not in names(target):
            topics.create_topic(target, OFFSETS, partitions=25, config={"cleanup.policy": "compact"})
        said = mirrorwatch("migrate", "plan", config, file, "--out", out, status=1)
        console = printed(said, "kafka-console-producer.sh").removesuffix("\\").split()
        options = printed(said, "--reader-property").split(" < ")
        assert Path(options[1]) == out / "offsets.tsv"
        at = target["bootstrap.servers"]
        arguments = [at if one.startswith("BROKERS_OF") else one for one in console[1:]]
        command = java_command(
            kafka_version(), tmp_path, PRODUCER, *arguments, *options[0].split(), heap_mb=64
        )
        sent(shlex.join(command), Path(options[1]).read_text())
        mirrorwatch("migrate", "plan", config, file, status=0)
        new.start()
        try:
            new.wait_ready()
            eventually(lambda: topics.log_end(target, f"A.{topic}") > BEFORE, 60, what="the new mirror")
        except BaseException:
            new.kill()
            raise
    try:
        said, twice = verified(config, file, pair=pair, names=(topic, f"A.{topic}"))
    finally:
        new.kill()
    assert count_in(said, "repeated") == twice == 0


@pytest.mark.long
def test_prefix_to_identity(stage, worker, tmp_path):
    pair, topic = stage
    source, target = pair.a.client_properties(), pair.b.client_properties()
    name = f"mm-{topic}"
    old = MirrorMaker((pair.a, pair.b), tmp_path / "old", settings={"A->B.topics": topic, **QUIET})
    config = configured(tmp_path, "old", mm2=str(old.properties_file))
    file = tmp_path / "positions.json"
    with traffic(source, topic):
        old.start()
        try:
            eventually(lambda: topics.log_end(target, f"A.{topic}") > BEFORE / 3, 90, what="the old mirror")
        finally:
            old.stop()
        exported(config, file)
        created(worker, pair, name, topic, **{"replication.policy.class": IDENTITY})
        new = on_connect(tmp_path, worker, name)
        said = mirrorwatch("migrate", "plan", new, file, status=1)
        assert f"such as {topic} for A.{topic}" in " ".join(said.split())
        followed(new, file, tmp_path / "seeds")
        eventually(lambda: topic in names(target), 60, what="the new topic")
    said, twice = verified(new, file, pair=pair, names=(topic, f"A.{topic}", topic))
    assert count_in(said, "repeated") == twice == 0
    worker.ask("DELETE", f"/connectors/{name}")


def test_mirror_maker_1_to_2(stage, worker, tmp_path):
    pair, topic = stage
    source, target = pair.a.client_properties(), pair.b.client_properties()
    topics.create_topic(target, topic, partitions=PARTITIONS)
    name, group = f"mm-{topic}", f"mm1-{topic}"
    addresses = source["bootstrap.servers"], target["bootstrap.servers"]
    old = Process("mm1", [sys.executable, str(GROUP_MIRROR), *addresses, group, topic], folder=tmp_path)
    flow = {"topics": topic, "policy": "identity", "lag_from": "group", "group": group}
    clusters = {alias: {"bootstrap.servers": at} for alias, at in zip("AB", addresses, strict=True)}
    config = configured(tmp_path, "old", clusters=clusters, flows={"A->B": flow})
    file = tmp_path / "positions.json"
    with traffic(source, topic):
        old.start()
        try:
            eventually(lambda: topics.log_end(target, topic) > BEFORE / 3, 90, what="the old mirror")
        finally:
            old.kill()
        exported(config, file)
        created(worker, pair, name, topic, **{"replication.policy.class": IDENTITY})
        new = on_connect(tmp_path, worker, name)
        followed(new, file, tmp_path / "seeds")
        eventually(
            lambda: len(worker.ask("GET", f"/connectors/{name}/offsets")["offsets"]) > 2, 60, what="new"
        )
    said, twice = verified(new, file, pair=pair, names=(topic, topic))
    assert count_in(said, "repeated") == twice
    worker.ask("DELETE", f"/connectors/{name}")
