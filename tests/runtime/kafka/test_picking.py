"""What is picked out of partitions, by what the client hands out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from fleet.errors import MirrorwatchError, RefusedError, UnavailableError
from runtime.kafka import consumer_client
from runtime.kafka.picking import MOST_BYTES, PLACES_AT_ONCE, Picked, PickedRecord, Picker
from runtime.kafka.properties.client_settings import ClientSettings

SETTINGS = ClientSettings({"bootstrap.servers": "a:1"})
T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)


@dataclass
class Message:
    at: tuple[str, int]
    where: int = 0
    failure: Any = None
    when: tuple[int, int] = (TIMESTAMP_CREATE_TIME, 1000)
    content: tuple = (b"k", b"v", None)

    def topic(self):
        return self.at[0]

    def partition(self):
        return self.at[1]

    def offset(self):
        return self.where

    def error(self):
        return self.failure

    def timestamp(self):
        return self.when

    def key(self):
        return self.content[0]

    def value(self):
        return self.content[1]

    def headers(self):
        if isinstance(self.content[2], Exception):
            raise self.content[2]
        return self.content[2]


def failed(at, code):
    return Message(at, failure=KafkaError(code))


def end(at):
    return failed(at, KafkaError._PARTITION_EOF)


class Client:
    """A consumer that hands out what a test has given it, batch by batch, and then nothing."""

    batches: list
    offsets: dict
    made: list

    def __init__(self, config, **_others):
        self.config, self.assigned, self.assignments, self.paused = config, [], [], set()
        self.questions, self.closed = [], False
        self.made.append(self)

    def assign(self, places):
        self.assigned = [(one.topic, one.partition, one.offset) for one in places]
        self.assignments.append(self.assigned)

    def unassign(self):
        self.assigned = []

    def pause(self, places):
        self.paused |= {(one.topic, one.partition) for one in places}

    def resume(self, places):
        self.paused -= {(one.topic, one.partition) for one in places}

    def consume(self, _most, _wait_s):
        assert self.assigned
        batch = self.batches.pop(0) if self.batches else []
        return [one for one in batch if one.at not in self.paused]

    def offsets_for_times(self, places, **_others):
        self.questions.append([(one.topic, one.partition, one.offset) for one in places])
        answers = []
        for one in places:
            found = self.offsets[one.topic, one.partition]
            if isinstance(found, list):  # one answer after the other
                found = found.pop(0)
            if isinstance(found, Exception):
                raise found
            answers.append(TopicPartition(one.topic, one.partition, found))
        return answers

    def poll(self, _wait_s):
        return None

    def close(self):
        self.closed = True


class Ticking:
    now_ns = 0

    def monotonic_ns(self):
        self.now_ns += 100_000_000
        return self.now_ns


@pytest.fixture
def client(monkeypatch):
    made = type("Made", (Client,), {"batches": [], "offsets": {}, "made": []})
    monkeypatch.setattr(consumer_client, "Consumer", made)
    return made


@pytest.fixture
def picker(client):
    made = Picker(SETTINGS, cluster="A", name="us", clock=Ticking(), committed=False)
    made.open()
    return made


def test_so_many_records_are_picked_of_each_partition(client, picker):
    client.batches[:] = [
        [Message(T0, 10), Message(U0, 3), Message(T0, 12), Message(T0, 13)],
        [Message(T1, 20), end(T1)],
    ]
    found = picker.pick({T0: (10, 2), T1: (20, 5), U0: (3, 1)})
    assert {place: [one.offset for one in picked.records] for place, picked in found.items()} == {
        T0: [10, 12],
        T1: [20],
        U0: [3],
    }
    assert {place for place, picked in found.items() if picked.ended} == {T1}
    assert client.made[0].assigned == []


def test_a_partition_that_answered_before_answers_again(client, picker):
    for offset in (10, 11):
        client.batches[:] = [[Message(T0, offset)]]
        assert picker.pick({T0: (offset, 1)})[T0].records[0].offset == offset


def test_nothing_is_asked_for_where_nothing_is_wanted(client, picker):
    assert picker.pick({}) == {}
    assert picker.pick({T0: (3, 0)}) == {T0: Picked()}


def test_what_stands_in_a_record(client, picker):
    headers = [("a", None), ("a", b"x")]
    client.batches[:] = [
        [
            Message(T0, 1, when=(TIMESTAMP_LOG_APPEND_TIME, 5), content=(None, b"", headers)),
            Message(T0, 2, when=(TIMESTAMP_NOT_AVAILABLE, 9), content=(b"", None, SystemError())),
        ]
    ]
    assert picker.pick({T0: (1, 2)})[T0].records == [
        PickedRecord(1, 5, stamped=True, key=None, value=b"", headers=headers),
        PickedRecord(
            2, -1, stamped=False, key=b"", value=None, headers=[("\N{REPLACEMENT CHARACTER}", None)]
        ),
    ]


def test_an_offset_outside_the_log_is_no_end_of_it(client, picker):
    client.batches[:] = [
        [failed(T0, KafkaError._AUTO_OFFSET_RESET), failed(T1, KafkaError.OFFSET_OUT_OF_RANGE)]
    ]
    assert picker.pick({T0: (1, 1), T1: (1, 1)}) == {T0: Picked(lost=True), T1: Picked(lost=True)}


def test_large_records_are_no_more_than_so_many_bytes(client, picker):
    large = (None, bytes(MOST_BYTES // 2), None)
    client.batches[:] = [[Message(T0, offset, content=large) for offset in range(9)]]
    assert len(picker.pick({T0: (0, 9)})[T0].records) == 2


def test_many_partitions_are_read_some_at_a_time(client, picker):
    places = {("t", number): (0, 1) for number in range(PLACES_AT_ONCE + 1)}
    client.batches[:] = [[Message(place) for place in places] for _ in range(2)]
    assert len(picker.pick(places)) == PLACES_AT_ONCE + 1
    assert [len(one) for one in client.made[0].assignments] == [PLACES_AT_ONCE, 1]


def test_half_an_answer_is_none(client, picker):
    client.batches[:] = [[Message(T0, 1)]]
    with pytest.raises(
        UnavailableError, match="reading partition 1 of t, one of 1, had no answer within 2 s"
    ):
        picker.pick({T0: (1, 1), T1: (1, 1)}, longest_s=2)


def test_a_partition_of_which_nothing_comes_is_told_while_another_still_answers(client, picker):
    client.batches[:] = [[Message(T1, offset)] for offset in range(90)]
    with pytest.raises(
        UnavailableError, match="reading partition 0 of t, one of 2, had no answer within 2 s"
    ):
        picker.pick({T0: (1, 1), T1: (0, 100)}, longest_s=2)
    assert len(client.batches) > 60


def test_a_partition_that_answers_slowly_is_waited_for(client, picker):
    slow = [[Message(T1, offset)] for offset in range(9)]
    client.batches[:] = [one for batch in slow for one in (batch, *[[]] * 12)]
    assert len(picker.pick({T0: (1, 0), T1: (0, 9)}, longest_s=2)[T1].records) == 9


def test_a_passing_error_is_waited_out(client, picker):
    passing = KafkaError(KafkaError.LEADER_NOT_AVAILABLE, "x", False, True)
    client.batches[:] = [[Message(T0, failure=passing)], [Message(T0, 1)]]
    assert picker.pick({T0: (1, 1)})[T0].records


def test_a_topic_that_may_not_be_read_is_refused(client, picker):
    client.batches[:] = [[failed(T0, KafkaError.TOPIC_AUTHORIZATION_FAILED)]]
    with pytest.raises(RefusedError, match="cluster A: reading t failed"):
        picker.pick({T0: (1, 1)})


def test_offsets_are_asked_in_the_protocol_s_own_numbers(client, picker):
    client.offsets |= {T0: 7, T1: 9, U0: -1}
    assert picker.starts([T0, T1]) == {T0: 7, T1: 9}
    assert picker.ends([T0]) == {T0: 7}
    assert picker.since({T0: 1000, U0: 2000}) == {T0: 7}  # behind the other's time there is nothing
    assert client.made[0].questions == [[(*T0, -2), (*T1, -2)], [(*T0, -1)], [(*T0, 1000), (*U0, 2000)]]


def test_a_leader_that_tells_no_offset_is_unavailable(client, picker):
    client.offsets |= {T0: 7, T1: -1}
    with pytest.raises(UnavailableError, match="the leader of partition 1 of t sent no offset"):
        picker.ends([T0, T1])


def test_an_offset_is_asked_for_again_while_leaders_change(client, picker):
    moved = KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))
    client.offsets |= {T0: 7, T1: [moved, moved, 9]}
    assert picker.ends([T0, T1]) == {T0: 7, T1: 9}
    assert client.made[0].questions == [[(*T0, -1), (*T1, -1)]] * 3


def test_leaders_that_change_for_too_long_are_told(client, picker):
    client.offsets |= {T0: KafkaException(KafkaError(KafkaError.NOT_LEADER_FOR_PARTITION))}
    with pytest.raises(
        UnavailableError, match="cluster A: reading t failed: the cluster is changing leaders"
    ):
        picker.starts([T0])
    assert picker._clock.now_ns > 20e9


def test_a_question_that_fails_is_told_as_ours(client, picker):
    client.offsets |= {T0: KafkaException(KafkaError(KafkaError._TIMED_OUT))}
    with pytest.raises(UnavailableError, match="cluster A: reading t failed"):
        picker.starts([T0])


@pytest.mark.parametrize(("committed", "level"), [(True, "read_committed"), (False, "read_uncommitted")])
def test_what_is_read_is_as_it_is_to_be_read(client, committed, level):
    made = Picker(SETTINGS, cluster="A", name="us", clock=Ticking(), committed=committed)
    made.open()
    config = client.made[0].config
    assert (config["isolation.level"], config["auto.offset.reset"]) == (level, "error")
    assert (config["client.id"], config["enable.auto.commit"]) == ("us", False)
    made.close()
    made.close()
    assert client.made[0].closed


def test_settings_that_the_client_does_not_accept_are_told_as_ours(monkeypatch):
    def refuse(*_args, **_others):
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, "No such configuration property"))

    monkeypatch.setattr(consumer_client, "Consumer", refuse)
    with pytest.raises(MirrorwatchError, match="No such configuration property"):
        Picker(SETTINGS, cluster="A", name="us", clock=Ticking(), committed=True).open()
