"""The topic of commits is made anew, is given partitions or loses its end, while it is read."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.cluster.readiness import not_ready
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rules.words import Reason
from lagmon.ingest import commits, watching
from lagmon.ingest.commits import TOPIC
from lagmon.ingest.watching import ClusterWatch
from runtime.kafka.bulk import Batch
from runtime.kafka.positions import Listed, Which
from tests.eventually import eventually_async
from tests.lagmon.ingest.test_watching_sources import Looked, begun
from tests.runtime.fake_clock import FakeClock

ANEW = f"cluster A: topic {TOPIC}: re-created; reading it again from its start"
MORE = f"cluster A: topic {TOPIC}: 2 partitions instead of 1; reading it again from its start"
BACK = (
    f"cluster A: topic {TOPIC}: partition 0 went back from 50 to {{}}: it was truncated or re-created;"
    " reading the topic again from its start"
)


class Read(Looked):
    """A watch whose reader has read all 50 records, and what it said."""

    def __init__(self):
        super().__init__()
        self.said, self.asked_ids, self.commits_id = [], [], "first"
        self.look()
        self.reader, self.client = begun(self, {0: 0}, {0: 50})
        self.reader._log = SimpleNamespace(warning=lambda sentence, **_: self.said.append(sentence))
        self.client.at = {0: 50}
        self.go(1)

    def ids(self, topics):
        self.asked_ids.append(topics)
        return {one: self.commits_id if one == TOPIC else self.id for one in topics if one in self.topics}

    def go(self, looks):
        for _ in range(looks):
            self.look()
            self.reader._take()


def groups(lag):
    return sorted(name for _, name in lag.slots.groups())


@pytest.fixture
def read():
    return Read()


def change(read, what):
    if what == "another id":
        read.commits_id = "second"
    elif what == "more partitions":
        read.topics[TOPIC] = Listed(TOPIC, (1, 1))
    else:
        read.committed_end = read.stable_end = 49


@pytest.mark.parametrize(
    ("what", "looks", "said"),
    [("another id", 6, ANEW), ("more partitions", 6, MORE), ("a lost end", 1, BACK.format(49))],
)
def test_all_is_read_anew_and_nothing_is_known_until_then(read, what, looks, said):
    read.commit("g", 90)
    read.go(5)
    assert (read.reader.must_restart(), groups(read.lag)) == (False, ["g"])
    change(read, what)
    read.go(looks)
    assert read.reader.must_restart() is True
    assert (read.said, groups(read.lag), read.lag.read_to_ms) == ([said], [], -1)
    assert not_ready(None, read.reader.progress)["phase"] == "starting"
    value = encode_commit_value(95, read.now_ms)
    read.client.batches = [Batch([encode_commit_key("g", "t", 0)], [value])]
    read.reader._take()  # what comes before its thread has ended
    assert (groups(read.lag), read.lag.read_to_ms) == ([], -1)
    assert read.lag.heads.sampled_ms[read.lag.places.of("t")].tolist() == [read.now_ms]  # these stay


def test_an_end_that_was_lost_is_not_taken_for_read_and_has_the_id_asked_for_at_once(read):
    read.go(1)
    known_ms = read.lag.read_to_ms
    assert read.asked_ids[-1] == []
    change(read, "a lost end")
    read.commits_id = "second"
    read.go(1)
    assert (read.lag.read_to_ms, read.asked_ids[-1]) == (known_ms, [TOPIC])
    assert read.reader.must_restart() is True
    assert read.said == [ANEW]


def test_who_reads_on_past_an_end_while_the_look_goes_on_has_lost_nothing(read):
    ask = read.read

    def ask_and_read_on(partitions, which):
        found = ask(partitions, which)
        read.client.at = {0: read.committed_end + 5}
        read.reader._take()
        return found

    read.read = ask_and_read_on
    for _ in range(10):
        read.look()
        read.committed_end = read.stable_end = read.committed_end + 5
    assert (read.reader.must_restart(), read.said) == (False, [])


def test_what_a_client_hands_over_that_has_gone_back_to_the_start_is_not_taken_in(read):
    """Where the log ends before what it has read, it begins anew by itself: these would seem to be new."""
    read.commit("g", 90)
    old = encode_commit_value(10, read.now_ms - 3_600_000)
    read.client.batches, read.client.at = [Batch([encode_commit_key("g", "t", 0)], [old])], {0: 1}
    read.reader._take()
    (slot,) = read.lag.slots.of("g").tolist()
    assert (read.lag.rings.offset[slot, -1], read.lag.rings.filled[slot]) == (90, 1)
    assert read.reader.must_restart() is True
    assert read.said == [BACK.format(1)]


def test_a_marker_at_the_end_that_no_client_hands_over_is_nothing_lost(read):
    read.client.batches = [Batch([], [], ends={0: 52})]
    read.committed_end = read.stable_end = 52
    read.go(3)
    assert (read.reader.progress.read_records, read.reader.must_restart()) == (52, False)


@pytest.mark.parametrize("brokers", ["with ids", "without ids"])
def test_a_topic_that_is_back_as_it_was_is_no_other(read, brokers):
    if brokers == "without ids":
        read.ids = lambda _topics: {}
    there = read.topics
    read.topics = {"t": there["t"]}
    read.go(6)
    known_ms = read.lag.read_to_ms
    read.go(2)
    assert (TOPIC in read.lag.topics, read.lag.read_to_ms) == (False, known_ms)
    read.topics = there
    read.go(8)
    assert (read.reader.must_restart(), read.said) == (False, [])


class Cluster:
    """A cluster with the topic t, whose end is 100, and commits; a client reads on at the log it opened."""

    def __init__(self, clock):
        self.clock, self.id, self.logs, self.opened = clock, "first", [[]], 0
        self.cluster_id = "c"

    def write(self, group, offset, *, partition=0, age_s=0):
        key = encode_commit_key(group, "t", 0)
        value = encode_commit_value(offset, int((self.clock.wall_s() - age_s) * 1000))
        self.logs[partition].append((key, value))

    def topics(self):
        return {"t": Listed("t", (1,)), TOPIC: Listed(TOPIC, (1,) * len(self.logs))}

    def ids(self, topics):
        return {topic: self.id if topic == TOPIC else "t" for topic in topics}

    def read(self, partitions, which):
        if which is Which.START:
            return [0] * len(partitions)
        return [len(self.logs[number]) if topic == TOPIC else 100 for topic, number in partitions]

    def open(self):
        pass

    def close(self):
        pass


class Client:
    def __init__(self, cluster):
        self._cluster, self._logs, self._at = cluster, [], {}

    def open(self, partitions):
        self._cluster.opened += 1
        self._logs, self._at = self._cluster.logs, dict.fromkeys(partitions, 0)

    def take(self, *, wait_s):
        threading.Event().wait(wait_s / 100)
        new = [one for number, at in self._at.items() for one in self._logs[number][at:]]
        self._at = {number: len(self._logs[number]) for number in self._at}
        return Batch([key for key, _ in new], [value for _, value in new])

    def positions(self):
        return dict(self._at)

    def close(self):
        pass


class Patient(FakeClock):
    async def wait(self, event, *, timeout_s):
        await asyncio.sleep(0.02)  # so that the reader's thread comes by, too
        return await super().wait(event, timeout_s=timeout_s)


@pytest.mark.parametrize("change", ["made anew", "more partitions"])
async def test_a_watch_goes_on_with_the_groups_of_the_topic_that_is_there_now(monkeypatch, change):
    clock = Patient()
    cluster, said = Cluster(clock), []
    monkeypatch.setattr(commits, "Bulk", lambda *_, **__: Client(cluster))
    monkeypatch.setattr(watching, "Positions", lambda *_, **__: cluster)
    monkeypatch.setattr(
        commits.logs, "get", lambda _name: SimpleNamespace(warning=lambda one, **_: said.append(one))
    )
    lag = ClusterLag(wanted=lambda *_: True)
    watch = ClusterWatch("A", None, lag, clock=clock, random=lambda: 0.5)
    monkeypatch.setattr(watch.tails, "look", lambda: None)
    for group, offset in (("g", 80), ("g", 90), ("left", 40)):
        cluster.write(group, offset, age_s=3600)

    def told():
        with watch.lock:
            return groups(lag) if not_ready(None, watch.progress) is None and lag.read_to_ms >= 0 else None

    stopping = asyncio.Event()
    running = asyncio.create_task(watch.run(stopping))
    try:
        await eventually_async(lambda: told() == ["g", "left"], 20, what="two groups")
        first = watch.reader
        if change == "made anew":
            cluster.id, cluster.logs = "second", [[]]
            cluster.write("g", 20, age_s=1800)
        else:
            cluster.logs = [cluster.logs[0], []]
        cluster.write("new", 30, partition=len(cluster.logs) - 1, age_s=1800)
        there = ["g", "new"] if change == "made anew" else ["g", "left", "new"]
        await eventually_async(lambda: told() == there, 20, what=str(there))
        with watch.lock:
            (slot,) = lag.slots.of("g").tolist()
            sight = lag.see(int(clock.wall_s() * 1000))
            assert (lag.rings.filled[slot], lag.rings.live[slot]) == (1 if change == "made anew" else 2, 0)
            assert sight.rows.reason[slot] != Reason.REWOUND
        assert watch.reader is not first
        assert (said, cluster.opened, watch.failed_reads) == ([ANEW if change == "made anew" else MORE], 2, 0)
    finally:
        stopping.set()
        await asyncio.wait_for(running, 20)
