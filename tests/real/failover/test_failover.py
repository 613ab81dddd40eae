"""Real groups of both protocols fail over, and what was predicted holds."""

from __future__ import annotations

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
    predicted,
    traffic,
    wait_s,
)

SYNCED = {"sync.group.offsets.enabled": "true", "sync.group.offsets.interval.seconds": "1"}


@pytest.fixture
def topic(kafka_pair, topic_name):
    name = topic_name("orders")
    topics.create_topic(kafka_pair.a.client_properties(), name, partitions=PARTITIONS)
    return name


def configured(folder, running):
    path = folder / "mirrorwatch.yml"
    path.write_text(yaml.safe_dump({"mm2": str(running.properties_file), "canary": {"mode": "off"}}))
    return path


def lag(running):
    running.freeze()
    wait_s(3)


def restart(running):
    wait_s(2)
    running.kill()
    running.restart()
    running.wait_ready()
    wait_s(4)


SITUATIONS = {"healthy": lambda running: wait_s(3), "lagging": lag, "restarted": restart}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize("situation", [*SITUATIONS])
def test_a_group_reads_on_the_target_what_was_predicted(
    kafka_pair, mirror, topic, topic_name, tmp_path, situation, protocol
):
    running = mirror(
        {"A->B.topics": f"{topic}", **{f"A->B.{key}": value for key, value in SYNCED.items()}}, fresh=True
    )
    group = topic_name("billing")
    source = kafka_pair.a.client_properties()
    with traffic(source, topic):
        reader = Reader(source, group, topic, protocol=protocol)
        eventually(lambda: len(reader.read) > 500, 60, what="reading")
        eventually(
            lambda: len(committed(kafka_pair.b.client_properties(), group, f"A.{topic}")) == PARTITIONS,
            90,
            what="synced offsets",
        )
        SITUATIONS[situation](running)
        reader.end()
    running.kill()
    found = predicted(configured(tmp_path, running), group, status=0)
    truth = failed_over(kafka_pair, group, topic, protocol=protocol)
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
