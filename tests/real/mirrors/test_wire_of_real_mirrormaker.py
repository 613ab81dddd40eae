"""Our reading of the wire formats against what a real MirrorMaker wrote: every record, byte for byte."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from deploy.local import topics
from fleet.wire import mirror as wire
from tests.eventually import eventually

RECORDS = 250  # more than offset.lag.max, so that offsets are synchronised more than once on the way
COMMITTED = 120


def read_all(broker, topic):
    """Return key and value of every record that a transactional reader sees in a topic today."""
    consumer = Consumer(
        {
            **broker.client_properties(),
            "group.id": "wire-reader",
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": "true",
            "log_level": 0,
        }
    )
    count = topics.partition_count(broker.client_properties(), topic)
    unread = set(range(count))
    consumer.assign([TopicPartition(topic, partition, 0) for partition in unread])
    records = []

    def done():
        record = consumer.poll(0.5)
        if record is not None and record.error() is None:
            records.append((record.key(), record.value()))
        elif record is not None and record.error().code() == KafkaError._PARTITION_EOF:
            unread.discard(record.partition())
        return not unread

    try:
        eventually(done, 30, what=f"the end of {topic}", every_s=0)
    finally:
        consumer.close()
    assert count > 0, f"there is no topic {topic}"
    return records


@pytest.fixture
def mirrored(kafka_pair, mirror, topic_name):
    """Mirror a topic of two partitions with a group that has committed on one of them; give topic and group."""
    topic, group = topic_name("wire"), topic_name("group")
    source = kafka_pair.a.client_properties()
    topics.create_topic(source, topic, partitions=2)
    begun_ms = int(time.time() * 1000)
    mirror()
    producer = Producer(source)
    for number in range(RECORDS):
        for partition in (0, 1):
            producer.produce(topic, value=b"%d" % number, partition=partition)
    assert producer.flush(20) == 0
    committer = Consumer({**source, "group.id": group, "enable.auto.commit": "false", "log_level": 0})
    try:
        committer.commit(offsets=[TopicPartition(topic, 0, COMMITTED)], asynchronous=False)
    finally:
        committer.close()
    return topic, group, begun_ms


def decoded(records, decode, encode):
    """Decode every record, and see that writing it again gives the bytes that MirrorMaker wrote."""
    found = []
    for key, value in records:
        record = decode(key, value)
        if not isinstance(record, wire.NotMirrored):
            assert encode(record) == (key, value)
        found.append(record)
    return found


def test_every_record_that_a_mirror_writes_about_itself_is_read(kafka_pair, mirrored):
    topic, group, begun_ms = mirrored

    def source_offsets():
        records = read_all(kafka_pair.b, "mm2-offsets.A.internal")
        return decoded(records, wire.decode_source_offset, wire.encode_source_offset)

    def newest(records, of):
        return {
            record.key.partition: record.offset
            for record in records
            if isinstance(record, wire.SourceOffset) and record.key.topic == of
        }

    # The worker flushes once a second: then N is the last offset of each partition.
    last = {0: RECORDS - 1, 1: RECORDS - 1}
    eventually(
        lambda: newest(source_offsets(), topic) == last,
        30,
        what="N at the end of both partitions",
        every_s=0.5,
    )
    offsets = source_offsets()
    ours = {
        record.key
        for record in offsets
        if isinstance(record, wire.SourceOffset) and record.key.topic == topic
    }
    assert ours == {
        wire.SourceOffsetKey("MirrorSourceConnector", "A", topic, partition) for partition in (0, 1)
    }
    others = {record.connector for record in offsets if isinstance(record, wire.NotMirrored)}
    assert "MirrorHeartbeatConnector" in others
    assert "MirrorSourceConnector" not in others

    beats = decoded(read_all(kafka_pair.b, "heartbeats"), wire.decode_heartbeat, wire.encode_heartbeat)
    recent = [beat for beat in beats if isinstance(beat, wire.Heartbeat) and beat.sent_at_ms >= begun_ms]
    assert wire.HeartbeatKey("A", "B") in {beat.key for beat in recent}
    assert all(beat.sent_at_ms <= time.time() * 1000 for beat in recent)

    syncs = decoded(
        read_all(kafka_pair.a, "mm2-offset-syncs.B.internal"),
        wire.decode_offset_sync,
        wire.encode_offset_sync,
    )
    pairs = {
        partition: [
            (one.upstream_offset, one.downstream_offset)
            for one in syncs
            if one.key == wire.OffsetSyncKey(topic, partition)
        ]
        for partition in (0, 1)
    }
    # Both topics began empty, so each pair is of equal offsets; more than one of them as offset.lag.max passes.
    assert all(len(found) > 1 for found in pairs.values())
    assert all(up == down for found in pairs.values() for up, down in found)

    def checkpoints():
        records = read_all(kafka_pair.b, "A.checkpoints.internal")
        found = decoded(records, wire.decode_checkpoint, wire.encode_checkpoint)
        return [one for one in found if one.key == wire.CheckpointKey(group, f"A.{topic}", 0)]

    eventually(checkpoints, 60, what="a checkpoint of the group", every_s=0.5)
    newest_checkpoint = checkpoints()[-1]
    assert isinstance(newest_checkpoint, wire.Checkpoint)
    assert newest_checkpoint.upstream_offset == COMMITTED
    assert 0 < newest_checkpoint.downstream_offset <= COMMITTED
