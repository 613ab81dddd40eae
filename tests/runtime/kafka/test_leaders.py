"""Which partitions are asked about while brokers are away."""

from __future__ import annotations

from runtime.kafka.admin import TopicDescription
from runtime.kafka.leaders import PAUSE_S, Leaders

S = 1_000_000_000
TOPIC = TopicDescription("canary", "id", (1, 2, None, 1))


def test_a_partition_without_a_leader_is_not_asked_about():
    assert Leaders().answering(TOPIC, 0) == [0, 1, 3]


def test_a_leader_that_was_silent_is_left_alone_for_a_while():
    leaders = Leaders()
    leaders.note(TOPIC, [0, 1, 3], [0, 3], 0)
    assert leaders.answering(TOPIC, 0) == [0, 3]
    assert leaders.answering(TOPIC, int(PAUSE_S * S) - 1) == [0, 3]
    assert leaders.answering(TOPIC, int(PAUSE_S * S)) == [0, 1, 3]


def test_another_leader_of_the_same_partition_is_asked_at_once():
    leaders = Leaders()
    leaders.note(TOPIC, [0, 1, 3], [0, 3], 0)
    assert leaders.answering(TopicDescription("canary", "id", (1, 3, 1, 1)), 1) == [0, 1, 2, 3]


def test_a_leader_that_answers_for_one_partition_is_there():
    leaders = Leaders()
    leaders.note(TOPIC, [1], [], 0)
    leaders.note(TOPIC, [0, 1, 3], [1, 3], 1)
    assert leaders.answering(TOPIC, 1) == [0, 1, 3]
