"""Copies that come in the wrong order, twice, misrouted, after they were given up, or back to their source.

The mirror is a program of the test's own between two real clusters, so that it errs exactly as it is told to.
"""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from deploy.local import topics
from tests.eventually import eventually
from tests.real.service.process import ServiceProcess

PARTITIONS = 2


class Copier:
    """Copies a topic from A to `A.topic` on B, one record after the other, as `how` says."""

    def __init__(self, pair, topic):
        self.how = "well"
        self.held = defaultdict(list)  # by partition
        self._topic, self._pair = topic, pair
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        topics.create_topic(self._pair.a.client_properties(), self._topic, partitions=PARTITIONS)
        topics.create_topic(self._pair.b.client_properties(), f"A.{self._topic}", partitions=PARTITIONS)
        self._thread.start()
        return self

    def __exit__(self, *_exception):
        self._leaving.set()
        self._thread.join()

    def _run(self):
        client = {**self._pair.a.client_properties(), "group.id": "copier", "log_level": 0}
        with contextlib.closing(Consumer(client)) as consumer:
            self._producers = {
                alias: Producer({**broker.client_properties(), "linger.ms": 0, "log_level": 0})
                for alias, broker in self._pair.brokers.items()
            }
            consumer.assign([TopicPartition(self._topic, number, 0) for number in range(PARTITIONS)])
            while not self._leaving.is_set():
                message = consumer.poll(0.05)
                if message is not None and message.error() is None:
                    self._take(message)
                for producer in self._producers.values():
                    producer.poll(0)
            for producer in self._producers.values():
                producer.flush(5)

    def _take(self, message):
        held = self.held[message.partition()]
        ways = {
            "well": lambda: (*self._release(held), message),
            "hold": lambda: held.append(message) or (),
            "swap": lambda: (message, *self._release(held)) if held else held.append(message) or (),
            "keep one back": lambda: (message,) if held else held.append(message) or (),
            "twice": lambda: (message, message),
            "astray": lambda: (message,),
            "back": lambda: (message,),
        }
        for one in ways[self.how]():
            self._write(one)
        if self.how == "back":
            self._write(message, alias="A")
            self.how = "well"

    @staticmethod
    def _release(held):
        released = tuple(held)
        held.clear()
        return released

    def _write(self, message, *, alias="B"):
        where = (message.partition() + (self.how == "astray")) % PARTITIONS
        topic = self._topic if alias == "A" else f"A.{self._topic}"
        self._producers[alias].produce(
            topic, message.value(), message.key(), where, headers=message.headers()
        )


@pytest.fixture
def watched(kafka_pair, no_mirror, topic_name, tmp_path):
    topic = topic_name("canary")
    clusters = {alias: broker.client_properties() for alias, broker in kafka_pair.brokers.items()}
    flows = {"A->B": {"topics": topic}}
    with (
        Copier(kafka_pair, topic) as copier,
        ServiceProcess(
            tmp_path / "service", topic=topic, clusters=clusters, flows=flows, canary={"mode": "precreated"}
        ) as service,
    ):
        service.is_healthy()
        yield service, copier


def grows(service, name, by=3):
    before = service.books()[name]
    try:
        eventually(lambda: service.books()[name] >= before + by, 20, what=f"more {name}")
    except AssertionError as error:
        raise AssertionError(f"{error}; {service.flow()['cause']}; {service.books()}") from None


def test_every_mark_that_a_copier_can_earn(watched):
    service, copier = watched
    copier.how = "twice"
    grows(service, "duplicated", 6)
    assert service.flow()["verdict"] == "healthy"  # a burst as a restart leaves it
    copier.how = "swap"
    grows(service, "reordered")
    copier.how = "keep one back"
    grows(service, "lost", 1)
    service.becomes("losing", deadline_s=10)
    copier.how = "well"  # what was held comes now, after it was proved lost
    grows(service, "returned", 1)
    assert "a probe reported as lost arrived after all" in {line["sentence"] for line in service.lines()}
    copier.how = "astray"
    grows(service, "misrouted")
    copier.how = "hold"
    grows(service, "overdue", 2)
    copier.how = "well"
    grows(service, "recovered", 2)
    copier.how = "back"
    grows(service, "looped", 1)
    books = service.end()["A->B"]
    assert books["corrupted"] == 0
    assert (
        books["overdue"] == books["recovered"] + books["confirmed"] + books["closed"] + books["outstanding"]
    )
