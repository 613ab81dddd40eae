"""The end of the source's log, and a re-created source topic, audited with Spark on two real brokers."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer

from deploy.local import topics
from fleet.wire.mirror import OffsetSync, encode_offset_sync
from fleet.wire.records import OffsetSyncKey
from tests.checksum_spark.faulty import World, audit, mirror_file
from tests.checksum_spark.small_mirror import originals, write, write_syncs

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("no_mirror")]  # what is copied these copy themselves
SYNCS = "mm2-offset-syncs.B.internal"
FILTER = {
    "A->B.transforms": "quiet",
    "A->B.transforms.quiet.type": "org.apache.kafka.connect.transforms.Filter",
}
EACH = 300  # records of each of two partitions
DROPPED = 5  # the last ones of each


@contextmanager
def going_on(world, topic):
    """Let the mirror write offset syncs of another topic while the block lasts."""
    ended = threading.Event()

    def beat():
        producer, offset = Producer({**world.here, "log_level": 0}), 0
        while not ended.wait(0.3):
            key, value = encode_offset_sync(OffsetSync(OffsetSyncKey(topic, 0), offset, offset))
            producer.produce(SYNCS, value, key, 0)
            producer.flush(10)
            offset += 1

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def copied_but_for_the_tail(world, topic):
    """Copy a topic but for the last records of each partition, and tell the offsets of the others."""
    found = originals(world.here, topic, 2)
    kept = [one for one in found if one.origin < EACH - DROPPED]
    write_syncs(world.here, SYNCS, topic, kept, write(world.there, world.remote(topic), kept))


def test_what_is_due_at_the_end_is_lost_where_the_mirror_goes_on_and_owed_where_it_does_not(
    kafka_pair, spark, tmp_path, topic_name
):
    world = World(kafka_pair)
    topic = topic_name("tail")
    if not topics.partition_count(world.here, SYNCS):
        topics.create_topic(world.here, SYNCS, config={"cleanup.policy": "compact"})
    world.create(topic, target={})
    world.write(topic, 2 * EACH)
    copied_but_for_the_tail(world, topic)
    owed = audit(spark, mirror_file(tmp_path / "stopped.properties", kafka_pair, FILTER), [topic])
    assert owed.status == 3, owed.said
    assert owed.run["findings"]["count"] == 0
    told = owed.of(topic)
    assert sorted((one["partition"], one["records"]) for one in told["left_out"]) == [
        (0, DROPPED),
        (1, DROPPED),
    ]
    assert all("stopped, hung or idle" in one["why"] for one in told["left_out"])
    with going_on(world, topic_name("others")):
        # In a folder of its own, so that it begins at the beginning.
        (tmp_path / "alive").mkdir()
        lost = audit(spark, mirror_file(tmp_path / "alive" / "mm2.properties", kafka_pair, FILTER), [topic])
    assert (lost.status, lost.run["coverage"]) == (1, 1.0), lost.said
    found = lost.of(topic)
    assert found["left_out"] == []
    assert {(one["verdict"], one["cause"]) for one in found["findings"]} == {("lost", "filtered")}
    assert Counter(one["partition"] for one in found["findings"]) == {0: DROPPED, 1: DROPPED}
    assert {one["source_offsets"][0] for one in found["findings"]} == set(range(EACH - DROPPED, EACH))


def test_what_the_mirror_skips_of_a_re_created_topic_is_lost(kafka_pair, spark, tmp_path, topic_name):
    world = World(kafka_pair)
    topic = topic_name("re-created")
    if not topics.partition_count(world.here, SYNCS):
        topics.create_topic(world.here, SYNCS, config={"cleanup.policy": "compact"})
    world.create(topic, target={})
    world.write(topic, 2 * EACH)
    world.copy(topic, syncs=SYNCS)
    topics.recreate_topic(world.here, topic)
    world.written[topic].clear()
    world.bases[topic] += 10_000
    world.begun_ms += 600_000  # what the new topic holds is newer
    world.write(topic, 4 * EACH)
    world.copy(topic, syncs=SYNCS, since=EACH)
    outcome = audit(spark, mirror_file(tmp_path / "mm2.properties", kafka_pair), [topic])
    assert (outcome.status, outcome.run["coverage"]) == (1, 1.0), outcome.said
    assert outcome.run["records"]["lost"] == 2 * EACH
    assert {name for name, count in outcome.run["records"].items() if count} == {"match", "lost"}
    assert {one["cause"] for one in outcome.of(topic)["findings"]} == {"topic_recreated"}
