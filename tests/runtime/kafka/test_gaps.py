"""What is said of the ends of logs, by what the client hands out."""

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
)

from fleet.errors import MirrorwatchError
from runtime.kafka import consumer_client
from runtime.kafka.gaps import MOST_BYTES, MOST_HELD, Found, Gaps
from runtime.kafka.properties.client_settings import ClientSettings

SETTINGS = ClientSettings({"bootstrap.servers": "a:1"})


@dataclass
class Message:
    at: tuple[str, int]
    where: int
    failure: Any = None
    size: int = 3
    when: tuple[int, int] = (TIMESTAMP_CREATE_TIME, 1_790_000_000_000)

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

    def value(self):
        return bytes(self.size)


def end(at, offset):
    return Message(at, offset, KafkaError(KafkaError._PARTITION_EOF))


class Client:
    """A consumer that hands out what a test has given it, batch by batch, and then nothing."""

    batches: list[list[Message]]
    made: list[Client]

    def __init__(self, config, **_others):
        self.config, self.assigned, self.paused, self.closed = config, [], [], False
        self.held = set()
        self.made.append(self)

    def assign(self, places):
        self.assigned = [(one.topic, one.partition, one.offset) for one in places]
        self.silent = set(self.held)  # a pause outlasts an assignment

    def unassign(self):
        self.assigned = []

    def pause(self, places):
        self.paused += [(one.topic, one.partition) for one in places]
        self.held |= {(one.topic, one.partition) for one in places}

    def resume(self, places):
        self.held -= {(one.topic, one.partition) for one in places}
        self.silent = set(self.held)

    def consume(self, most, wait_s):
        assert self.assigned
        assert (most, wait_s) == (500, 0.1)
        batch = self.batches.pop(0) if self.batches else []
        return [one for one in batch if (one.topic(), one.partition()) not in self.silent]

    def close(self):
        self.closed = True


class Ticking:
    """A clock of which each look at it takes a tenth of a second."""

    now_ns = 0

    def monotonic_ns(self):
        self.now_ns += 100_000_000
        return self.now_ns


@pytest.fixture
def client(monkeypatch):
    """Give the class of the clients that are made, with nothing in the log."""
    made = type("Made", (Client,), {"batches": [], "made": []})
    monkeypatch.setattr(consumer_client, "Consumer", made)
    return made


def look(client, starts, *batches, **others):
    client.batches[:] = batches
    return Gaps(SETTINGS, cluster="A", name="A-tails", clock=Ticking(), **others).look(starts)


def test_a_record_or_the_end_answers_for_each_partition(client):
    found = look(
        client,
        {("t", 0): 10, ("t", 1): 20, ("u", 0): 5},
        [Message(("t", 0), 12), Message(("t", 0), 13), end(("u", 0), 7)],
        [end(("t", 1), 22)],
        [Message(("t", 1), 30)],
    )
    assert (found.records, found.empty_to) == ({("t", 0): 12}, {("u", 0): 7, ("t", 1): 22})
    (one,) = client.made
    assert one.paused == [("t", 0)]
    assert len(client.batches) == 1  # it was done before


def test_the_time_of_the_first_record_is_told_as_it_stands(client):
    found = look(
        client,
        {("t", 0): 10, ("t", 1): 20, ("t", 2): 30},
        [
            Message(("t", 0), 10, when=(TIMESTAMP_CREATE_TIME, 5)),
            Message(("t", 0), 11, when=(TIMESTAMP_CREATE_TIME, 6)),
            Message(("t", 1), 20, when=(TIMESTAMP_LOG_APPEND_TIME, 7)),
            Message(("t", 2), 30, when=(TIMESTAMP_NOT_AVAILABLE, 8)),
        ],
    )
    assert found.times == {("t", 0): 5, ("t", 1): 7, ("t", 2): -1}


def test_what_does_not_answer_in_time_is_left_out(client):
    found = look(client, {("t", 0): 10, ("t", 1): 20}, [end(("t", 1), 22)])
    assert found == Found({}, {("t", 1): 22})


def test_no_more_is_read_than_is_allowed(client):
    flood = [[Message(("t", 0), number, size=MOST_BYTES // 2)] for number in range(10, 20)]
    found = look(client, {("t", 0): 10, ("t", 1): 20}, *flood)
    assert (found.records, found.empty_to) == ({("t", 0): 10}, {})
    assert len(client.batches) == 8


def test_a_topic_that_may_not_be_read_is_refused_and_one_that_is_away_gives_no_answer(client):
    refused = Message(("t", 0), 0, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))
    gone = Message(("u", 0), 0, KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))
    found = look(client, {("t", 0): 10, ("u", 0): 5, ("v", 0): 1}, [refused, gone, end(("v", 0), 2)])
    assert (found.records, found.empty_to) == ({}, {("v", 0): 2})
    assert list(found.refused) == ["t"]
    assert "cluster A: reading the end of t failed" in found.refused["t"]


@pytest.mark.parametrize(("committed", "level"), [(True, "read_committed"), (False, "read_uncommitted")])
def test_a_look_joins_no_group_commits_nothing_and_passes_over_no_gap_in_the_log(client, committed, level):
    look(client, {("t", 0): 10}, [end(("t", 0), 12)], committed=committed)
    config = client.made[0].config
    assert config["isolation.level"] == level
    assert (config["enable.auto.commit"], config["auto.offset.reset"]) == (False, "error")
    assert client.made[0].assigned == []


def test_the_client_is_kept_from_look_to_look_and_recreated_after_it_was_let_go(client):
    looks = Gaps(SETTINGS, cluster="A", name="A-tails", clock=Ticking())
    looks.close()
    for turn, made in ((0, 1), (1, 1), (2, 2)):
        client.batches[:] = [[end(("t", 0), 12)]]
        assert looks.look({("t", 0): 10}).empty_to == {("t", 0): 12}
        assert len(client.made) == made
        if turn == 1:
            looks.close()
    assert [one.closed for one in client.made] == [True, False]


def test_a_client_that_was_assigned_many_partitions_is_let_go_and_none_that_sees_the_same_again(client):
    looks = Gaps(SETTINGS, cluster="A", name="A-tails", clock=Ticking())
    half = MOST_HELD // 2
    for turn, made in ((0, 1), (0, 1), (1, 1), (0, 2), (0, 2)):
        places = [("t", turn * half + number) for number in range(half)]
        client.batches[:] = [[end(place, 12) for place in places]]
        assert looks.look(dict.fromkeys(places, 10)).empty_to == dict.fromkeys(places, 12)
        assert len(client.made) == made
    assert [one.closed for one in client.made] == [True, False]


def test_a_place_answers_at_every_look(client):
    looks = Gaps(SETTINGS, cluster="A", name="A-tails", clock=Ticking())
    for _ in range(2):
        client.batches[:] = [[Message(("t", 0), 18)]]
        assert looks.look({("t", 0): 5}).records == {("t", 0): 18}


def test_settings_that_the_client_does_not_accept_are_told_as_ours(monkeypatch):
    def refuse(*_args, **_others):
        raise KafkaException(KafkaError(KafkaError._INVALID_ARG, "No such configuration property"))

    monkeypatch.setattr(consumer_client, "Consumer", refuse)
    with pytest.raises(MirrorwatchError, match="No such configuration property"):
        Gaps(SETTINGS, cluster="A", name="A-tails", clock=Ticking()).look({("t", 0): 1})
