"""Readers of a worker's topics, of offsets and of states, if such a topic is re-created or grows."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from fleet.errors import UnavailableError
from fleet.verdicts.vocabulary import Verdict
from lagmon.ingest import worker_topic
from lagmon.ingest.worker_topic import WorkerTopic
from lagmon.mirrors.progress import connect as mirror_offsets
from lagmon.mirrors.progress.connect import MirrorOffsets
from lagmon.mirrors.tasks.worker import StatesIntake
from runtime.kafka.bulk import Batch
from tests.eventually import eventually_async
from tests.lagmon.mirror_flows import Mirrored, S, told

OFFSETS, STATUS = "mm2-offsets.A.internal", "mm2-status.A.internal"


class Log:
    """A topic of one partition: its consumers read on at the one that there was when they were opened."""

    def __init__(self):
        self.records = []
        self.taken = 0

    def opened(self, *_positional, **_named):
        return Consumer(self)


class Consumer:
    def __init__(self, log):
        self._log, self._records, self._at = log, None, 0

    def open(self, partitions):
        assert list(partitions) == [0]
        self._records = self._log.records

    def take(self, *, wait_s):
        threading.Event().wait(wait_s / 100)
        new, first = self._records[self._at :], self._at
        self._at = len(self._records)
        self._log.taken += 1
        keys, values, times_ms = ([one[part] for one in new] for part in range(3))
        return Batch(keys, values, times_ms, list(range(first, self._at)), {0: self._at})

    def positions(self):
        return {0: self._at}

    def close(self):
        pass


class World:
    """A flow whose worker writes offsets each 5 s; a reader's thread runs while `running` is entered."""

    def __init__(self, monkeypatch):
        self.log, self.one = Log(), Mirrored(flush_s=5.0)
        self.one.b.note_topics({"A.orders": 2, OFFSETS: 1, STATUS: 1})
        self.one.poll()
        for module in (mirror_offsets, worker_topic):
            monkeypatch.setattr(module, "Bulk", self.log.opened)
        self._clock = SimpleNamespace(wall_s=lambda: self.one.now / 1000, monotonic_ns=lambda: 0)
        self.lock = threading.Lock()

    def reader(self, kind=MirrorOffsets):
        where = {"host": self.one.b, "lock": self.lock, "clock": self._clock}
        if kind is WorkerTopic:
            told = StatesIntake([self.one.flow], str)
            return WorkerTopic(None, told, cluster="B", topic=STATUS, **where)
        return kind(None, [self.one.flow], **where)

    def write(self):
        for partition in (0, 1):
            self.one.write(100, partition=partition)
            where = {"cluster": "A", "partition": partition, "topic": "orders"}
            key, last = json.dumps(["MirrorSourceConnector", where]), self.one.ends["orders", partition] - 1
            self.log.records.append((key.encode(), json.dumps({"offset": last}).encode(), self.one.now))

    def poll(self):
        self.one.poll()
        places = np.array(self.one.b.places.of(OFFSETS), np.int32)
        ends = np.array([len(self.log.records)])
        self.one.b.heads.note(places, ends, self.one.now)
        self.one.b.heads.note_stable(places, ends)

    def go(self, reader, seconds):
        """Let the worker write, and the reader take what is there, for so long."""
        reader._start(1)
        consumer = self.log.opened()
        consumer.open([0])
        for second in range(5, seconds + 1, 5):
            self.one.now += 5 * S
            self.write()
            reader._take(consumer)
            if second % 10 == 0:
                self.poll()
                reader._take(consumer)
                self.one.snapshot()
        return consumer


@pytest.fixture
def world(monkeypatch):
    return World(monkeypatch)


def test_a_topic_of_offsets_that_was_recreated_is_reopened_and_read_from_its_start(world):
    reader = world.reader()
    world.one.b.note_id(OFFSETS, "first", world.one.now)
    consumer = world.go(reader, 120)
    assert told(world.one) == (Verdict.HEALTHY, None)
    world.log.records = []
    world.one.now += 10 * S
    world.write()
    reader._take(consumer)  # it reads nothing, and its id is not known yet
    world.one.b.note_id(OFFSETS, "second", world.one.now)
    said = f"cluster B: topic {OFFSETS}: re-created; reading it again from its start"
    with pytest.raises(UnavailableError, match=said):
        reader._take(consumer)
    world.go(reader, 120)
    assert told(world.one) == (Verdict.HEALTHY, None)
    assert world.one.flow.read_to_ms == world.one.now


def test_a_topic_of_offsets_that_lost_its_end_is_read_again_and_what_it_had_is_not_taken_for_new(world):
    reader = world.reader()
    consumer = world.go(reader, 120)
    lag = world.one.verdict().lag
    world.log.records = consumer._records = world.log.records[:10]
    consumer._at = 0  # as a client does of itself where its offset is out of range
    with pytest.raises(
        UnavailableError, match=f"topic {OFFSETS}: partition 0 went back from 48 to 10: it was"
    ):
        reader._take(consumer)
    assert (told(world.one), world.one.verdict().lag) == ((Verdict.HEALTHY, None), lag)
    world.go(reader, 30)
    assert told(world.one) == (Verdict.HEALTHY, None)


@pytest.mark.parametrize("kind", [MirrorOffsets, WorkerTopic])
async def test_reading_ends_where_a_log_has_lost_its_end(world, kind, monkeypatch):
    world.write()
    world.write()
    reader, consumer = world.reader(kind), world.log.opened()
    for module in (mirror_offsets, worker_topic):
        monkeypatch.setattr(module, "Bulk", lambda *_, **__: consumer)
    reading = asyncio.create_task(reader.run(asyncio.Event()))
    await eventually_async(lambda: world.log.taken > 2, 10)
    assert not reading.done()
    world.log.records[2:] = []
    consumer._at = 0
    with pytest.raises(UnavailableError, match=f"topic {reader.topic}: partition 0 went back from 4 to 2"):
        await asyncio.wait_for(reading, 10)


@pytest.mark.parametrize("kind", [MirrorOffsets, WorkerTopic])
@pytest.mark.parametrize("change", ["another id", "more partitions"])
async def test_reading_ends_with_our_own_error_so_that_the_topic_is_reopened(world, kind, change):
    reader = world.reader(kind)
    with world.lock:
        world.one.b.note_id(reader.topic, "first", world.one.now)
    reading = asyncio.create_task(reader.run(asyncio.Event()))
    await eventually_async(lambda: world.log.taken > 2, 10)
    assert not reading.done()
    with world.lock:
        if change == "another id":
            world.one.b.note_id(reader.topic, "second", world.one.now)
        else:
            world.one.b.note_topics({**world.one.b.topics, reader.topic: 2})
    said = "re-created" if change == "another id" else "2 partitions instead of 1"
    with pytest.raises(UnavailableError, match=f"cluster B: topic {reader.topic}: {said}"):
        await asyncio.wait_for(reading, 10)


def test_a_topic_that_is_away_and_one_whose_id_was_not_read_before_are_no_other(world):
    reader = world.reader()
    consumer = world.go(reader, 20)
    world.one.b.note_id(OFFSETS, "first", world.one.now)
    reader._take(consumer)
    world.one.b.note_topics({"A.orders": 2}, world.one.now)  # its id is forgotten with it
    reader._take(consumer)
    world.one.b.note_topics({"A.orders": 2, OFFSETS: 1}, world.one.now)
    world.one.b.note_id(OFFSETS, "first", world.one.now)
    reader._take(consumer)
    world.one.b.note_id(OFFSETS, "second", world.one.now)
    with pytest.raises(UnavailableError):
        reader._take(consumer)
