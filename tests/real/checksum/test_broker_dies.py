"""A broker that dies in the middle of a checksum: the run goes on, or ends in one sentence; nothing is told twice."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from sqlite3 import connect

import pytest
from confluent_kafka import Producer

from checksum.digest.cell_rows import Side
from deploy.local.pair import Pair
from deploy.local.quotas import limit_clients
from deploy.local.topics import create_topic
from tests.checksum_spark.logs import read_logs
from tests.checksum_spark.processes import below, command_line, is_connected
from tests.eventually import eventually

PARTITIONS, RECORDS, RECORD_BYTES = 4, 6_000, 1000
LOST = 4_001  # of the records that the source was given
QUOTA = 400_000  # bytes a second that the broker which is to die gives the client id: reading takes seconds
STARTED_S, FLUSH_S = 300.0, 60.0
RUN_S = 480.0  # Spark waits a minute for a record, each of the three times that it tries
OK, FINDING, UNAVAILABLE = 0, 1, 4


@pytest.fixture(scope="module")
def pair(kafka_folder):
    """Start two brokers that no other test uses, since these are killed."""
    with Pair(kafka_folder / "dying", flows=()) as pair:
        yield pair


class Stage:
    """A topic on both brokers whose mirror is this test, and left out one record; checksums of it."""

    def __init__(self, pair, topic, folder):
        self.brokers = {Side.SOURCE: pair.a, Side.TARGET: pair.b}
        self.topic, self.names = topic, {Side.SOURCE: topic, Side.TARGET: f"A.{topic}"}
        self.folder, self.store = folder, folder / "mirrorwatch.db"
        self.config = folder / "mirrorwatch.yaml"
        self.config.write_text(
            json.dumps(
                {
                    "clusters": {one.alias: one.java_properties() for one in self.brokers.values()},
                    "flows": {"A->B": {"topics": topic}},
                    "checksum": {"topics": [topic], "client_id": topic},
                    "store": {"url": f"sqlite:///{self.store}"},
                }
            )
        )

    def give_up_soon(self):
        """Have Java's clients ask a broker that is gone for offsets for seconds, and not for a minute."""
        config = json.loads(self.config.read_text())
        for properties in config["clusters"].values():
            properties |= {"default.api.timeout.ms": "10000", "request.timeout.ms": "10000"}
        self.config.write_text(json.dumps(config))

    def write(self):
        begun_ms = int(time.time() * 1000) - 3_600_000  # retention takes what is a week old
        for side, broker in self.brokers.items():
            client = broker.client_properties()
            create_topic(client, self.names[side], partitions=PARTITIONS)
            producer = Producer({**client, "linger.ms": "50"})
            for number in range(RECORDS):
                if side is Side.TARGET and number == LOST:
                    continue
                producer.produce(
                    self.names[side], (b"%d " % number).ljust(RECORD_BYTES, b"v"),
                    partition=number % PARTITIONS, timestamp=begun_ms + number,
                    headers=[("number", b"%d" % number)],
                )  # fmt: skip
                producer.poll(0)
            assert producer.flush(FLUSH_S) == 0

    def lacking(self):
        """Return what the target lacks, as (partition, offset on the source), by a full read of both sides."""
        held = {
            side: read_logs(broker.client_properties(), [(self.names[side], n) for n in range(PARTITIONS)])
            for side, broker in self.brokers.items()
        }
        found = []
        for (_, number), log in held[Side.SOURCE].items():
            copies = {one.content for one in map(plain, held[Side.TARGET][f"A.{self.topic}", number])}
            found += [(number, one.offset) for one in map(plain, log) if one.content not in copies]
        return found

    def slow_down(self, side):
        limit_clients(self.brokers[side].bootstrap, self.topic, {"consumer_byte_rate": QUOTA})

    @contextmanager
    def begun(self, name):
        """Give a run in a process of its own, until it has ended or is killed here."""
        said, result = self.folder / f"{name}.txt", self.folder / f"{name}.json"
        with said.open("wb") as writes, subprocess.Popen(
            [
                sys.executable, "-m", "mirrorwatch", "checksum", "run", str(self.config), "--master", "local[2]",
                "--json", str(result),
            ],
            stdout=writes, stderr=subprocess.STDOUT,
        ) as process:  # fmt: skip
            try:
                yield Run(process, said, result)
            finally:
                process.kill()

    def run(self, name):
        with self.begun(name) as run:
            return run.ended()

    def kept(self):
        """Return how many runs are on, how many have ended, and how many partitions are verified."""
        with closing(connect(self.store)) as store:
            return store.execute(
                "SELECT (SELECT count(*) FROM checksum_open), (SELECT count(*) FROM checksum_runs),"
                " (SELECT count(*) FROM checksum_verified)"
            ).fetchone()


class Run:
    """A checksum that was typed; what it says goes to a file."""

    def __init__(self, process, said, result):
        self.process, self._said, self._result = process, said, result

    def reads(self, port):
        """Tell whether Spark's Java is connected to a broker; before it starts, only Python is."""
        java = [pid for pid in below(self.process.pid) if "SparkSubmit" in command_line(pid)]
        return any(is_connected(pid, port) for pid in java)

    def wait_reading(self, port):
        eventually(lambda: self.reads(port) or self.process.poll() is not None, STARTED_S, what="a reading")
        assert self.process.poll() is None, self.said()

    def said(self):
        return self._said.read_text()

    def ended(self, within_s=RUN_S):
        """Return the exit status, the flow's document, None where there is none, and all that was said."""
        status, said = self.process.wait(within_s), self.said()
        assert "Traceback" not in said, said
        assert "Exception" not in said, said
        document = json.loads(self._result.read_text())["runs"][0] if self._result.exists() else None
        return status, document, said


def plain(held):
    return held._replace(content=held.content._replace(headers=tuple(held.content.headers or ())))


def told(document):
    """Return the findings as (partition, offset on the source); each is of a lost record."""
    found = document["findings"]["shown"]
    assert {one["verdict"] for one in found} <= {"lost"}
    return [(one["partition"], one["source_offsets"][0]) for one in found]


def sentence_of(said, alias):
    """Return the one line that says why there is no result."""
    (line,) = [line for line in said.splitlines() if line.startswith("cluster ")]
    assert line.startswith((f"cluster {alias}:", f"cluster {alias} at ")), said
    return line


@pytest.fixture
def stage(pair, topic_name, tmp_path):
    found = Stage(pair, topic_name("dying"), tmp_path)
    found.write()
    return found


@pytest.mark.long
@pytest.mark.parametrize("side", list(Side))
def test_a_broker_that_is_killed_and_started_again_costs_no_finding_and_doubles_none(stage, side):
    lost, broker = stage.lacking(), stage.brokers[side]
    assert len(lost) == 1
    stage.slow_down(side)
    with stage.begun("first") as run:
        run.wait_reading(broker.port)
        time.sleep(1.0)  # records come
        broker.kill()
        assert run.process.poll() is None, run.said()
        broker.start()
        broker.wait_ready()
        status, document, said = run.ended()
    print(said)
    found = []
    if status == UNAVAILABLE:
        assert document is None, said
        sentence_of(said, broker.alias)
        assert stage.kept() == (0, 0, 0)
        status, document, said = stage.run("second")
        print(said)
    assert (status, document["coverage"], document["source_records"]) == (FINDING, 1.0, RECORDS), said
    found += told(document)
    status, document, said = stage.run("last")
    print(said)
    assert (status, document["nothing_new"]) == (OK, [stage.topic]), said
    assert found + told(document) == lost
    assert stage.kept() == (0, 2, PARTITIONS)
    assert stage.lacking() == lost


@pytest.mark.long
def test_a_target_that_dies_and_stays_away_ends_the_run_in_one_sentence(stage):
    lost, broker = stage.lacking(), stage.brokers[Side.TARGET]
    stage.give_up_soon()
    stage.slow_down(Side.TARGET)
    with stage.begun("first") as run:
        run.wait_reading(broker.port)
        time.sleep(1.0)
        begun_s = time.monotonic()
        broker.kill()
        try:
            status, document, said = run.ended()
            print(f"it took {time.monotonic() - begun_s:.0f} s\n{said}")
            assert (status, document) == (UNAVAILABLE, None), said
            assert "no answer in time" in sentence_of(said, "B")
            assert stage.kept() == (0, 0, 0)
            # Nor does one begin that cannot reach it.
            status, document, said = stage.run("second")
            print(said)
            assert (status, document) == (UNAVAILABLE, None), said
            sentence_of(said, "B")
            assert "Starting Spark" not in said
            assert stage.kept() == (0, 0, 0)
        finally:
            broker.start()
            broker.wait_ready()
    status, document, said = stage.run("third")
    print(said)
    assert "A->B: resuming plan" in said
    assert f"A: {RECORDS:,} of {RECORDS:,} offsets already read" in said
    assert (status, document["coverage"], told(document)) == (FINDING, 1.0, lost), said
    assert stage.kept() == (0, 1, PARTITIONS)
