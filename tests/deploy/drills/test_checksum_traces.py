"""What shows that a fault was there: records as a consumer hands them out, ids and counts of the stack."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    KafkaError,
    KafkaException,
)

from deploy.drills import checksum_traces as module
from deploy.drills.checksum_traces import GIVEN_UP, MIRROR, STAMPED, TARGET, TRACES


class Message:
    def __init__(self, offset=0, kind=TIMESTAMP_CREATE_TIME, *, of=0, code=None):
        self.at, self.kind, self.of, self.code = offset, kind, of, code

    def partition(self):
        return self.of

    def offset(self):
        return self.at

    def timestamp(self):
        return self.kind, 1000

    def error(self):
        return None if self.code is None else KafkaError(self.code)


END, OTHER_END = (Message(of=number, code=KafkaError._PARTITION_EOF) for number in range(2))
PAIR = SimpleNamespace(
    mirror=SimpleNamespace(pid=17),
    a=SimpleNamespace(client_properties=lambda: {"bootstrap.servers": "a:1"}),
    b=SimpleNamespace(client_properties=lambda: {"bootstrap.servers": "b:1"}, pid=23),
)


@pytest.fixture
def logs(monkeypatch):
    """Give what is read of a cluster by isolation, for two partitions of any topic."""
    held = {}

    class Consumer:
        def __init__(self, settings):
            self.left = list(held[settings["bootstrap.servers"], settings["isolation.level"]])

        def assign(self, places):
            self.places = [one.partition for one in places]

        def poll(self, _wait_s):
            assert self.places == [0, 1]
            return self.left.pop(0) if self.left else None

        def close(self):
            pass

    monkeypatch.setattr(module, "Consumer", Consumer)
    monkeypatch.setattr(module.topics, "partition_count", lambda *_: 2)
    return held


def test_processes_are_those_of_the_newest_start():
    assert (TRACES[MIRROR](PAIR, "t"), TRACES[TARGET](PAIR, "t")) == (17, 23)


def test_records_that_were_given_up_are_those_that_a_committed_reader_skips(logs):
    logs["a:1", "read_uncommitted"] = [Message(0), END, Message(1), END, Message(2, of=1), OTHER_END]
    written_meanwhile = [Message(offset) for offset in range(10, 20)]
    logs["a:1", "read_committed"] = [Message(0), END, *written_meanwhile, OTHER_END]
    assert TRACES[GIVEN_UP](PAIR, "t") == 2


def test_records_that_the_target_stamped_are_counted(logs):
    stamps = [Message(offset, TIMESTAMP_LOG_APPEND_TIME) for offset in (4, 5)]
    logs["b:1", "read_uncommitted"] = [Message(3), stamps[0], OTHER_END, stamps[1], END]
    assert TRACES[STAMPED](PAIR, "t") == 2


def test_half_a_topic_is_no_answer(logs):
    logs["b:1", "read_uncommitted"] = [Message(), END]
    with pytest.raises(TimeoutError, match=r"A\.t could not be read: nothing came for 20 s"):
        TRACES[STAMPED](PAIR, "t")
    logs["b:1", "read_uncommitted"] = [Message(code=KafkaError.TOPIC_AUTHORIZATION_FAILED)]
    with pytest.raises(KafkaException):
        TRACES[STAMPED](PAIR, "t")
