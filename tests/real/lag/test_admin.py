"""Groups by the Admin API: chosen, or taken to where the commits may not be read; and the rights both need."""

from __future__ import annotations

import asyncio
import contextlib
import threading

import pytest
from confluent_kafka import Consumer

from deploy.local.groups import set_offsets
from deploy.local.topics import admin_client, create_topic
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rows import partition_rows
from lagmon.ingest.admin_rounds import AdminRounds
from lagmon.ingest.watching import ClusterWatch
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.process.clock import SystemClock
from tests.eventually import eventually, eventually_async
from tests.real.lag.test_groups import DEADLINE_S, Asked, Reader
from tests.real.service.process import ServiceProcess

PRINCIPAL = "User:watcher"


# --- chosen


@pytest.fixture
def asked(kafka_pair, no_mirror, topic_name, tmp_path):
    """Start the service that asks the Admin API, and give functions that ask it of groups on A."""
    service = ServiceProcess(
        tmp_path / "service",
        topic=topic_name("canary"),
        clusters={alias: broker.client_properties() for alias, broker in kafka_pair.brokers.items()},
        flows={"A->B": {"topics": "nothing-.*"}},
        lag={"commits": "admin"},
    )
    with service:
        yield Asked(service, kafka_pair.a.client_properties())


class Sitter:
    """A member of a group that reads nothing on and commits nothing."""

    def __init__(self, client, group, topic, **settings):
        self._consumer = Consumer({**client, "group.id": group, "enable.auto.commit": False, **settings})
        self._topic = topic
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._sit, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._ending.set()
        self._thread.join(30)

    def _sit(self):
        self._consumer.subscribe([self._topic])
        while not self._ending.is_set():
            self._consumer.poll(0.2)
        self._consumer.close()


@pytest.mark.long
def test_groups_of_both_protocols_that_move_then_stand_then_are_deleted(asked, topic_name):
    topic = topic_name()
    groups = {protocol: topic_name(protocol) for protocol in ("classic", "consumer")}
    create_topic(asked.client, topic, partitions=2)
    asked.write(topic, 50)
    with contextlib.ExitStack() as readers:
        for protocol, group in groups.items():
            readers.enter_context(Reader(asked.client, group, topic, **{"group.protocol": protocol}))
        for group in groups.values():
            read = asked.becomes(group, "OK", lag_records=0, members=1, commits_from="admin")
            assert [row["committed_offset"] for row in read["partitions"]] == [50, 50]
            eventually(
                lambda group=group: (
                    {row.get("client_id") for row in asked.group(group)["partitions"]}
                    == {f"reader-of-{group}"}
                ),
                DEADLINE_S,
                what=f"an owner of every partition of {group}",
            )
        asked.write(topic, 20)
        for group in groups.values():
            moved = asked.becomes(group, "OK", lag_records=0, deadline_s=60)
            eventually(
                lambda group=group: (
                    [row["committed_offset"] for row in asked.group(group)["partitions"]] == [70, 70]
                ),
                60,
                what=f"{group} at the new end",
            )
            assert moved["commits_from"] == "admin"
    asked.write(topic, 30)
    sitting, ended = groups["classic"], groups["consumer"]
    with Sitter(asked.client, sitting, topic):
        stalled = asked.becomes(sitting, "STALL", lag_records=60, members=1, deadline_s=180)
        assert "whether they commit is not visible" in stalled["sentence"]
        assert stalled["state"] == "stable"
        stopped = asked.becomes(ended, "STOP", lag_records=60, deadline_s=60)
        assert (stopped["members"], stopped["state"]) == (0, "empty")
        assert "has no active member" in stopped["sentence"]
        assert "commit" not in stopped["sentence"]
    assert asked.service.metric("commits_source", kafka_cluster="A", source="admin") == 1
    assert asked.service.metric("commits_source", kafka_cluster="A", source="topic") == 0
    assert asked.service.metric("commits_backfill_ratio", kafka_cluster="A") == 1
    assert asked.service.metric("lag_ready_seconds", kafka_cluster="A") > 0
    assert asked.service.metric("group_status", kafka_cluster="A", group=ended) == 4
    admin = admin_client(asked.client)
    admin.delete_consumer_groups([ended])[ended].result(30)
    eventually(lambda: not asked.group(ended), 60, what="the deleted group is gone")
    assert asked.burrow(f"/A/consumer/{ended}/status")[0] == 404


# --- fallback and rights


@pytest.fixture
def committed(secure_broker, topic_name):
    """Return a topic with one partition and ten records' worth of room, and a group that stands in it."""
    client = secure_broker.client_properties()
    topic, group = topic_name("t"), topic_name("g")
    create_topic(client, topic)
    set_offsets(client, group, {(topic, 0): 0})
    return topic, group


@contextlib.asynccontextmanager
async def watching(broker, commits_from):
    """Watch the secured broker as its principal, as the ingest process does."""
    watch = ClusterWatch(
        "S",
        ClientSettings(broker.client_properties("watcher")),
        ClusterLag(wanted=lambda _group, _topic: True),
        clock=SystemClock(),
        random=lambda: 0.5,
        commits_from=commits_from,
        retry_s=1.0,
    )
    stopping = asyncio.Event()
    task = asyncio.create_task(watch.run(stopping))
    try:
        yield watch
    finally:
        stopping.set()
        await asyncio.wait_for(task, 40)


def row_of(watch, group):
    """Return what is said of the group's only partition, None where nothing is."""
    with watch.lock:
        now_ms = int(SystemClock().wall_s() * 1000)
        rows, _ = partition_rows(watch.lag, watch.lag.see(now_ms), group)
    return rows[0] if rows else None


@pytest.mark.long
async def test_a_right_that_is_refused_then_granted_then_withdrawn(secure_broker, rights, committed):
    topic, group = committed
    rights.grant(topic, "DESCRIBE")
    rights.grant(group, "DESCRIBE", kind="GROUP")

    async def comes(source):
        def told():
            assert watch.commits_from in {"topic", "admin"}
            row = row_of(watch, group)
            return watch.commits_from == source and row is not None and row["status"] == "OK"

        await eventually_async(told, DEADLINE_S, what=f"the group by {source}; {watch.progress}")

    async with watching(secure_broker, "topic") as watch:
        # Not even Describe: the topic is not to be seen.
        await comes("admin")
        assert isinstance(watch.reader, AdminRounds)
        assert "Grant the principal Read on the topic __consumer_offsets" in watch.refusal
        rights.grant("__consumer_offsets", "DESCRIBE")
        await asyncio.sleep(25)  # two tries: to see that there is such a topic is no right to read it
        assert watch.commits_from == "admin"
        rights.grant("__consumer_offsets", "READ")
        await comes("topic")
        assert watch.refusal == ""
        rights.withdraw("__consumer_offsets")
        rights.grant("__consumer_offsets", "DESCRIBE")
        await comes("admin")


@pytest.mark.parametrize(
    ("commits_from", "needed"),
    [
        ("topic", (("TOPIC", "__consumer_offsets", "READ"), ("TOPIC", "", "DESCRIBE"))),
        ("admin", (("GROUP", "", "DESCRIBE"), ("TOPIC", "", "DESCRIBE"))),
    ],
)
async def test_the_least_rights_suffice_and_each_is_needed(
    secure_broker, rights, committed, commits_from, needed
):
    topic, group = committed
    named = [(kind, name or {"TOPIC": topic, "GROUP": group}[kind], right) for kind, name, right in needed]
    for lacking in (*named, None):
        rights.withdraw()
        for one in named:
            if one != lacking:
                kind, name, right = one
                rights.grant(name, right, kind=kind)
        async with watching(secure_broker, commits_from) as watch:

            def well(watch=watch):
                row = row_of(watch, group)
                return row is not None and row["status"] == "OK" and watch.commits_from == commits_from

            if lacking is None:
                await eventually_async(well, DEADLINE_S, what="the group with the least rights")
            else:
                await eventually_async(
                    lambda watch=watch: watch.ready_s is not None, DEADLINE_S, what="readiness"
                )
                await asyncio.sleep(3)
                assert not well(), lacking
