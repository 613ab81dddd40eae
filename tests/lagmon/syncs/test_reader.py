"""The reader of offset syncs over a pretend client: topics that come, go and are made anew, and what is refused."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from fleet.errors import RefusedError, UnavailableError
from fleet.verdicts.flow import Flow
from fleet.wire.mirror import encode_offset_sync
from fleet.wire.records import OffsetSync, OffsetSyncKey
from lagmon.cluster.state import ClusterLag
from lagmon.ingest.orders import read_orders, write_orders
from lagmon.mirrors.answers.orders import order_of
from lagmon.mirrors.flow import MirrorFlow
from lagmon.syncs import queue as sync_queue
from lagmon.syncs import reader as sync_reader
from lagmon.syncs.orders import SyncOrder, read_sync, sync_orders, write_sync
from lagmon.syncs.reader import SyncReader
from lagmon.syncs.sources import sync_readers
from runtime.kafka.bulk import Batch
from runtime.process.clock import SystemClock
from tests.eventually import eventually_async

TOPIC = "mm2-offset-syncs.B.internal"


class Cluster:
    """Topics by name, each with an id and its records; `refused` is what it says to whoever asks or reads."""

    def __init__(self):
        self.ids, self.records = {}, []
        self.refused = None
        self.opened = self.asked = self.taken = 0  # how often it was read, described, and asked for more
        self.stuck, self.freed = None, threading.Event()  # a reading that does not come back until then

    def make(self, topic_id):
        self.ids[TOPIC], self.records = topic_id, []

    def write(self, upstream, downstream, *, topic="orders"):
        self.records.append(encode_offset_sync(OffsetSync(OffsetSyncKey(topic, 0), upstream, downstream)))

    # --- as the admin client

    async def open(self):
        pass

    async def close(self):
        pass

    async def describe_topics(self, names):
        self.asked += 1
        if self.refused is not None:
            raise self.refused
        found = {name: self.ids.get(name) for name in names}
        return {name: one and SimpleNamespace(topic_id=one) for name, one in found.items()}


class Reading:
    """The consumer: it reads on at the topic that there was when it was opened, and nothing of a later one."""

    def __init__(self, cluster):
        self._cluster = cluster
        self.closed = threading.Event()
        self._records = None
        self._at = 0

    def open(self, partitions, *, since=0):
        assert list(partitions) == [0]
        self._cluster.opened += 1
        self._records = self._cluster.records
        self._at = since

    def take(self, *, wait_s):
        threading.Event().wait(wait_s / 4)
        if self._cluster.stuck is self:
            self._cluster.freed.wait(20)
        self._cluster.taken += 1
        if isinstance(self._cluster.refused, RefusedError):
            return Batch([], [], faults=[self._cluster.refused])
        new = self._records[self._at : self._at + 3]
        numbers = list(range(self._at, self._at + len(new)))
        self._at += len(new)
        keys, values = ([one[part] for one in new] for part in (0, 1))
        ends = {} if self._at < len(self._records) else {0: self._at}
        return Batch(keys, values, [int(SystemClock().wall_s() * 1000)] * len(new), numbers, ends)

    def positions(self):
        return {0: self._at}

    def close(self):
        self.closed.set()


class Scene:
    def __init__(self, monkeypatch, *, lag_from="connect-offsets", mirrored=None):
        self.cluster = Cluster()
        monkeypatch.setattr(sync_reader, "ClusterAdmin", lambda *_, **__: self.cluster)
        self.readings = []
        monkeypatch.setattr(sync_reader, "Bulk", lambda *_, **__: self.begin())
        monkeypatch.setattr(sync_reader, "ID_S", 0.05)
        monkeypatch.setattr(sync_reader, "WAIT_S", 0.02)
        flow = Flow("A", "B", mirror_version="4.3")
        self.a, self.b = (
            SimpleNamespace(lag=ClusterLag(wanted=lambda *_: True), lock=threading.Lock()) for _ in range(2)
        )
        self.a.lag.note_topics({TOPIC: 1, "orders": 1})
        self.b.lag.note_topics({"A.orders": 1})
        self.flow = MirrorFlow(order_of(flow, lag_from=lag_from), self.a.lag, self.b.lag)
        self.flow.topics.note_source(self.a.lag.topics)
        self.reader = SyncReader(
            SyncOrder("A->B", "A", TOPIC),
            self.flow,
            None,
            host=self.a,
            source=self.a,
            target=self.b,
            mirrored=mirrored,
            clock=SystemClock(),
        )

    def begin(self):
        self.readings.append(Reading(self.cluster))
        return self.readings[-1]

    def look(self, watch, topic, end):
        places = np.array(watch.lag.places.of(topic), np.int32)
        with watch.lock:
            watch.lag.heads.note(places, np.array([end]), int(SystemClock().wall_s() * 1000))
            watch.lag.heads.note_stable(places, np.array([end]))

    def waiting(self):
        with self.reader.turn:
            return [one.upstream for one in self.reader.queue.hand(0, now_ms=0).syncs]

    async def goes_on(self, what, times=3):
        """Wait until it has been described, or asked for more, so many times more."""
        before = getattr(self.cluster, what)
        await eventually_async(lambda: getattr(self.cluster, what) >= before + times, 10)

    async def __aenter__(self):
        self.stopping = asyncio.Event()
        self.task = asyncio.create_task(self.reader.run(self.stopping))
        return self

    async def __aexit__(self, *exception):
        self.stopping.set()
        if not exception[0]:
            await self.task


async def test_a_topic_that_is_made_later_is_read_then(monkeypatch):
    async with Scene(monkeypatch) as scene:
        await scene.goes_on("asked")
        assert scene.cluster.opened == 0
        assert not scene.reader.refused
        scene.cluster.make("one")
        scene.cluster.write(100, 107)
        scene.cluster.write(200, 207)
        await eventually_async(lambda: scene.waiting() == [100, 200], 10)
        assert scene.reader.queue.topic_id == "one"


async def test_one_that_is_made_anew_is_read_from_its_start(monkeypatch):
    async with Scene(monkeypatch) as scene:
        scene.cluster.make("one")
        scene.cluster.write(100, 107)
        await eventually_async(lambda: scene.waiting() == [100], 10)
        scene.cluster.make("two")
        scene.cluster.write(500, 507)
        await eventually_async(lambda: scene.waiting() == [500], 10)
        assert scene.reader.queue.topic_id == "two"
        del scene.cluster.ids[TOPIC]  # gone: it is waited for
        await scene.goes_on("asked")
        scene.cluster.make("three")
        scene.cluster.write(900, 907)
        await eventually_async(lambda: scene.waiting() == [900], 10)


@pytest.mark.parametrize("lag_from", ["connect-offsets", "offset-syncs"])
async def test_a_thread_that_was_given_up_changes_nothing_when_it_comes_back(monkeypatch, lag_from):
    monkeypatch.setattr(sync_reader, "END_S", 0.05)
    async with Scene(monkeypatch, lag_from=lag_from) as scene:
        scene.cluster.make("one")
        scene.cluster.write(100, 107)
        await eventually_async(lambda: scene.waiting() == [100], 10)
        (first,) = scene.readings
        scene.cluster.stuck = first
        await scene.goes_on("asked")
        for upstream in (200, 300):
            scene.cluster.write(upstream, upstream + 7)  # what it will bring, of a topic that is gone by then
        scene.cluster.make("two")
        scene.cluster.write(50, 57)
        await eventually_async(lambda: scene.waiting() == [50], 10)
        slot = scene.flow.windows.slot("orders", 0)
        before = slot is not None and int(scene.flow.windows.next_offset[slot])
        scene.cluster.freed.set()
        # It ends, and does not read on beside the other.
        await eventually_async(first.closed.is_set, 10)
        assert scene.waiting() == [50]
        assert (slot is not None and int(scene.flow.windows.next_offset[slot])) == before
        scene.cluster.write(60, 67)
        await eventually_async(lambda: scene.waiting() == [50, 60], 10)
        assert len(scene.readings) == 2


@pytest.mark.parametrize("lag_from", ["connect-offsets", "offset-syncs"])
async def test_a_store_that_takes_nothing_keeps_no_mirror_from_being_judged(monkeypatch, lag_from):
    monkeypatch.setattr(sync_queue, "MOST_WAITING", 6)
    async with Scene(monkeypatch, lag_from=lag_from) as scene:
        scene.cluster.make("one")
        for number in range(30):
            scene.cluster.write(number, number)
        noted = scene.flow.syncs
        await eventually_async(lambda: noted.newest("orders", 0) and noted.newest("orders", 0).last == 30, 10)
        if lag_from == "offset-syncs":
            scene.look(scene.a, TOPIC, 30)
            scene.look(scene.b, "A.orders", 30)
            await eventually_async(lambda: scene.flow.read_to_ms > 0, 10)
        await scene.goes_on("taken")
        assert (len(scene.reader.queue), scene.cluster.opened) == (6, 1)

        found, since = [], 0
        while len(found) < 30:  # the store is back
            with scene.reader.turn:
                handed = scene.reader.queue.hand(since, now_ms=0)
                assert len(scene.reader.queue) <= 8  # a batch of three may go over
            found += [one.number for one in handed.syncs]
            since = handed.next_number
            await asyncio.sleep(0.01)
        assert found == list(range(30))
        await eventually_async(scene.readings[-1].closed.is_set, 10)
        assert (scene.cluster.opened, scene.readings[0].closed.is_set()) == (2, False)
        scene.cluster.write(30, 30)
        await eventually_async(lambda: scene.reader.queue.hand(30, now_ms=0).next_number == 31, 10)
        assert (scene.reader.intake.taken.syncs, scene.reader.queue.gone) == (31, 0)
        assert noted.newest("orders", 0).last == 31


async def test_a_missing_right_is_told_until_it_is_granted(monkeypatch):
    scene = Scene(monkeypatch)
    refusal = RefusedError(f"cluster A: reading {TOPIC} is refused: grant Read on it")
    scene.cluster.make("one")
    scene.cluster.refused = refusal
    with pytest.raises(RefusedError):
        await scene.reader.run(asyncio.Event())
    assert scene.reader.refused == f"{refusal}."
    scene.cluster.refused = None
    async with scene:
        scene.cluster.write(100, 107)
        await eventually_async(lambda: scene.waiting() == [100], 10)
        assert not scene.reader.refused
        scene.cluster.refused = refusal  # taken back while it is read
        await eventually_async(lambda: scene.reader.refused == f"{refusal}.", 10)
    assert not scene.flow.problem  # the flow is judged by something else


async def test_a_right_that_was_granted_is_missing_no_more_though_nothing_is_there_to_be_read(monkeypatch):
    scene = Scene(monkeypatch)
    scene.cluster.make("one")
    scene.cluster.refused = RefusedError(f"cluster A: describing {TOPIC} is refused: grant Describe on it")
    with pytest.raises(RefusedError):
        await scene.reader.run(asyncio.Event())
    scene.cluster.refused = None
    async with scene:
        await eventually_async(lambda: not scene.reader.refused, 2)


async def test_a_cluster_that_is_away_is_for_the_supervisor(monkeypatch):
    scene = Scene(monkeypatch)
    scene.cluster.refused = UnavailableError("cluster A: it cannot be reached")
    with pytest.raises(UnavailableError):
        await scene.reader.run(asyncio.Event())
    assert not scene.reader.refused


async def test_a_flow_that_is_followed_by_its_syncs_is_told_how_far_it_is(monkeypatch):
    async with Scene(monkeypatch, lag_from="offset-syncs") as scene:
        await eventually_async(lambda: "emit.offset-syncs.enabled" in scene.flow.problem, 10)
        scene.cluster.make("one")
        scene.cluster.write(100, 107)
        await eventually_async(lambda: scene.flow.windows.slot("orders", 0) is not None, 10)
        slot = scene.flow.windows.slot("orders", 0)
        assert scene.flow.windows.next_offset[slot] == 101
        assert scene.flow.problem == ""
        assert scene.flow.read_to_ms == -1  # where the topic of syncs ends is not known yet

        scene.look(scene.a, TOPIC, 1)
        scene.look(scene.b, "A.orders", 138)
        await scene.goes_on("taken")
        assert scene.flow.windows.next_offset[slot] == 101  # the source was not looked at since
        scene.look(scene.a, "orders", 500)
        await eventually_async(lambda: scene.flow.windows.next_offset[slot] == 131, 10)
        assert scene.flow.estimated == {("orders", 0)}
        read_to_ms = scene.flow.read_to_ms
        assert read_to_ms > 0

        # More is written to the topic of syncs than is read: nothing is known past that.
        scene.look(scene.a, TOPIC, 5)
        scene.look(scene.b, "A.orders", 150)
        await scene.goes_on("taken")
        assert scene.flow.read_to_ms == read_to_ms


async def test_syncs_that_are_read_again_are_no_steps_back(monkeypatch):
    async with Scene(monkeypatch, lag_from="offset-syncs") as scene:
        scene.cluster.make("one")
        for upstream in (100, 200, 300):
            scene.cluster.write(upstream, upstream + 7)
        windows = scene.flow.windows

        def told():
            slot = windows.slot("orders", 0)
            return slot is not None and [int(one) for one in windows.rings.offset[slot] if one >= 0]

        await eventually_async(lambda: told() and told()[-1] == 301, 10)
        before = told()
        scene.cluster.ids[TOPIC] = None  # as a broker that has just begun may say
        await scene.goes_on("asked")
        scene.cluster.ids[TOPIC] = "one"
        await eventually_async(lambda: scene.cluster.opened == 2, 10)
        await scene.goes_on("taken")
        assert told() == before
        scene.cluster.write(400, 407)
        await eventually_async(lambda: told()[-1] == 401, 10)
        scene.cluster.make("another")  # whose numbers begin again
        scene.cluster.write(450, 457)
        await eventually_async(lambda: told()[-1] == 451, 10)


async def test_a_flow_that_is_followed_by_something_else_is_left_alone(monkeypatch):
    async with Scene(monkeypatch) as scene:
        scene.cluster.make("one")
        scene.cluster.write(100, 107)
        scene.look(scene.a, TOPIC, 1)
        scene.look(scene.b, "A.orders", 138)
        await eventually_async(lambda: scene.waiting() == [100], 10)
        assert scene.flow.windows.slot("orders", 0) is None
        assert (scene.flow.read_to_ms, scene.flow.problem, scene.flow.note) == (-1, "", "")


# --- which flows


def test_only_mirrors_that_write_syncs_are_asked_for_them():
    flows = [
        Flow("A", "B"),
        Flow("B", "A", offset_syncs_location="target"),
        Flow("A", "C", emit_offset_syncs=False),
        Flow("A", "D", emit_offset_syncs=False),
        Flow("A", "E"),
        Flow("A", "F"),
    ]
    told = {"A->D": "offset-syncs", "A->E": "group", "A->F": "equal-offsets", "A->B": "connect-offsets"}
    orders = sync_orders(flows, told)
    assert [(one.flow, one.kafka_cluster, one.topic) for one in orders] == [
        ("A->B", "A", "mm2-offset-syncs.B.internal"),
        ("B->A", "A", "mm2-offset-syncs.B.internal"),
        ("A->D", "A", "mm2-offset-syncs.D.internal"),
    ]
    assert [read_sync(write_sync(one)) for one in orders] == orders


def test_two_flows_with_one_topic_of_syncs_take_those_of_what_they_mirror():
    flows = [
        Flow("A", "B", mirror_version="4.3"),
        Flow("B", "A", offset_syncs_location="target", mirror_version="4.3"),
    ]
    watches = {alias: SimpleNamespace(lag=ClusterLag(wanted=lambda *_: True), lock=None) for alias in "AB"}
    mirrors = [MirrorFlow(order_of(one), watches[one.source].lag, watches[one.target].lag) for one in flows]
    orders = sync_orders(flows, {})
    clients = dict.fromkeys("AB")
    ours, theirs = sync_readers(orders, mirrors, clients, watches, SystemClock())
    assert [ours.intake.mirrored(one) for one in ("orders", "A.orders", "B.orders")] == [True, True, False]
    assert [theirs.intake.mirrored(one) for one in ("orders", "A.orders", "B.orders")] == [True, False, True]
    (alone,) = sync_readers(orders[:1], mirrors, clients, watches, SystemClock())
    assert alone.intake.mirrored("B.orders")


def test_the_process_is_told_where_the_syncs_are():
    syncs = [SyncOrder("A->B", "A", TOPIC), SyncOrder("B->A", "A", "mm2-offset-syncs.A.internal")]
    told = write_orders(
        {},
        burrow_names={},
        groups=".*",
        groups_exclude="",
        per_partition=False,
        max_series=10,
        log_level="info",
        log_format="text",
        secrets=frozenset(),
        syncs=syncs,
    )
    assert read_orders({**json.loads(json.dumps(told)), "socket": "s"}).syncs == tuple(syncs)
