"""Where partitions begin and end, many asked about at once, on real brokers."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from deploy.local.topics import add_partitions, create_topic, delete_topic
from runtime.kafka.positions import Partitions, Positions, Which
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.kafka.quick_offsets import AT_ONCE
from runtime.process.clock import SystemClock
from tests.eventually import eventually

PARTITIONS = AT_ONCE + 3
DEADLINE_S = 60


@pytest.fixture
def asked(kafka_pair, no_mirror):
    client = kafka_pair.a.client_properties()
    positions = Positions(ClientSettings(client), cluster="A", name="A", clock=SystemClock())
    positions.open()
    yield client, positions
    positions.close()


def test_each_of_many_partitions_has_its_own_answer(asked, topic_name):
    client, positions = asked
    topic = topic_name("many")
    create_topic(client, topic, partitions=PARTITIONS)
    producer = Producer({**client, "transactional.id": topic})
    producer.init_transactions()
    counts = [number % 7 for number in range(PARTITIONS)]

    def write():
        producer.begin_transaction()
        for number, count in enumerate(counts):
            for _ in range(count):
                producer.produce(topic, b"x", partition=number)
        producer.flush()

    def listed():
        leaders = positions.topics()[topic].leaders
        return len(leaders) == PARTITIONS and None not in leaders

    write()
    producer.commit_transaction()
    write()  # and leave this one open
    eventually(listed, DEADLINE_S)
    partitions = Partitions((topic, number) for number in range(PARTITIONS))
    # The end of a transaction is a record too.
    committed = [count + 1 if count else 0 for count in counts]
    both = [first + count for first, count in zip(committed, counts, strict=True)]
    eventually(lambda: positions.read(partitions, Which.STABLE) == committed, DEADLINE_S)
    assert positions.read(partitions, Which.START) == [0] * PARTITIONS
    assert positions.read(partitions, Which.END) == both
    producer.abort_transaction()


def test_partitions_that_a_topic_gets_later_are_known_at_the_next_look(asked, topic_name):
    client, positions = asked
    topic = topic_name("grows")
    create_topic(client, topic, partitions=1)
    eventually(lambda: topic in positions.topics(), DEADLINE_S)
    assert positions.read([(topic, 0)], Which.END) == [0]
    add_partitions(client, topic, total=3)
    eventually(lambda: positions.topics()[topic].leaders == (1, 1, 1), DEADLINE_S)
    assert positions.read([(topic, number) for number in range(3)], Which.END) == [0, 0, 0]


def test_a_topic_that_is_deleted_takes_no_other_with_it(asked, topic_name):
    client, positions = asked
    stays, goes = topic_name("many"), topic_name("zzz")  # which a question of its own is for, the last one
    create_topic(client, stays, partitions=AT_ONCE)
    create_topic(client, goes, partitions=1)
    eventually(lambda: {stays, goes} <= positions.topics().keys(), DEADLINE_S)
    partitions = Partitions([*((stays, number) for number in range(AT_ONCE)), (goes, 0)])
    eventually(lambda: positions.read(partitions, Which.END) == [0] * (AT_ONCE + 1), DEADLINE_S)
    delete_topic(client, goes)
    looks = []

    def gone():
        looks.append(positions.read(partitions, Which.END))
        return looks[-1][-1] < 0

    eventually(gone, DEADLINE_S)
    looks += [positions.read(partitions, Which.END) for _ in range(3)]
    assert all(look[:-1] == [0] * AT_ONCE for look in looks)
