"""Real groups of both protocols fail over, and what was predicted holds."""

from __future__ import annotations

import json
import time

import pytest

from deploy.drills.failovers import (
    PARTITIONS,
    SITUATIONS,
    Reader,
    committed,
    configured,
    mirrorwatch,
    run,
    traffic,
)
from deploy.local import topics
from tests.eventually import eventually


@pytest.fixture
def stage(request, kafka_pair, mirror, topic_name):
    """Give the brokers, a mirror that syncs the offsets of groups, a topic on A, and the name of a group."""
    topic = topic_name("orders")
    topics.create_topic(kafka_pair.a.client_properties(), topic, partitions=PARTITIONS)
    marked = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    settings = SITUATIONS[marked.get("situation", "healthy")][2]
    running = mirror({"A->B.topics": topic, **settings}, fresh=True)
    return kafka_pair, running, topic, topic_name("billing")


@pytest.mark.parametrize(
    ("situation", "protocol"),
    [
        ("healthy", "consumer"),
        ("lagging", "classic"),
        pytest.param("restarted", "consumer", marks=pytest.mark.long),
        pytest.param("healthy", "classic", marks=pytest.mark.long),
        pytest.param("lagging", "consumer", marks=pytest.mark.long),
        pytest.param("restarted", "classic", marks=pytest.mark.long),
        pytest.param("frozen", "classic", marks=pytest.mark.long),
        pytest.param("recreated", "consumer", marks=pytest.mark.long),
        pytest.param("target", "consumer", marks=pytest.mark.long),
        ("rewound", "classic"),
        pytest.param("both", "consumer", marks=pytest.mark.long),
        ("unsynced", "consumer"),
        pytest.param("syncs", "classic", marks=pytest.mark.long),
    ],
)
def test_a_group_reads_on_the_target_what_was_predicted(stage, tmp_path, situation, protocol):
    pair, running, topic, group = stage
    done = run(pair, running, tmp_path, situation=situation, protocol=protocol, topic=topic, group=group)
    assert done.outside == [], done
    for name in ("read_again", "skipped"):
        assert done.proved[name] == {"least": done.truth[name], "most": done.truth[name]}
    if situation in ("lagging", "frozen"):
        assert done.truth["at_risk"] > 0


def test_exported_offsets_are_applied_and_undone(stage, tmp_path):
    pair, running, topic, group = stage
    source, target = pair.a.client_properties(), pair.b.client_properties()
    config, file = configured(tmp_path, running), tmp_path / "offsets.json"
    with traffic(source, topic), Reader(source, group, topic, protocol="classic") as reader:
        eventually(lambda: len(reader.read) > 500, 60, what="reading")
        eventually(
            lambda: len(committed(target, group, f"A.{topic}")) == PARTITIONS, 90, what="synced offsets"
        )
        running.freeze()
        time.sleep(3)
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
    file.unlink()
    moment = ("--to-time", "1970-01-01T00:00:00Z")
    mirrorwatch("offsets", "reset", config, *which, *moment, "--out", file, status=0)
    assert {one["offset"] for one in json.loads(file.read_text())["positions"]} == {0}
    mirrorwatch("offsets", "apply", config, file, "--execute", status=0)
    assert set(committed(target, group, f"A.{topic}").values()) == {0}
    assert "invalid moment 'now'" in mirrorwatch(
        "offsets", "reset", config, *which, "--to-time", "now", "--out", file, status=2
    )
