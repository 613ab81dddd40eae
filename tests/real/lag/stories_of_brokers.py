"""A broker that forgets offsets, an offsets topic that is compacted, and a broker of three that is away."""

from __future__ import annotations

import contextlib
import json
import re
import threading
import time

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_INVALID,
    Consumer,
    ConsumerGroupTopicPartitions,
    Producer,
    TopicPartition,
)

from deploy.local.replicas import leaders
from deploy.local.topics import admin_client
from fleet.dialect import moment_ms
from tests.eventually import eventually
from tests.real.lag.readers import PacedReader
from tests.real.lag.stage import DEADLINE_S, end_of, name_of, write
from tests.real.lag.stories_of_groups import groups_of
from tests.real.service.process import ServiceProcess

COMMITS = "__consumer_offsets"
RETENTION_S = 60  # as the broker X has it
SAME = ("committed_offset", "log_start_offset", "log_end_offset", "lag_records")


def groups_whose_offsets_expire(stage):
    """Known until the broker drops their offsets, and gone then; one that has a member stays."""
    topic, client, at, count = name_of("kept"), stage.clients["X"], 4, 10
    write(client, topic, count)
    groups, lively = groups_of("kept"), name_of("lively")
    with PacedReader(client, lively, topic, protocol="classic", every_s=5):
        with contextlib.ExitStack() as held:
            for protocol, group in groups.items():
                one = PacedReader(client, group, topic, protocol=protocol, every_s=1, always=at)
                held.enter_context(one).has_committed(at)
            for group in groups.values():
                stage.becomes("X", group, None, lag_records=count - at)
        left_at = time.time()
        admin = admin_client(client)
        for group in groups.values():

            def gone(group=group):
                return not stage.group("X", group)

            eventually(gone, DEADLINE_S, what=f"{group} is gone", every_s=1)
            assert time.time() - left_at >= RETENTION_S - 5
            asked = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])]
            (place,) = admin.list_consumer_group_offsets(asked)[group].result(30).topic_partitions
            assert place.offset == OFFSET_INVALID  # the broker has dropped it too
            assert stage.service.get(f"/v3/kafka/X/consumer/{group}/lag")[0] == 404
            assert stage.service.metric("group_status", kafka_cluster="X", group=group) is None
        stage.becomes("X", lively, "OK", lag_records=0, members=1)


def commits_of(client, group):
    """Return how many commits of a group are left in the offsets topic."""
    settings = {"group.id": "nobody", "enable.partition.eof": "true", "enable.auto.commit": False}
    consumer = Consumer({**client, **settings})
    try:
        consumer.assign([TopicPartition(COMMITS, 0, OFFSET_BEGINNING)])
        count = 0
        while (message := consumer.poll(20)) is not None and message.error() is None:
            count += group.encode() in (message.key() or b"") and message.value() is not None
        assert message is not None
        return count
    finally:
        consumer.close()


def what_is_read_after_a_compaction(stage):
    """The same as before, by a service that was not there before; hundreds of commits of it are gone."""
    topic, group, client, records, count = name_of("heavy"), name_of("heavy"), stage.clients["X"], 400, 300
    write(client, topic, records)
    consumer = Consumer({**client, "group.id": group, "enable.auto.commit": False})
    consumer.subscribe([topic])
    try:
        eventually(lambda: consumer.poll(0.1) or consumer.assignment(), 120, what="an assignment")
        for offset in range(1, count + 1):  # of 4 kB each: more than a segment in all
            place = TopicPartition(topic, 0, offset, "m" * 4000)
            consumer.commit(offsets=[place], asynchronous=False)
        before = stage.becomes("X", group, None, lag_records=records - count)["partitions"][0]
        eventually(
            lambda: commits_of(client, group) <= count // 2, DEADLINE_S, what="the compaction", every_s=2
        )
        another = ServiceProcess(
            stage.service.config.parent.parent / "another",
            topic=name_of("nothing"),
            clusters={alias: stage.clients[alias] for alias in "XB"},
            flows={"X->B": {"topics": "nothing-.*"}},
            canary={"mode": "off"},
            lag={"commits": "topic"},
        )
        with another:
            after = eventually(lambda: _first_row(another, group), DEADLINE_S, what="the same", every_s=1)
            another.end()
        assert {name: after[name] for name in SAME} == {name: before[name] for name in SAME}
        assert after["commits"][-1] == before["commits"][-1]
        assert len(after["commits"]) <= count // 2
        assert {name: stage.group("X", group)["partitions"][0][name] for name in SAME} == {
            name: before[name] for name in SAME
        }
    finally:
        consumer.close()


def _first_row(service, group):
    status, body = service.get(f"/api/v1/groups/X/{group}")
    row = json.loads(body)["partitions"][0] if status == 200 else None
    return row if row and row["lag_records"] is not None else None


def a_broker_of_three_that_is_away(stage):
    """What only it leads is UNKNOWN with the age; all the rest is judged, and all of it when it is back."""
    client, homed, spread, group = stage.clients["C"], name_of("homed"), name_of("spread"), name_of("three")
    config = {**client, "group.id": group, "auto.offset.reset": "earliest", "auto.commit.interval.ms": 1000}
    with _Running(_write_everywhere(client, (homed, spread))), _Running(_read(config, [homed, spread])):
        stage.becomes("C", group, "OK", members=1)
        everywhere = {(topic, number) for topic in (homed, spread) for number in range(3)}
        eventually(
            lambda: {(row["topic"], row["partition"]) for row in _rows(stage, group)} == everywhere,
            DEADLINE_S,
            what="it reads all six partitions",
            every_s=1,
        )
        before = stage.ingest()
        number = leaders(client, COMMITS)[0]  # so that reading of commits has to go elsewhere too
        broker = stage.three.brokers[number - 1]
        broker.kill()
        killed_at = time.time()
        alone = (homed, number - 1)

        def judged():
            rows = _rows(stage, group)
            words = {(row["topic"], row["partition"]): (row["status"], row["reason"]) for row in rows}
            lost = words.pop(alone, None) == ("UNKNOWN", "head_stale")
            return rows if lost and {status for status, _ in words.values()} == {"OK"} else None

        rows = eventually(judged, DEADLINE_S, what="what is led elsewhere is OK, the rest UNKNOWN", every_s=1)
        (row,) = [one for one in rows if (one["topic"], one["partition"]) == alone]
        assert re.match(
            r"Lag unknown: log end offset last read .* ago( \(limit: .*\))?, at .* UTC\.",
            row["sentence"],
        )
        assert killed_at - 20 <= moment_ms(row["since"]) / 1000 <= killed_at + 10
        assert row["lag_records"] is None
        assert time.time() - moment_ms(row["since"]) / 1000 >= 60
        found = stage.group("C", group)
        assert found["status"] == "UNKNOWN"
        assert found["partitions_by_status"] == {"OK": 5, "UNKNOWN": 1}
        led = {leaders(client, spread)[one] for one in range(3)}
        assert number not in led
        # What the others have is no older than a look or two.
        ends = {
            row["partition"]: row["log_end_offset"] for row in found["partitions"] if row["topic"] == spread
        }
        for partition, end in ends.items():
            assert end_of(client, spread, partition) - end <= 40 * 5
        broker.start()
        broker.wait_ready(deadline_s=180)
        stage.becomes("C", group, "OK", members=1)
        assert stage.ingest() == before


def _rows(stage, group):
    return stage.group("C", group).get("partitions", [])


class _Running:
    """Calls a step again and again on a thread."""

    def __init__(self, steps):
        self._steps, self._ending = steps, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._ending.set()
        self._thread.join(60)

    def _run(self):
        with contextlib.closing(self._steps):
            while not self._ending.is_set():
                next(self._steps)


def _write_everywhere(client, topics):
    """Write five records a second to each of three partitions; what is away for long is given up."""
    producer = Producer({**client, "message.timeout.ms": 5000})
    try:
        while True:
            for topic in topics:
                for partition in range(3):
                    producer.produce(topic, b"x", partition=partition)
            producer.poll(0)
            time.sleep(0.2)
            yield
    finally:
        producer.flush(10)


def _read(config, topics):
    consumer = Consumer(config)
    consumer.subscribe(topics)
    try:
        while True:
            consumer.poll(0.1)
            yield
    finally:
        consumer.close()
