"""What is read from a cluster for its mirrors: ids, settings in turn, and log starts at each poll."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import numpy as np
import pytest

from fleet.errors import RefusedError, UnavailableError
from lagmon.ingest.watching import ClusterWatch
from lagmon.logs import position_polls
from lagmon.mirrors.detectors.recreated.losses import RecreatedTopics
from lagmon.mirrors.metadata import ids as mirror_ids
from lagmon.mirrors.metadata.ids import SETTINGS_OF, MirrorIds
from runtime.kafka.admin import TopicDescription
from runtime.kafka.positions import Which
from tests.lagmon.mirror_flows import Mirrored
from tests.runtime.fake_clock import FakeClock


@pytest.fixture
def asked(monkeypatch):
    """Give a flow with many topics, and what asks its source; its cluster gives `settings` or raises them."""
    flow = Mirrored({f"t{number:03}": 1 for number in range(SETTINGS_OF + 10)})
    flow.poll()
    flow.snapshot()
    cluster = SimpleNamespace(ids="one", settings={"retention.ms": "7"}, read=[], rounds=1, refuses=set())

    class Admin:
        def __init__(self, *_positional, **_named):
            pass

        async def open(self):
            pass

        async def close(self):
            pass

        async def describe_topics(self, names):
            return {name: TopicDescription(name, cluster.ids, (1,)) for name in names}

        async def describe_topic_config(self, name):
            cluster.read.append(name)
            found = RefusedError("cluster A: no") if name in cluster.refuses else cluster.settings
            if isinstance(found, Exception):
                raise found
            return found

    class Ending(FakeClock):
        async def wait(self, event, *, timeout_s):
            cluster.waited_s = timeout_s
            cluster.rounds -= 1
            if cluster.rounds <= 0:
                event.set()
            return event.is_set()

    monkeypatch.setattr(mirror_ids, "ClusterAdmin", Admin)
    told = []
    clock = Ending()
    asks = MirrorIds("A", None, [flow.flow], lag=flow.a, locks=[], clock=clock, tell=told.append)

    async def run(rounds=1):
        cluster.rounds = rounds
        await asyncio.wait_for(asks.run(asyncio.Event()), 10)

    return SimpleNamespace(flow=flow, cluster=cluster, clock=clock, told=told, run=run)


async def test_ids_come_each_round_and_settings_of_some_topics_in_turn(asked):
    await asked.run(1)
    assert len(asked.flow.flow.topics.ids) == SETTINGS_OF + 10
    assert asked.cluster.read == [f"t{number:03}" for number in range(SETTINGS_OF)]
    await asked.run(2)
    assert asked.cluster.read[SETTINGS_OF:] == [
        *(f"t{number:03}" for number in range(SETTINGS_OF, SETTINGS_OF + 10)),
        *(f"t{number:03}" for number in range(SETTINGS_OF)),
    ]
    assert set(asked.flow.flow.retention_ms.values()) == {7}
    assert asked.cluster.waited_s == pytest.approx(10)


async def test_a_flow_hears_of_a_new_id_before_the_cluster_forgets_the_old_topics_ends(asked, monkeypatch):
    await asked.run()
    flow, known = asked.flow, []
    begun = RecreatedTopics.note_source

    def note(recreated, of, topic, **when):
        known.append(int(flow.a.heads.end[flow.a.places.of(topic)[0]]))
        begun(recreated, of, topic, **when)

    monkeypatch.setattr(RecreatedTopics, "note_source", note)
    asked.cluster.ids = "two"
    await asked.run()
    assert set(known) == {0}  # ends that are forgotten are -1
    assert flow.a.heads.end[flow.a.places.of("t000")[0]] == -1


async def test_the_first_ids_of_brokers_that_knew_of_none_are_no_other_topics(asked):
    asked.cluster.ids = "AAAAAAAAAAAAAAAAAAAAAA"
    await asked.run()
    assert asked.flow.flow.topics.ids == {}
    asked.cluster.ids = "one"
    await asked.run()
    assert asked.flow.flow.topics.ids
    assert asked.flow.flow.topics.recreated_total == {}


async def test_settings_that_are_refused_are_reported_once_and_asked_for_again_after_ten_minutes(asked):
    asked.cluster.settings = RefusedError("cluster A: no")
    await asked.run(3)
    assert len(asked.cluster.read) == SETTINGS_OF + 10  # each once
    (sentence,) = asked.told
    assert "grant DescribeConfigs on the topics of A" in sentence
    asked.cluster.settings = {"retention.ms": "7"}
    asked.clock.advance(599)
    await asked.run(2)
    assert len(asked.cluster.read) == SETTINGS_OF + 10
    assert asked.flow.flow.retention_ms == {}
    asked.clock.advance(1)
    await asked.run(2)
    assert len(asked.flow.flow.retention_ms) == SETTINGS_OF + 10
    assert len(asked.told) == 1


async def test_the_settings_of_one_topic_that_are_refused_keep_no_other_from_being_read(asked):
    asked.cluster.refuses = {"t000", "t055"}
    await asked.run(4)
    assert set(asked.flow.flow.retention_ms.values()) == {7}
    assert len(asked.flow.flow.retention_ms) == SETTINGS_OF + 8
    assert len(asked.told) == 1


async def test_a_topic_that_is_gone_keeps_no_other_from_being_read(asked):
    asked.cluster.settings = UnavailableError("cluster A: gone")
    await asked.run()
    assert len(asked.cluster.read) == SETTINGS_OF
    assert asked.told == []


@pytest.mark.parametrize(
    ("everywhere", "most", "read"),
    [
        (True, 9, [0, 1, 2, 3]),
        (False, 9, [1, 2, 3]),
        (False, 2, [1, 3]),  # two in this look, the others in the next
    ],
)
def test_starts_of_mirrored_topics_are_read_at_each_poll(monkeypatch, everywhere, most, read):
    monkeypatch.setattr(position_polls, "STARTS_AT_ONCE", most)
    flow = Mirrored({"orders": 3})
    flow.a.note_topics({"__mine": 1, "orders": 3})
    flow.snapshot()
    flow.poll()
    watch = ClusterWatch("A", None, flow.a, clock=FakeClock(), random=lambda: 0.5)
    asked = [("__mine", 0), *(("orders", number) for number in range(3))]
    places = [flow.a.places.of(name)[number] for name, number in asked]

    class Pretend:
        def read(self, partitions, which):
            assert which is Which.START
            return [77] * len(partitions)

    before = flow.a.heads.start.copy()
    watch.looks._look_at_starts(Pretend(), np.array(places, np.int32), asked, everywhere=everywhere)
    moved = [row for row, place in enumerate(places) if flow.a.heads.start[place] != before[place]]
    assert moved == read


@pytest.mark.parametrize(
    ("alias", "topics"), [("A", []), ("B", ["mm2-offsets.A.internal", "mm2-status.A.internal"])]
)
def test_ids_of_the_workers_topics_are_asked_for_where_they_are(alias, topics):
    one = Mirrored()
    for lag in (one.a, one.b):
        lag.note_topics({**lag.topics, "mm2-offsets.A.internal": 25, "mm2-status.A.internal": 5})
    lag = one.a if alias == "A" else one.b
    asks = MirrorIds(alias, None, [one.flow], lag=lag, locks=[], clock=FakeClock(), tell=print)
    assert asks._of_workers() == topics
