"""Mirrors that keep names and offsets, have their own separator, write transactions, or lose a topic meanwhile."""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Producer

from checksum.digest.cell_rows import Side
from deploy.local import topics
from tests.checksum_spark.faulty import World, altered, audit, mirror_file, repeated
from tests.checksum_spark.small_mirror import FLUSH_S, originals, write, write_syncs

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("no_mirror")]  # what is copied these copy themselves


def told(outcome):
    """Return the findings as (verdict, topic, partition, source offset, target offset)."""
    return sorted(
        (one["verdict"], one["topic"], one["partition"], *(
            offsets and offsets[0] for offsets in (one["source_offsets"], one["target_offsets"])
        ))
        for one in outcome.run["findings"]["shown"]
    )  # fmt: skip


@pytest.mark.long
def test_a_mirror_that_keeps_names_and_offsets(kafka_pair, spark, tmp_path, topic_name):
    world = World(kafka_pair, remote="{}".format)
    healthy, faulty = topic_name("kept"), topic_name("kept-faulty")
    for topic in (healthy, faulty):
        world.create(topic, target={})
        world.write(topic)
    world.copy(healthy, syncs=None)
    copies = altered(300, key=b"another")(originals(world.here, faulty, 2))
    lost = 400  # of partition 0: the marker of a transaction takes its offset, so that others keep theirs
    write(world.there, faulty, copies[: lost - 1])
    write(world.there, faulty, copies[lost - 1 : lost], transaction=faulty)
    write(world.there, faulty, copies[lost + 1 :])
    config = tmp_path / "config.yml"
    mirror_file(
        tmp_path / "mm2.properties",
        kafka_pair,
        {
            "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
            "A->B.emit.offset-syncs.enabled": "false",
        },
    )
    config.write_text(json.dumps({"mm2": "mm2.properties", "flows": {"A->B": {"lag_from": "equal-offsets"}}}))
    outcome = audit(spark, config, [healthy, faulty])
    assert told(outcome) == [("altered", faulty, 0, 300, 300), ("lost", faulty, 0, lost, None)], outcome.said
    assert (outcome.status, outcome.run["coverage"]) == (1, 1.0)


@pytest.mark.long
def test_a_mirror_with_a_separator_of_its_own_that_delivers_exactly_once(
    kafka_pair, spark, tmp_path, topic_name
):
    world = World(kafka_pair, remote="A--{}".format)
    syncs = "mm2-offset-syncs--B--internal"
    topics.create_topic(world.here, syncs, config={"cleanup.policy": "compact"})
    healthy, twice = topic_name("once"), topic_name("twice")
    for topic in (healthy, twice):
        world.create(topic, target={})
        for number in range(4):  # what is aborted is not for this mirror
            world.write(topic, 250, transaction=f"source-{topic}", commit=number != 1)
        world.written[topic] -= set(range(world.bases[topic] + 250, world.bases[topic] + 500))
        copies = originals(world.here, topic, 2, committed=True)
        if topic == twice:
            copies = repeated(100, 102)(copies)
        # The first try is given up, and its records stay in the log.
        write(world.there, world.remote(topic), copies[:300], transaction=f"copies-{topic}", commit=False)
        offsets = write(world.there, world.remote(topic), copies, transaction=f"copies-{topic}")
        write_syncs(world.here, syncs, topic, copies, offsets)
    config = mirror_file(
        tmp_path / "mm2.properties",
        kafka_pair,
        {
            "replication.policy.separator": "--",
            "B.exactly.once.source.support": "enabled",
            "A->B.consumer.isolation.level": "read_committed",
        },
    )
    outcome = audit(spark, config, [healthy, twice])
    found = told(outcome)
    assert [one[:3] for one in found] == [("duplicated", twice, 0)] * 2, outcome.said
    assert (outcome.status, outcome.run["coverage"]) == (1, 1.0)
    assert outcome.run["source_records"] == 1500


@pytest.mark.parametrize("side", list(Side))
def test_a_topic_that_is_made_anew_while_it_is_read_gives_no_verdict(
    kafka_pair, spark, tmp_path, topic_name, side
):
    world = World(kafka_pair)
    topic = topic_name(f"remade-{side}")
    world.create(topic, target={})
    world.write(topic, 200)
    world.copy(topic, syncs=None)
    client, name = (world.here, topic) if side is Side.SOURCE else (world.there, world.remote(topic))

    def remake() -> None:
        topics.recreate_topic(client, name)
        producer = Producer({**client, "log_level": 0})
        for number in range(300):
            producer.produce(name, b"of the new topic #%d#" % number, partition=number % 2)
        producer.flush(FLUSH_S)

    outcome = audit(
        spark, mirror_file(tmp_path / "mm2.properties", kafka_pair), [topic], before={Side.TARGET: [remake]}
    )
    assert outcome.status == 4, outcome.said
    assert f"{name} was re-created after the plan was made" in " ".join(outcome.said.split())
    assert outcome.run == {}
