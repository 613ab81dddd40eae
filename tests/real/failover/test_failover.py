"""Real groups of both protocols fail over, and what was predicted holds."""

from __future__ import annotations

import json

import pytest
import yaml

from deploy.local import topics
from tests.eventually import eventually
from tests.real.failover.stage import (
    PARTITIONS,
    Reader,
    committed,
    failed_over,
    holds,
    mirrorwatch,
    predicted,
    traffic,
    wait_s,
)

SYNCED = {"A->B.sync.group.offsets.enabled": "true", "A->B.sync.group.offsets.interval.seconds": "1"}


@pytest.fixture
def stage(kafka_pair, mirror, topic_name):
    """Give the brokers, a mirror that syncs the offsets of groups, a topic on A, and the name of a group."""
    topic = topic_name("orders")
    topics.create_topic(kafka_pair.a.client_properties(), topic, partitions=PARTITIONS)
    running = mirror({"A->B.topics": topic, **SYNCED}, fresh=True)
    return kafka_pair, running, topic, topic_name("billing")


def configured(folder, running):
    path = folder / "mirrorwatch.yml"
    path.write_text(yaml.safe_dump({"mm2": str(running.properties_file), "canary": {"mode": "off"}}))
    return path


def keep_up(running):
    assert running.running
    wait_s(3)


def lag(running):
    running.freeze()
    wait_s(3)


def restart(running):
    wait_s(2)
    running.kill()
    running.restart()
    running.wait_ready()
    wait_s(4)


SITUATIONS = {"healthy": keep_up, "lagging": lag, "restarted": restart}


@pytest.mark.parametrize(
    ("situation", "protocol"),
    [
        ("healthy", "consumer"),
        ("lagging", "classic"),
        ("restarted", "consumer"),
        pytest.param("healthy", "classic", marks=pytest.mark.long),
        pytest.param("lagging", "consumer", marks=pytest.mark.long),
        pytest.param("restarted", "classic", marks=pytest.mark.long),
    ],
)
def test_a_group_reads_on_the_target_what_was_predicted(stage, tmp_path, situation, protocol):
    pair, running, topic, group = stage
    source, target = pair.a.client_properties(), pair.b.client_properties()
    with traffic(source, topic), Reader(source, group, topic, protocol=protocol) as reader:
        eventually(lambda: len(reader.read) > 500, 60, what="reading")
        eventually(
            lambda: len(committed(target, group, f"A.{topic}")) == PARTITIONS, 90, what="synced offsets"
        )
        SITUATIONS[situation](running)
        reader.end()
        wait_s(1)  # records that the group never reads on the source
    running.kill()
    found = predicted(configured(tmp_path, running), group, status=0)
    truth = failed_over(pair, group, topic, protocol=protocol)
    exact = holds(found, truth)
    print(
        situation,
        protocol,
        truth,
        {key: found[f"{key}_records"] for key in truth},
        "exact" if exact else "bounds",
    )
    if situation == "lagging":
        assert truth["at_risk"] > 0


def test_exported_offsets_are_applied_and_undone(stage, tmp_path):
    pair, running, topic, group = stage
    source, target = pair.a.client_properties(), pair.b.client_properties()
    config, file = configured(tmp_path, running), tmp_path / "offsets.json"
    with traffic(source, topic), Reader(source, group, topic, protocol="classic") as reader:
        eventually(lambda: len(reader.read) > 500, 60, what="reading")
        eventually(
            lambda: len(committed(target, group, f"A.{topic}")) == PARTITIONS, 90, what="synced offsets"
        )
        lag(running)
    running.kill()
    before = committed(target, group, f"A.{topic}")
    which = ("--flow", "A->B", "--group", group)
    print(mirrorwatch("offsets", "translate", config, *which, status=0))
    mirrorwatch("offsets", "export", config, *which, "--out", file, status=0)
    assert "exists already" in mirrorwatch("offsets", "export", config, *which, "--out", file, status=2)
    with Reader(target, group, f"A.{topic}", protocol="classic"):
        eventually(
            lambda: "has members on B" in mirrorwatch("offsets", "apply", config, file, "--execute"),
            30,
            what="refusal",
        )
    changed = mirrorwatch("offsets", "apply", config, file, "--execute", status=2)
    assert "export the offsets again" in changed  # the member read and committed
    file.unlink()
    mirrorwatch("offsets", "export", config, *which, "--out", file, status=0)
    found = json.loads(file.read_text())["positions"]
    assert "Nothing was changed" in mirrorwatch("offsets", "apply", config, file, status=1)
    mirrorwatch("offsets", "apply", config, file, "--execute", status=0)
    assert committed(target, group, f"A.{topic}") == {one["partition"]: one["offset"] for one in found}
    (undo,) = tmp_path.glob("offsets.json.replaced-*")
    mirrorwatch("offsets", "apply", config, undo, "--execute", status=0)
    assert committed(target, group, f"A.{topic}") == {one["partition"]: one["current"] for one in found}
    assert before.keys() == {one["partition"] for one in found}
