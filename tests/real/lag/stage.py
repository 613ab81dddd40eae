"""One stack and one service for stories that wait for a minute and more, so that all of them wait at once."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from pathlib import Path
from urllib.parse import quote

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.cimpl import NewTopic

from deploy.local.broker import Broker, start_together
from deploy.local.cluster import Cluster
from deploy.local.properties import write_properties
from deploy.local.topics import add_partitions, admin_client, create_topic, partition_count
from tests.eventually import eventually
from tests.real.lag.test_mirrors import PARTITIONS, Traffic, ends_of
from tests.real.service.process import ServiceProcess

DEADLINE_S = 240
BRIEF_S = 600  # for how long the topic `brief` keeps its records
LACKED = 7  # records of the partition that the target lacks
# A broker whose offsets expire after a minute, and whose offsets topic is compacted as soon as it can be.
FORGETS = {
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "2000",
    "offsets.topic.segment.bytes": "1048576",
    "log.cleaner.backoff.ms": "500",
}
HEARTBEATS = "heartbeats"  # the mirror's own, which it mirrors too
ON_A = ("stall", "slow", "rewind", "deleted", "remade")


def name_of(word):
    return f"{word}-at-once"


class Writer:
    """Writes numbered records to partition 0 of a topic, so many a second, and notes when each was written."""

    def __init__(self, client, topic, *, per_s):
        self._producer = Producer({**client, "linger.ms": 0})
        self._topic, self._per_s = topic, per_s
        self.written_at = []  # epoch s, by the record's number
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._ending.set()
        self._thread.join(30)

    def written_by(self, at):
        """Return how many records were written by then."""
        return sum(one <= at for one in self.written_at)

    def _write(self):
        begun = time.monotonic()
        while not self._ending.wait(0.02):
            due = int((time.monotonic() - begun) * self._per_s)
            for number in range(len(self.written_at), due):
                self._producer.produce(self._topic, b"%d" % number, partition=0)
                self.written_at.append(time.time())
            self._producer.poll(0)
        self._producer.flush(20)


def write(client, topic, count, *, partition=0):
    """Write so many records to one partition and have them acknowledged."""
    producer = Producer(client)
    for number in range(count):
        producer.produce(topic, b"%d" % number, partition=partition)
    assert producer.flush(30) == 0


def end_of(client, topic, partition=0):
    consumer = Consumer({**client, "group.id": "nobody"})
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=20)[1]
    finally:
        consumer.close()


class Stage:
    """A and B with a mirror, three brokers C, a broker X that forgets soon, and the service that watches all.

    Topics are made before the service starts, since it looks for topics once a minute only. The mirror looks
    for partitions when it starts and never again, which the service is not told.
    """

    def __init__(self, pair, mirrors, folder):
        self.pair, self._mirrors, self._folder = pair, mirrors, folder
        self.three = Cluster("C", folder / "C")
        self.forgets = Broker("X", folder / "X", properties=FORGETS)
        brokers = {"A": pair.a, "B": pair.b, "C": self.three, "X": self.forgets}
        self.clients = {alias: one.client_properties() for alias, one in brokers.items()}
        self.canary, self.orders, self.brief, self.lacking = (
            name_of(word) for word in ("canary", "orders", "brief", "lacking")
        )
        self.mirror_came_back = threading.Event()  # after the story in which it is killed
        self._held = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as begun:
            begun.callback(self.three.kill)
            begun.callback(self.forgets.kill)
            start_together((self.three, self.forgets))
            self._prepare_mirror()
            for word in ON_A:
                create_topic(self.clients["A"], name_of(word))
            self.forgets.wait_ready(deadline_s=180)
            self.three.wait_ready(deadline_s=180)
            self._prepare_others()
            begun.enter_context(Traffic(self.clients["A"], self.orders))
            self.brief_writer = begun.enter_context(Writer(self.clients["A"], self.brief, per_s=5))
            begun.enter_context(Writer(self.clients["A"], self.canary, per_s=4))  # strangers among its probes
            self.service = begun.enter_context(self._service())
            self.began_at = time.time()
            self._held = begun.pop_all()
        return self

    def __exit__(self, *exception):
        self._held.close()

    def _prepare_mirror(self):
        a = self.clients["A"]
        create_topic(a, self.orders, partitions=PARTITIONS)
        create_topic(a, self.brief, config={"retention.ms": str(BRIEF_S * 1000)})
        for topic in (self.canary, self.lacking):
            create_topic(a, topic, partitions=2)
        if partition_count(a, HEARTBEATS) == 0:  # or it is there before the mirror looks, or after: by chance
            create_topic(a, HEARTBEATS, config={"cleanup.policy": "compact"})
        topics = f"{self.orders}|{self.brief}|{self.lacking}|{self.canary}"
        self.mirror = self._mirrors({"A->B.topics": topics, "refresh.topics.enabled": "false"}, fresh=True)
        for partition in (0, 1):
            write(a, self.lacking, 5, partition=partition)
        copy, b = f"A.{self.lacking}", self.clients["B"]
        # Until then its tasks may not know yet what they are to copy, and be given the third partition too.
        eventually(lambda: partition_count(b, copy) == 2, 60, what=copy, every_s=0.5)
        eventually(
            lambda: set(ends_of(b, copy, partitions=2).values()) == {5}, 60, what="5 each", every_s=0.5
        )
        add_partitions(a, self.lacking, total=3)
        write(a, self.lacking, LACKED, partition=2)

    def _prepare_others(self):
        create_topic(self.clients["X"], name_of("kept"))
        create_topic(self.clients["X"], name_of("heavy"))
        # One copy of each partition, on a broker of its own, beside a topic that all three have.
        homes = NewTopic(
            name_of("homed"),
            num_partitions=3,
            replica_assignment=[[1], [2], [3]],
            config={"min.insync.replicas": "1"},
        )
        spread = NewTopic(name_of("spread"), num_partitions=3, replication_factor=3)
        admin = admin_client(self.clients["C"])
        for future in admin.create_topics([homes, spread]).values():
            future.result(60)

    def _service(self):
        told = self._folder / "mm2.properties"
        write_properties(told, self.mirror.settings | {"refresh.topics.enabled": "true"})
        return ServiceProcess(
            self._folder / "service",
            topic=self.canary,
            mm2=told,
            clusters={alias: self.clients[alias] for alias in "CX"},
            flows={"C->X": {"topics": "nothing-.*"}},
            canary={"horizon": "30s"},
            lag={"commits": "topic", "per_partition": "true"},
        )

    # --- what is asked of the service

    def told(self, path):
        """Return the document at a path, None where there is none."""
        status, body = self.service.get(path)
        return json.loads(body) if status == 200 else None

    def group(self, alias, name):
        return self.told(f"/api/v1/groups/{alias}/{quote(name, safe='')}") or {}

    def becomes(self, alias, name, status, *, reason=None, deadline_s=DEADLINE_S, **numbers):
        """Wait until a group has this status (None: any), a worst row of this reason, and these numbers."""

        def look():
            found = self.group(alias, name)
            fits = found and status in (None, found["status"])
            fits = fits and all(found.get(key) == value for key, value in numbers.items())
            reasons = [row["reason"] for row in found.get("partitions", ())[:1]]
            return found if fits and (reason is None or reasons == [reason]) else None

        try:
            return eventually(look, deadline_s, what=f"{name} {status} {reason} {numbers}", every_s=1)
        except AssertionError as error:
            raise AssertionError(f"{error}; it says {self.group(alias, name)}") from None

    def burrow(self, alias, name):
        """Return Burrow's words for a group and for its only partition, which is given whole."""
        status, body = self.service.get(f"/v3/kafka/{alias}/consumer/{quote(name, safe='')}/lag")
        found = json.loads(body)
        assert (status, found["error"]) == (200, False)
        (partition,) = found["status"]["partitions"]
        return found["status"]["status"], partition["status"], partition

    def offsets(self):
        """Return what offsets say of the flow A->B, with all of its partitions."""
        return self.told(f"/api/v1/flows/{quote('A->B', safe='')}/offsets") or {}

    def looks_again(self, alias, *, times=2):
        """Wait until the ends of the logs of a cluster were looked at so many times more."""
        name = "collector_last_success_timestamp_seconds"
        for _ in range(times):
            at = self.service.metric(name, kafka_cluster=alias, collector="positions") or 0.0

            def again(at=at):
                return (self.service.metric(name, kafka_cluster=alias, collector="positions") or 0.0) > at

            eventually(again, DEADLINE_S, what=f"another look at {alias}", every_s=1)

    def ingest(self):
        """Return the process id of the lag monitor."""
        children = Path(f"/proc/{self.service.pid}/task/{self.service.pid}/children").read_text().split()
        (found,) = [one for one in children if b"lagmon" in Path(f"/proc/{one}/cmdline").read_bytes()]
        return int(found)
