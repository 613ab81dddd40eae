"""Our reading of `__consumer_offsets` against the Admin API of the broker that wrote it, at the same moment."""

from __future__ import annotations

import time

from confluent_kafka import TopicPartition

from deploy.local import topics
from deploy.local.jars import kafka_version
from fleet.wire.commits import Committed, decode_commit_record
from tests.eventually import eventually
from tests.fleet.golden.commits_told import Told
from tests.fleet.golden.record_commits import (
    OFFSETS_TOPIC,
    Names,
    brief_is_gone,
    commit,
    end_groups,
    living_groups,
    what_admin_says,
)
from tests.real.mirrors.test_wire_of_real_mirrormaker import read_all

MODERN = not kafka_version().startswith("3.")


def told_by(broker):
    """Read everything that stands there, whoever's it is: none of it may be malformed."""
    told = Told()
    told.take(read_all(broker, OFFSETS_TOPIC))
    return told


def test_every_record_is_read_and_comes_to_what_the_admin_api_says(kafka_pair, topic_name):
    broker = kafka_pair.a
    client, names = broker.client_properties(), Names(topic_name())
    begun_ms = int(time.time() * 1000)
    with living_groups(client, names, modern=MODERN):
        told = told_by(broker)
        told.agrees_with(what_admin_says(client, names, modern=MODERN))
        ours = [one for held in told.positions.values() for one in held.values() if one.topic == names.topic]
        assert all(begun_ms <= one.committed_at_ms <= time.time() * 1000 for one in ours)
        # The request that commits within a transaction has no topic ids yet.
        topic_id = topics.topic_id(client, names.topic) if MODERN else None
        assert {one.topic_id for one in ours if one.group != names("transactional")} == {topic_id}
        assert {one.topic_id for one in ours if one.group == names("transactional")} == {None}
        if MODERN:
            assert told.kinds[names("share")] == "share"
    end_groups(client, names)
    # Positions on a deleted topic are taken away soon after it.
    eventually(lambda: brief_is_gone(client, names), 30, what=f"the end of positions on {names.brief}")
    told = told_by(broker)
    told.agrees_with(what_admin_says(client, names, modern=MODERN))
    assert names("deleted") not in told.kinds
    assert told.positions_of(names("deleted")) == []


def test_a_group_whose_name_has_32_kb_is_read(kafka_pair, topic_name):
    broker = kafka_pair.a
    client, topic = broker.client_properties(), topic_name()
    group = "g" * (32_767 - len(topic)) + topic
    topics.create_topic(client, topic)
    commit(client, group, TopicPartition(topic, 0, 3))
    found = [
        decode_commit_record(key, value)
        for key, value in read_all(broker, OFFSETS_TOPIC)
        if topic.encode() in key
    ]
    assert [one.group for one in found if isinstance(one, Committed)] == [group]
