"""What is said of records that nobody can read: a sample that harms no log, at the first, and once an hour."""

from __future__ import annotations

import io
import json
import threading
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.cluster.state import ClusterLag
from lagmon.ingest import worker_topic
from lagmon.ingest.commits import CommitsReader
from lagmon.ingest.malformed import AGAIN_MS, SAMPLE_BYTES, MalformedNotice, sample_of
from lagmon.ingest.worker_topic import WorkerTopic
from lagmon.mirrors.progress.connect import MirrorOffsets
from lagmon.mirrors.tasks.worker import StatesIntake
from runtime.kafka.bulk import Batch
from runtime.process import logs
from runtime.process.logs import Redactor
from tests.lagmon.mirror_flows import NOW, Mirrored, S
from tests.runtime.fake_clock import FakeClock

BYTES = st.binary(max_size=4 * SAMPLE_BYTES)


@given(BYTES | st.none(), BYTES | st.none())
def test_a_sample_is_short_and_harmless_whatever_was_written(key, value):
    sample = sample_of("It is none.", key, value)
    assert sample.startswith("It is none. (")
    assert sample.isascii()
    assert sample.isprintable()
    assert len(sample) < 2 * 4 * SAMPLE_BYTES + 150


def test_a_sample_says_what_was_left_out_and_shows_no_secret_that_is_known():
    sample = sample_of("Why.", b"\x00\x63pass=hunter2secret", b"v" * 5000)
    assert Redactor(["hunter2secret"]).text(sample) == (
        f"Why. (key '\\x00cpass=***', value '{'v' * SAMPLE_BYTES}', the first {SAMPLE_BYTES} of 5000 bytes)"
    )
    assert sample_of("Why.", None) == "Why. (it has no key)"


def test_it_is_said_at_the_first_and_once_an_hour_while_more_come():
    notice = MalformedNotice("Kafka's brokers")
    assert notice.due(0, NOW) == ""
    assert notice.due(1, NOW) == (
        "cannot read 1 record of this topic; its content is missing here. If only Kafka's brokers should write "
        "to it, please report this with the sample"
    )
    assert [notice.due(1 + number, NOW + number * S) for number in range(1, 3600)] == [""] * 3599
    again = notice.due(1200, NOW + AGAIN_MS)
    assert "cannot read 1,200 records of this topic (1,199 since the last message)" in again
    assert notice.due(1200, NOW + 9 * AGAIN_MS) == ""  # no more have come


def test_a_clock_that_is_set_back_does_not_silence_it():
    notice = MalformedNotice("Kafka Connect")
    assert notice.due(1, NOW)
    assert notice.due(2, NOW - 30 * AGAIN_MS)


# --- those who read


class Records:
    """A bulk reader that hands over what it is given, a batch each time."""

    def __init__(self, *batches):
        self.batches = list(batches)

    def open(self, _partitions):
        pass

    def take(self, **_):
        return self.batches.pop(0) if self.batches else Batch([], [])

    def positions(self):
        return {}

    def close(self):
        pass


@pytest.fixture
def logged():
    """Give a function that returns all that was logged."""
    stream = io.StringIO()
    undo = logs.configure(form="json", level="info", stream=stream, redactor=Redactor(["hunter2secret"]))
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    undo()


def batch_of(*records):
    keys, values = zip(*records, strict=True)
    return Batch(list(keys), list(values), times_ms=[NOW] * len(keys))


def test_a_reader_of_commits_logs_the_first_that_is_none_and_reads_on(logged):
    lag, clock = ClusterLag(wanted=lambda *_: True), FakeClock()
    lag.begin_commits(1)
    good = (encode_commit_key("g", "t", 0), encode_commit_value(5, NOW))
    bad = (b"\x00\x63\x1b[31mhunter2secret", b"\x00\x01value")

    def reads(*batches):
        # As after a broken connection, each time: the topic is read anew, by another reader.
        reader = CommitsReader(None, lag, threading.Lock(), cluster="A", clock=clock)
        reader._bulk = Records(*batches)
        for _ in batches:
            reader._take()

    reads(batch_of(bad, good), batch_of(bad, bad))
    reads(batch_of(bad))
    (told,) = logged()
    assert (told["level"], told["kafka_cluster"], told["topic"]) == ("warning", "A", "__consumer_offsets")
    assert told["sentence"].startswith("cannot read 1 record of this topic; ")
    assert "has version 99, and versions 0 to 23 are known." in told["sample"]
    assert "\\x1b[31m***" in told["sample"]
    assert "value '\\x00\\x01value'" in told["sample"]
    clock.advance(3600)
    reads(batch_of(bad))
    assert logged()[1]["sentence"].startswith("cannot read 5 records of this topic (4 since ")
    assert (lag.intake.taken.malformed, lag.intake.taken.commits) == (5, 1)


def test_a_reader_of_a_mirror_s_offsets_logs_the_first_that_is_none(logged):
    flow = Mirrored().flow
    reader = MirrorOffsets(None, [flow], host=flow.target, lock=threading.Lock(), clock=FakeClock())
    reader._start(1)
    bulk = Records(batch_of((b"no \x07json", b"{}")), batch_of((b"none either", b"{}")))
    reader._take(bulk)
    reader._take(bulk)
    (told,) = logged()
    assert (told["kafka_cluster"], told["topic"]) == ("B", "mm2-offsets.A.internal")
    assert told["sentence"].startswith("cannot read 1 record of this topic; ")
    assert told["sample"].endswith("is not JSON. (key 'no \\x07json')")


def test_a_reader_of_tasks_states_logs_the_first_that_is_none_without_what_it_says(logged, monkeypatch):
    flow = Mirrored().flow
    good = json.dumps({"state": "FAILED", "trace": "it broke", "worker_id": "x", "generation": 1}).encode()
    records = Records(
        batch_of((b"status-task-MirrorSourceConnector-0", b"{password: other}"), (b"status-task-x", b"{}")),
        batch_of((b"status-task-MirrorSourceConnector-1", good)),
    )
    monkeypatch.setattr(worker_topic, "Bulk", lambda *_, **__: records)
    reader = WorkerTopic(
        None,
        StatesIntake([flow], str),
        cluster="B",
        topic="connect-status",
        host=flow.target,
        lock=threading.Lock(),
        clock=FakeClock(),
    )
    reader._ending = SimpleNamespace(is_set=lambda: not records.batches)
    reader._read(1)
    (told,) = logged()
    assert (told["kafka_cluster"], told["topic"]) == ("B", "connect-status")
    assert told["sentence"].startswith("cannot read 2 records of this topic; ")
    assert told["sample"] == "A state is not JSON. (key 'status-task-MirrorSourceConnector-0')"
    assert [one.task for one in flow.states.in_state("FAILED")] == [1]
