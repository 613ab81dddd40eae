"""A cluster of five thousand topics: planned, counted and interrupted as an operator types it.

The copies are made by the test, under the same names and offsets, as a mirror does that keeps both.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from checksum.digest.record_hash import Content
from checksum.plan.file import read_plan
from deploy.local.pair import Pair
from deploy.local.properties import write_properties
from deploy.local.topics import admin_client
from tests.checksum_spark.logs import read_logs
from tests.checksum_spark.processes import below, command_line, is_connected
from tests.checksum_spark.small_mirror import FLUSH_S, Copy, write
from tests.eventually import eventually

TOPICS, HELD, EACH = 5000, 1000, 3  # topics; those with records, and how many
FAULTY, OF_FAULTY, LOST = "m-faulty", 40, 30  # a topic, its records, and the offset of the one that is lost
ALONE = [f"m-alone-{number}" for number in range(3)]  # topics with records that have no copy
AT_ONCE = 250  # topics that are made in one request
MADE_S, STARTED_S, RUN_S = 120.0, 120.0, 900.0
PLANS_S = 3.0  # after which a command is at planning
SOON_S = 10.0  # in which a command that is interrupted ends
MOST_LINES = 120  # that somebody reads
OK, FINDING, INTERRUPTED = 0, 1, 130


@dataclass
class Many:
    """Two brokers, a configuration, and what both sides hold by a full read: records by topic."""

    pair: Pair
    config: Path
    source: dict[str, int] = field(default_factory=dict)
    target: dict[str, int] = field(default_factory=dict)

    @property
    def comparable(self):
        """Return the topics of which both sides hold records."""
        return sorted(name for name, count in self.source.items() if count and self.target.get(name))


@pytest.fixture(scope="module")
def many(kafka_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    # Indexes are made as large as they may become.
    quick = {"log.index.size.max.bytes": "4096"}
    with Pair(kafka_folder / "many", flows=(), properties=quick) as pair:
        found = Many(pair, configured(pair, folder))
        begun_s = time.monotonic()
        names = [f"m-{number:04}" for number in range(TOPICS - 1 - len(ALONE))]
        sides = ((pair.a, [*names, FAULTY, *ALONE]), (pair.b, [*names, FAULTY]))
        make([(broker.client_properties(), wanted) for broker, wanted in sides])
        fill(pair, names[:HELD])
        found.source, found.target = (held(broker, wanted) for broker, wanted in sides)
        print(f"{TOPICS} topics were made and read in {time.monotonic() - begun_s:.0f} s")
        assert sum(found.source.values()) - sum(found.target.values()) == 1 + EACH * len(ALONE)
        yield found


def configured(pair, folder):
    """Write the configuration of a mirror that keeps names and offsets."""
    write_properties(
        folder / "mm2.properties",
        {
            "clusters": "A, B",
            "A.bootstrap.servers": pair.a.bootstrap,
            "B.bootstrap.servers": pair.b.bootstrap,
            "A->B.enabled": "true",
            "A->B.topics": "m-.*",
            "A->B.emit.offset-syncs.enabled": "false",
            "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy",
        },
    )
    config = folder / "mirrorwatch.json"
    config.write_text(
        json.dumps(
            {
                "mm2": "mm2.properties",
                "flows": {"A->B": {"lag_from": "equal-offsets"}},
                "store": {"url": f"sqlite:///{folder / 'mirrorwatch.db'}"},
            }
        )
    )
    return config


def make(wanted):
    """Make topics of one partition on several clusters, and wait until each has its leader."""

    def make_some(client, names):
        admin = admin_client(client)
        for at in range(0, len(names), AT_ONCE):
            asked = [NewTopic(name, 1, 1) for name in names[at : at + AT_ONCE]]
            for future in admin.create_topics(asked, operation_timeout=30, request_timeout=60).values():
                future.result(MADE_S)

        def led():
            seen = admin.list_topics(timeout=20.0).topics
            return all(name in seen and seen[name].partitions[0].leader >= 0 for name in names)

        eventually(led, MADE_S, what="all topics with their leaders", every_s=0.5)

    makers = [threading.Thread(target=make_some, args=one) for one in wanted]
    for one in makers:
        one.start()
    for one in makers:
        one.join()


def fill(pair, names):
    """Write the same to both sides; of one topic the copy lacks a record, whose offset a marker takes."""
    begun_ms = int(time.time() * 1000) - 3_600_000  # retention takes what is a week old
    here, there = (broker.client_properties() for broker in (pair.a, pair.b))
    for client, more in ((here, ALONE), (there, ())):
        producer = Producer({**client, "linger.ms": 50, "log_level": 0})
        for name in [*names, *more]:
            for number in range(EACH):
                producer.produce(name, b"value %d" % number, b"key", 0, timestamp=begun_ms + number)
                producer.poll(0)
        assert producer.flush(FLUSH_S) == 0
    copies = [
        Copy(0, Content(b"key", b"value %d" % number, begun_ms + number, None), number)
        for number in range(OF_FAULTY)
    ]
    write(here, FAULTY, copies)
    write(there, FAULTY, copies[: LOST - 1])
    write(there, FAULTY, copies[LOST - 1 : LOST], transaction=FAULTY)
    write(there, FAULTY, copies[LOST + 1 :])


def held(broker, names):
    """Return how many records each topic holds, by a full read."""
    logs = read_logs(broker.client_properties(), [(name, 0) for name in names])
    return {name: len(log) for (name, _), log in logs.items()}


class Typed:
    """A command of the checksum in a process of its own; how long it took, and its memory at most."""

    def __init__(self, many, folder, *arguments):
        self._path = folder / "said.txt"
        self._writes = self._path.open("wb")
        self.begun_s = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "mirrorwatch", "checksum", arguments[0], str(many.config), *arguments[1:]],
            stdout=self._writes,
            stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self._writes.close()

    def said(self):
        return self._path.read_text()

    def reads(self, port):
        """Tell whether Spark's Java is connected to a broker."""
        java = [pid for pid in below(self.process.pid) if "SparkSubmit" in command_line(pid)]
        return any(is_connected(pid, port) for pid in java)

    def is_interrupted(self):
        """See that it ends soon after Ctrl-C, with the status of that, and that its Java has ended too."""
        below_it = below(self.process.pid)
        interrupted_s = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        status, said = self.ended()
        took_s = time.monotonic() - interrupted_s
        assert (status, took_s < SOON_S) == (INTERRUPTED, True), (took_s, said)
        eventually(lambda: not any(map(command_line, below_it)), SOON_S, what="the end of all processes")

    def ended(self, within_s=RUN_S):
        """Return the exit status and all that was said."""
        most_mb = 0.0
        while self.process.poll() is None and time.monotonic() - self.begun_s < within_s:
            most_mb = max(most_mb, memory_mb(self.process.pid))
            time.sleep(0.2)
        status = self.process.wait(0.1)
        took_s = time.monotonic() - self.begun_s
        said = self.said()
        print(f"status {status} after {took_s:.1f} s, {most_mb:.0f} MB, {len(said.splitlines())} lines\n")
        print("\n".join([*said.splitlines()[:40], "...", *said.splitlines()[-40:]]))
        assert "Traceback" not in said, said
        return status, said


def memory_mb(pid):
    """Return the most memory that a process held so far, in MB; 0 of one that has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("VmHWM")), 0.0)
    except OSError:
        return 0.0


@pytest.mark.long
def test_a_plan_of_all_holds_every_topic_with_records_and_is_short_to_read(many, tmp_path):
    plan = tmp_path / "plan.json"
    with Typed(many, tmp_path, "plan", "--all", "--out", str(plan)) as command:
        status, said = command.ended()
    assert status == OK, said
    found, _ = read_plan(plan)
    assert [one.topic for one in found.topics] == many.comparable
    assert len(many.comparable) == HELD + 1
    for topic in found.topics:
        (partition,) = topic.partitions
        assert (partition.source.first, partition.source.until) == (0, many.source[topic.topic])
    assert [(one.topic, one.records) for one in found.left_out] == [(name, EACH) for name in ALONE]
    assert f"{HELD + 1:,} partitions of {HELD + 1:,} topics to compare" in said
    assert len(said.splitlines()) < MOST_LINES


@pytest.mark.long
@pytest.mark.parametrize("arguments", [("plan", "--all"), ("run", "--all", "--counts-only")])
def test_ctrl_c_while_it_is_planned_ends_it_soon(many, tmp_path, arguments):
    with Typed(many, tmp_path, *arguments) as command:
        time.sleep(PLANS_S)
        assert command.process.poll() is None, command.said()
        assert "Starting Spark" not in command.said()
        command.is_interrupted()


@pytest.mark.long
def test_ctrl_c_while_it_is_counted_ends_it_soon(many, tmp_path):
    with Typed(many, tmp_path, "run", "--all", "--counts-only", "--master", "local[2]") as command:
        eventually(
            lambda: command.reads(many.pair.a.port) or command.process.poll() is not None,
            STARTED_S,
            what="a reading",
        )
        command.is_interrupted()


@pytest.mark.long
def test_counts_of_all_name_the_one_topic_that_lacks_a_record(many, tmp_path):
    result = tmp_path / "result.json"
    arguments = ("run", "--all", "--counts-only", "--master", "local[2]", "--json", str(result))
    with Typed(many, tmp_path, *arguments) as command:
        status, said = command.ended()
    assert status == FINDING, said
    (document,) = json.loads(result.read_text())["runs"]
    (one,) = document["findings"]["shown"]
    assert (one["verdict"], one["topic"], one["partition"]) == ("lacking", FAULTY, 0), said
    assert (one["source_records"], one["target_records"]) == (OF_FAULTY, OF_FAULTY - 1)
    counted = {
        part["topic"]: (part["source_records"], part["target_records"])
        for part in document["partitions"]["shown"]
    }
    assert counted == {name: (many.source[name], many.target[name]) for name in many.comparable}
    assert re.search(rf"differing\n *{FAULTY} ", said), said  # the first row
    assert len(said.splitlines()) < MOST_LINES
