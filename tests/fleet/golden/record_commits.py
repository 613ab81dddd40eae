"""Make groups of every kind on a real broker: what it writes of them, and what its Admin API says of them.

`commits-4.3.0.json` and `commits-3.9.2.json` beside this file were made with it, from the root of the checkout:

    python -m tests.fleet.golden.record_commits 4.3
    python -m tests.fleet.golden.record_commits 3.9

A group of share consumers and one of KIP-848 are there from 4.3 on only. Times and ports are those of that day.
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    ShareConsumer,
    TopicPartition,
)

from deploy.local import topics
from deploy.local.broker import Broker
from deploy.local.jars import VERSIONS
from deploy.local.topics import admin_client
from tests.eventually import eventually
from tests.real.mirrors.test_wire_of_real_mirrormaker import read_all

OFFSETS_TOPIC = "__consumer_offsets"
TIMEOUT_S = 20
ODD = 'ö \x01<b>"'
LONG = "m" * 200  # its length takes two bytes of varint; the client library sends one byte more


@dataclass
class Names:
    """Topics and groups, with a word in each that makes them a test's own."""

    word: str
    topic: str = field(init=False)
    brief: str = field(init=False)

    def __post_init__(self):
        self.topic, self.brief = self("orders"), self("brief")

    def __call__(self, group):
        return f"{group}-{self.word}"

    def described(self, *, modern):
        groups = ["classic", "static", "consumer"] if modern else ["classic", "static"]
        return [self(group) for group in groups]

    def lasting(self, *, modern):
        groups = ["positions", "odd", "transactional", "altered"]
        return [*self.described(modern=modern), *(self(group) for group in groups)]


@contextmanager
def living_groups(client, names, *, modern):
    """Let every kind of group commit, and keep the members of those that have any until the end."""
    topics.create_topic(client, names.topic, partitions=3)
    topics.create_topic(client, names.brief)
    producer = Producer(client)
    for number in range(60):
        producer.produce(names.topic, value=b"%d" % number, partition=number % 3)
        producer.produce(names.brief, value=b"%d" % number)
    assert producer.flush(TIMEOUT_S) == 0
    with ExitStack() as stack:

        def joins(group, client_id, **settings):
            settings |= {"client.id": client_id}
            return stack.enter_context(member(client, names(group), **settings))

        members = [
            joins("classic", "first"),
            joins("classic", "second"),
            joins("static", "third", **{"group.instance.id": "seat-3"}),
        ]
        if modern:
            members += [
                joins("consumer", one, **{"group.protocol": "consumer"}) for one in ("fourth", "fifth")
            ]
            sharer = ShareConsumer(
                {**client, "group.id": names("share"), "client.id": "sixth", "log_level": 0}
            )
            stack.callback(sharer.close)
            sharer.subscribe([names.topic])
            sharer.poll(3.0)
        for one in members:
            one.subscribe([names.topic])
        eventually(
            lambda: settled(members, len(names.described(modern=modern))),
            40,
            what="an assignment of everybody",
            every_s=0,
        )
        for one in members:
            for place in one.assignment():
                one.commit(
                    offsets=[TopicPartition(place.topic, place.partition, 5 + place.partition, LONG)],
                    asynchronous=False,
                )
        commit(client, names("positions"), TopicPartition(names.topic, 0, 1))
        commit(client, names("positions"), TopicPartition(names.topic, 0, 2, "ü", 0))
        commit(client, names("positions"), TopicPartition(names.topic, 1, 1000, "m" * 125))
        commit(client, names("positions"), TopicPartition(names.topic, 2, 3, "m" * 126))
        commit(client, names("positions"), TopicPartition(names.brief, 0, 4))
        commit(client, names("odd") + ODD, TopicPartition(names.topic, 0, 6, ODD))
        commit_in_transactions(client, names)
        alter(client, names("altered"), TopicPartition(names.topic, 2, 12))
        commit(client, names("deleted"), TopicPartition(names.topic, 0, 7))
        yield


@contextmanager
def member(client, group, **settings):
    consumer = Consumer(
        {**client, "group.id": group, "enable.auto.commit": "false", "log_level": 0, **settings}
    )
    try:
        yield consumer
    finally:
        consumer.close()


def settled(members, groups):
    """Say whether each group has dealt out the three partitions among all of its members."""
    for one in members:
        one.poll(0.1)
    dealt = [len(one.assignment()) for one in members]
    return all(dealt) and sum(dealt) == 3 * groups


def commit(client, group, place):
    with member(client, group) as consumer:
        consumer.commit(offsets=[place], asynchronous=False)


def commit_in_transactions(client, names):
    """Commit 8 in a transaction that ends well and 9 in one that is aborted."""
    producer = Producer({**client, "transactional.id": names("writer"), "log_level": 0})
    producer.init_transactions(TIMEOUT_S)
    with member(client, names("transactional")) as consumer:
        for offset, end in ((8, producer.commit_transaction), (9, producer.abort_transaction)):
            producer.begin_transaction()
            producer.send_offsets_to_transaction(
                [TopicPartition(names.topic, 0, offset)], consumer.consumer_group_metadata(), TIMEOUT_S
            )
            end(TIMEOUT_S)


def alter(client, group, place):
    admin = admin_client(client)
    asked = [ConsumerGroupTopicPartitions(group, [place])]
    for future in admin.alter_consumer_group_offsets(asked).values():
        future.result(TIMEOUT_S)


def end_groups(client, names):
    """Take away a group, and the position of another by deleting its topic."""
    admin = admin_client(client)
    admin.delete_consumer_groups([names("deleted")])[names("deleted")].result(TIMEOUT_S)
    topics.delete_topic(client, names.brief)


def brief_is_gone(client, names):
    """Say whether nobody has a position any more on the topic that was deleted."""
    return all(topic != names.brief for topic, *_ in positions_of(admin_client(client), names("positions")))


def positions_of(admin, group):
    told = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(TIMEOUT_S)
    return sorted(
        [one.topic, one.partition, one.offset, one.metadata or "", one.leader_epoch]
        for one in told.topic_partitions
    )


def what_admin_says(client, names, *, modern):
    """Return the positions and the members of every group, and the ids of the topics."""
    admin = admin_client(client)
    groups = [*names.lasting(modern=modern), names("deleted")]
    groups[groups.index(names("odd"))] += ODD
    positions = {group: positions_of(admin, group) for group in groups}
    members = {}
    for group in names.described(modern=modern):
        told = admin.describe_consumer_groups([group])[group].result(TIMEOUT_S)
        members[group] = sorted(
            [
                one.member_id,
                one.group_instance_id,
                one.client_id,
                one.host,
                sorted([place.topic, place.partition] for place in one.assignment.topic_partitions),
            ]
            for one in told.members
        )
    ids = {topic: id_or_none(client, topic) for topic in (names.topic, names.brief)}
    return {"positions": positions, "members": members, "topic_ids": ids}


def id_or_none(client, topic):
    try:
        return topics.topic_id(client, topic)
    except KafkaException:
        return None


def main(version, folder):
    """Record everything once and write it beside this file."""
    modern = not version.startswith("3.")
    broker = Broker("A", Path(folder), version=version)
    names = Names("golden")
    client = broker.client_properties()
    stages = []

    def record():
        said = what_admin_says(client, names, modern=modern)
        records = [[part and part.hex() for part in one] for one in read_all(broker, OFFSETS_TOPIC)]
        before = sum(len(stage["records"]) for stage in stages)
        stages.append({"records": records[before:], "admin": said})

    try:
        broker.start()
        broker.wait_ready()
        with living_groups(client, names, modern=modern):
            record()
        end_groups(client, names)
        eventually(lambda: brief_is_gone(client, names), 30, what="the end of positions on a deleted topic")
        record()
    finally:
        broker.kill()
    path = Path(__file__).with_name(f"commits-{version}.json")
    path.write_text(json.dumps({"kafka": version, "stages": stages}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-golden-") as scratch:
        main(VERSIONS[sys.argv[1]], scratch)
