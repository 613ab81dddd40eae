"""Offset syncs of a real mirror: each of them in the store, over restarts; and a flow judged by them alone."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import struct

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from deploy.local.topics import create_topic
from tests.eventually import eventually
from tests.real.lag.test_mirrors import PARTITIONS, Traffic, metric, said
from tests.real.service.process import ServiceProcess

SYNCS = "mm2-offset-syncs.B.internal"


@pytest.fixture
def mirrored(kafka_pair, mirror, topic_name):
    """Give a topic with traffic and its mirror, which writes syncs every second."""
    topic = topic_name("orders")
    client = kafka_pair.a.client_properties()
    create_topic(client, topic, partitions=PARTITIONS)
    running = mirror({"A->B.topics": topic})
    with Traffic(client, topic) as traffic:
        yield topic, traffic, running


@pytest.fixture
def service(mirrored, topic_name, tmp_path):
    """Give a way to make a service that watches the flow by its offsets, without a canary."""
    _, _, running = mirrored

    def make(**flow):
        return ServiceProcess(
            tmp_path / "service",
            topic=topic_name("canary"),
            mm2=running.properties_file,
            flows={"A->B": flow} if flow else None,
            canary={"mode": "off"},
            lag={"commits": "topic"},
        )

    return make


def read_by_hand(client, topic):
    """Return every sync of this topic as (number, partition, upstream, downstream), in the topic's order."""
    consumer = Consumer({**client, "group.id": "nobody", "enable.partition.eof": "true"})
    consumer.assign([TopicPartition(SYNCS, 0, 0)])
    found = []
    while True:
        message = consumer.poll(20)
        assert message is not None
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF
            consumer.close()
            return found
        length = struct.unpack_from(">h", message.key())[0]
        name = message.key()[2 : 2 + length].decode()
        if name == topic and message.value() is not None:
            (partition,) = struct.unpack_from(">i", message.key(), 2 + length)
            found.append((message.offset(), partition, *struct.unpack(">qq", message.value())))


def in_store(service, topic):
    """Return the same from the store."""
    wanted = (
        "select number, partition, upstream, downstream from offset_syncs join offset_sync_places using (place)"
        " where flow = 'A->B' and topic = ? order by era, number"
    )
    store = service.config.parent / "mirrorwatch.db"
    with contextlib.closing(sqlite3.connect(store, timeout=10)) as connection:
        return connection.execute(wanted, (topic,)).fetchall()


def ids_in_store(service, topic):
    """Return the sides of which an id of this topic is in the store."""
    store = service.config.parent / "mirrorwatch.db"
    wanted = "select side from offset_sync_topic_ids where flow = 'A->B' and topic = ? order by side"
    with contextlib.closing(sqlite3.connect(store, timeout=10)) as connection:
        return [side for (side,) in connection.execute(wanted, (topic,))]


def is_all_there(service, client, topic, *, more_than=0):
    """Wait until the store has just what the topic has, and return how many that are."""

    def look():
        kept, written = in_store(service, topic), read_by_hand(client, topic)
        return len(written) > more_than and kept == written and len(written)

    try:
        return eventually(look, 60, what="all syncs in the store", every_s=1)
    except AssertionError as error:
        kept, written = in_store(service, topic), read_by_hand(client, topic)
        missing, other = sorted(set(written) - set(kept)), sorted(set(kept) - set(written))
        raise AssertionError(
            f"{error}: {len(written)} in the topic, {len(kept)} kept, missing {missing[:5]}, other {other[:5]}"
        ) from None


def has(service, topic, count):
    eventually(lambda: len(in_store(service, topic)) >= count, 60, what=f"{count} syncs kept", every_s=0.5)


@pytest.mark.long
def test_every_sync_is_kept_once_over_a_kill_and_a_restart(mirrored, service, kafka_pair):
    topic, traffic, _ = mirrored
    client = kafka_pair.a.client_properties()
    with service() as one:
        eventually(one.flow, 60, what="the service answers")
        has(one, topic, 9)
        traffic.pause()
        first = is_all_there(one, client, topic)

        # Killed in the middle of it: what was written meanwhile is there afterwards, and nothing twice.
        traffic.resume()
        has(one, topic, first + 6)
        one.kill()
        eventually(lambda: len(read_by_hand(client, topic)) > first + 18, 30, every_s=0.5)
        one.start()
        has(one, topic, first + 19)
        traffic.pause()
        second = is_all_there(one, client, topic, more_than=first + 18)

        # An orderly restart.
        one.end()
        traffic.resume()
        eventually(lambda: len(read_by_hand(client, topic)) > second + 6, 30, every_s=0.5)
        traffic.pause()
        one.start()
        is_all_there(one, client, topic, more_than=second + 6)
        assert not [where for where in one.problems() if "offset syncs" in where]
        # And which topics the pairs are about.
        eventually(lambda: ids_in_store(one, topic) == ["source", "target"], 60, every_s=0.5)
        one.end()


@pytest.mark.long
def test_a_flow_is_judged_by_its_syncs_where_nothing_else_may_be_read(mirrored, service):
    topic, traffic, running = mirrored
    with service(lag_from="offset-syncs") as one:
        told = said(one, "^Lag [0-9,]+ records? on", deadline_s=90)
        assert "is an estimate" in told
        eventually(lambda: metric(one, "replication_topic_lag_records", topic=topic) is not None, 60)
        assert metric(one, "replication_topic_lag_records", topic=topic) <= 20 * 100  # two looks' worth

        running.freeze()
        told = said(one, "No other partition moves", deadline_s=120)
        assert re.search(r"lag [\d,]+ record", told)
        assert metric(one, "replication_status") == 4

        running.thaw()
        said(one, "^Lag [0-9,]+ records? on", deadline_s=90)
        traffic.pause()
        eventually(lambda: metric(one, "replication_topic_lag_records", topic=topic) == 0, 60, every_s=0.5)
        assert metric(one, "replication_status") == 1
        one.end()
