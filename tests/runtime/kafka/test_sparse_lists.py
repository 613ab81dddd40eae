"""Topics that are listed sparingly have the leaders that they have else; the client itself makes them."""

from __future__ import annotations

import pytest
from confluent_kafka import admin
from confluent_kafka.admin import AdminClient, TopicMetadata

from runtime.kafka.sparse_lists import SparseTopic, list_sparingly


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setattr(admin, "TopicMetadata", TopicMetadata)  # puts it back
    made = AdminClient({"bootstrap.servers": "mock", "test.mock.num.brokers": 3, "log_level": 3})
    for name in ("some", "other"):
        made.list_topics(name, timeout=10)  # which makes it
    return made


def leaders(found):
    return {
        name: {number: (one.id, one.leader) for number, one in topic.partitions.items()}
        for name, topic in found.topics.items()
    }


def test_leaders_are_those_that_are_there_else(client):
    before = client.list_topics(timeout=10)
    list_sparingly()
    after = client.list_topics(timeout=10)
    assert {type(topic) for topic in before.topics.values()} == {TopicMetadata}
    # Or the client no longer looks its class up by name, and what this is for is lost.
    assert {type(topic) for topic in after.topics.values()} == {SparseTopic}
    assert leaders(after) == leaders(before)
    assert {name: len(topic) > 1 for name, topic in leaders(after).items()} == {"some": True, "other": True}
    assert [repr(topic) for topic in after.topics.values()] == [
        repr(topic) for topic in before.topics.values()
    ]
