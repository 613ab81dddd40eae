"""Consumer groups as they are, read and judged by the service from real commits."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import threading
from pathlib import Path
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from deploy.local.broker import Broker
from deploy.local.groups import set_offsets
from deploy.local.topics import admin_client, create_topic, delete_topic
from tests.eventually import eventually
from tests.mirrorwatch.markup import Markup
from tests.real.service.process import ServiceProcess

PARTITIONS = 2
DEADLINE_S = 90
LONGEST_NAME_BYTES = 32_767  # Kafka's protocol has no longer string in the key of a commit
LONGEST_LABEL_BYTES = 256
ODD = "<script>document.title='taken'</script>\"'&\\\t\u202e/../?id=1#%2F \u00e9\U0001f98a"


class Reader:
    """A consumer of a group that reads and commits until it is told to end, or to stand still."""

    def __init__(self, client, group, topic, **settings):
        self._config = {
            **client,
            "group.id": group,
            "client.id": f"reader-of-{group}",
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 500,
            **settings,
        }
        self._topic = topic
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._ending.set()
        self._thread.join(30)

    def _read(self):
        consumer = Consumer(self._config)
        consumer.subscribe([self._topic])
        while not self._ending.is_set():
            consumer.poll(0.1)
        consumer.close()


@pytest.fixture
def asked(kafka_pair, no_mirror, topic_name, tmp_path):
    """Start the service with the lag monitor on, and give functions that ask it of groups on A."""
    clusters = {alias: broker.client_properties() for alias, broker in kafka_pair.brokers.items()}
    service = ServiceProcess(
        tmp_path / "service",
        topic=topic_name("canary"),
        clusters=clusters,
        flows={"A->B": {"topics": "nothing-.*"}},
        lag={"commits": "topic", "per_partition": "true"},
    )
    with service:
        yield Asked(service, kafka_pair.a.client_properties())


class Asked:
    """What is asked of the service, and of the broker A."""

    def __init__(self, service, client):
        self.service = service
        self.client = client

    def group(self, name):
        """Return what is said of a group, empty while it is not known."""
        status, body = self.service.get(f"/api/v1/groups/A/{quote(name, safe='')}")
        return json.loads(body) if status == 200 else {}

    def becomes(self, name, status, *, deadline_s=DEADLINE_S, **numbers):
        """Wait until a group has this status (None: any) and these numbers; return what is said of it then."""

        def look():
            found = self.group(name)
            fits = all(found.get(key) == value for key, value in numbers.items())
            return found if found and status in (None, found["status"]) and fits else None

        try:
            return eventually(look, deadline_s, what=f"{name} {status} {numbers}", every_s=0.5)
        except AssertionError as error:
            raise AssertionError(f"{error}; it says {self.group(name)}") from None

    def burrow(self, path):
        """Return status and document of Burrow's API."""
        status, body = self.service.get(f"/v3/kafka{path}")
        return status, json.loads(body)

    def write(self, topic, count, **settings):
        """Write so many records to every partition of a topic."""
        producer = Producer({**self.client, **settings})
        if "transactional.id" in settings:
            producer.init_transactions(30)
            producer.begin_transaction()
        for number in range(count):
            for partition in range(PARTITIONS):
                producer.produce(topic, b"%d" % number, partition=partition)
        assert producer.flush(30) == 0
        return producer

    def ingest(self):
        """Return the process id of the lag monitor."""
        children = Path(f"/proc/{self.service.pid}/task/{self.service.pid}/children").read_text().split()
        (found,) = [one for one in children if b"lagmon" in Path(f"/proc/{one}/cmdline").read_bytes()]
        return int(found)


@pytest.mark.long
def test_groups_of_both_protocols_that_read_then_end_then_come_back(asked, topic_name):
    topic = topic_name()
    groups = {protocol: topic_name(protocol) for protocol in ("classic", "consumer")}
    create_topic(asked.client, topic, partitions=PARTITIONS)
    asked.write(topic, 50)

    @contextlib.contextmanager
    def reading():
        with contextlib.ExitStack() as readers:
            for protocol, group in groups.items():
                readers.enter_context(Reader(asked.client, group, topic, **{"group.protocol": protocol}))
            yield

    with reading():
        for group in groups.values():
            read = asked.becomes(group, "OK", lag_records=0, members=1)
            assert [row["committed_offset"] for row in read["partitions"]] == [50, 50]
            eventually(
                lambda group=group: (
                    {row.get("client_id") for row in asked.group(group)["partitions"]}
                    == {f"reader-of-{group}"}
                ),
                DEADLINE_S,
                what=f"an owner of every partition of {group}",
            )
    asked.write(topic, 30)
    for group in groups.values():
        stopped = asked.becomes(group, "STOP", lag_records=2 * 30, deadline_s=150)
        assert stopped["members"] == 0
        assert "lag 30 at offset 50" in stopped["sentence"]
        assert asked.service.metric("group_status", kafka_cluster="A", group=group) == 4
        assert asked.service.metric("group_lag_records", kafka_cluster="A", group=group) == 60
        labels = {"kafka_cluster": "A", "group": group, "topic": topic, "partition": "1"}
        assert asked.service.metric("group_partition_lag_records", **labels) == 30
        code, told = asked.burrow(f"/A/consumer/{group}/lag")
        assert (code, told["status"]["totallag"]) == (200, 60)
        assert told["status"]["status"] in {"OK", "ERR"}  # Burrow's rules have their own clock
    with reading():
        for group in groups.values():
            asked.becomes(group, "OK", lag_records=0)


def test_only_what_was_committed_counts(asked, topic_name):
    topic, group = topic_name("t"), topic_name("g")
    create_topic(asked.client, topic, partitions=PARTITIONS)
    asked.write(topic, 100)
    producer = asked.write(topic, 0, **{"transactional.id": topic_name("x")})
    member = Consumer({**asked.client, "group.id": group})
    producer.send_offsets_to_transaction([TopicPartition(topic, 0, 40)], member.consumer_group_metadata(), 30)
    producer.commit_transaction(30)
    asked.becomes(group, None, lag_records=60)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition(topic, 0, 90)], member.consumer_group_metadata(), 30)
    producer.abort_transaction(30)
    producer.begin_transaction()
    producer.send_offsets_to_transaction([TopicPartition(topic, 0, 41)], member.consumer_group_metadata(), 30)
    producer.commit_transaction(30)
    found = asked.becomes(group, None, lag_records=59)
    assert [commit["offset"] for commit in found["partitions"][0]["commits"]] == [40, 41]
    member.close()


@pytest.mark.long
def test_who_commits_past_the_end_all_the_time_is_not_called_well(asked, topic_name):
    topic, group, over = topic_name("t"), topic_name("g"), threading.Event()
    create_topic(asked.client, topic, partitions=PARTITIONS)
    asked.write(topic, 100)

    def commit():
        member = Consumer({**asked.client, "group.id": group, "enable.auto.commit": False})
        member.assign([TopicPartition(topic, 0)])
        while not over.wait(0.2):
            member.commit(offsets=[TopicPartition(topic, 0, 5_000)], asynchronous=False)
        member.close()

    committing = threading.Thread(target=commit, daemon=True)
    committing.start()
    try:
        found = asked.becomes(group, "UNKNOWN")
        assert "committed offset 5000 is beyond the log end offset 100" in found["sentence"]
        asked.write(topic, 5_000)
        asked.becomes(group, "OK")
    finally:
        over.set()
        committing.join(30)


def test_groups_of_32_kb_and_of_odd_characters_are_told_everywhere(asked, topic_name):
    topic, brand = topic_name("t"), topic_name("g")
    longest = brand + "x" * (LONGEST_NAME_BYTES - len(brand))
    digest = hashlib.sha256(longest.encode()).hexdigest()[:20]
    labels = {longest: f"{longest[: LONGEST_LABEL_BYTES - 21]}~{digest}", brand + ODD: brand + ODD}
    create_topic(asked.client, topic, partitions=PARTITIONS)
    asked.write(topic, 10)
    for group in labels:
        set_offsets(asked.client, group, {(topic, 0): 4})
    for group, label in labels.items():
        assert asked.becomes(group, None, lag_records=6)["group"] == group
        for what in ("lag", "status"):
            code, told = asked.burrow(f"/A/consumer/{quote(group, safe='')}/{what}")
            assert (code, told["status"]["group"], told["status"]["totallag"]) == (200, group, 6)
        assert asked.service.metric("group_lag_records", kafka_cluster="A", group=label) == 6
        place = {"topic": topic, "partition": "0"}
        assert (
            asked.service.metric("group_partition_lag_records", kafka_cluster="A", group=label, **place) == 6
        )
    assert set(labels) <= set(asked.burrow("/A/consumer")[1]["consumers"])
    status, page = asked.service.get(f"/groups?search={brand}")
    listed = Markup(page)
    links = [one["href"] for one in listed.all("a") if one["href"].startswith("/groups/A/")]
    assert (status, len(links)) == (200, 2)
    of_id = [link for link in links if "?id=" in link]
    assert len(of_id) == 1  # a browser's address holds no 32 KB
    found = {}
    for link in links:
        status, page = asked.service.get(link)
        assert status == 200
        found[json.loads(asked.service.get("/api/v1" + link)[1])["group"]] = Markup(page)
    assert found.keys() == labels.keys()
    for markup in (listed, *found.values()):
        assert [script["src"].partition("?")[0] for script in markup.all("script")] == ["/static/page.js"]
        assert brand in markup.text
        assert "\u202e" not in markup.text  # it would turn what follows around
    assert "<script>document.title='taken'</script>" in found[brand + ODD].text
    asked.service.end()


def test_a_group_and_a_topic_that_go_away_are_forgotten(asked, topic_name):
    kept, gone, group, other = (topic_name(word) for word in ("kept", "gone", "g", "h"))
    for topic in (kept, gone):
        create_topic(asked.client, topic, partitions=PARTITIONS)
        asked.write(topic, 10)
    admin = admin_client(asked.client)
    for name in (group, other):
        set_offsets(asked.client, name, {(kept, 0): 10, (gone, 0): 10})
    for name in (group, other):
        asked.becomes(name, "OK", lag_records=0)
    delete_topic(asked.client, gone)
    eventually(
        lambda: [row["topic"] for row in asked.group(other)["partitions"]] == [kept],
        DEADLINE_S,
        what="the offset on the deleted topic is gone",
    )
    admin.delete_consumer_groups([group])[group].result(30)
    eventually(lambda: not asked.group(group), DEADLINE_S, what="the deleted group is gone")
    assert asked.burrow(f"/A/consumer/{group}/status")[0] == 404


def test_a_monitor_that_is_killed_comes_back_and_knows_what_it_knew(asked, topic_name):
    topic, group = topic_name("t"), topic_name("odd/ name \u00e9 <b>")
    create_topic(asked.client, topic, partitions=PARTITIONS)
    asked.write(topic, 10)
    set_offsets(asked.client, group, {(topic, 0): 10})
    asked.becomes(group, "OK", lag_records=0)
    before = asked.ingest()
    os.kill(before, signal.SIGKILL)

    def again():
        with contextlib.suppress(ValueError):
            return asked.ingest() != before
        return False

    eventually(again, DEADLINE_S, what="another process of the monitor")
    asked.becomes(group, "OK", lag_records=0)
    asked.service.end()
    assert not Path(f"/proc/{before}").exists()


@pytest.mark.long
def test_a_cluster_where_nobody_ever_committed_and_its_restart(kafka_pair, no_mirror, topic_name, tmp_path):
    topic, group = topic_name(), topic_name("g")
    fresh = Broker("X", tmp_path / "fresh")
    service = ServiceProcess(
        tmp_path / "service",
        topic=topic_name("canary"),
        clusters={"X": fresh.client_properties(), "A": kafka_pair.a.client_properties()},
        flows={"X->A": {"topics": "nothing-.*"}},
        lag={"commits": "topic"},
    )
    with contextlib.ExitStack() as held:
        held.callback(fresh.kill)
        fresh.start()
        fresh.wait_ready()
        held.enter_context(service)

        def told(path):
            status, body = service.get(path)
            return json.loads(body) if status == 200 else None

        def is_read(found):
            return found if found is not None and found["clusters"][0]["not_ready"] is None else None

        listed = "/api/v1/groups?kafka_cluster=X"
        empty = eventually(lambda: is_read(told(listed)), DEADLINE_S, what="an answer about X", every_s=0.5)
        assert (empty["groups"], empty["clusters"][0]["not_ready"]) == ([], None)
        client = fresh.client_properties()
        create_topic(client, topic, partitions=1)
        places = {(topic, 0): 0}
        for _ in range(2):
            set_offsets(client, group, places)

        def commits():
            found = told(f"/v3/kafka/X/consumer/{group}")  # every one: ours leaves out most of a plateau
            return [one["offset"] for one in found["topics"][topic][0]["offsets"] if one] if found else None

        eventually(lambda: commits() == [0, 0], DEADLINE_S, what="both commits", every_s=0.5)
        fresh.restart()
        set_offsets(client, group, places)
        eventually(lambda: commits() == [0, 0, 0], DEADLINE_S, what="the third one and no other", every_s=0.5)
        last = f"/api/v1/groups/X/{group}"
        try:
            eventually(lambda: told(last)["status"] == "OK", DEADLINE_S, what="OK", every_s=0.5)
        except AssertionError as error:
            raise AssertionError(f"{error}; it says {told(last)}") from None
