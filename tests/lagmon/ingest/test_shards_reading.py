"""What a process reads and polls that has one shard of a cluster's groups, also while the division changes."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from fleet.shards import Shard
from lagmon.arrays.java_hash import partition_of
from lagmon.cluster.group_share import USUAL_PARTITIONS, GroupShare
from lagmon.cluster.readiness import not_ready, share_read
from lagmon.cluster.state import ClusterLag
from lagmon.ingest import commits, watching
from lagmon.ingest.admin_rounds import LIST_S, LISTED_PER_S, AdminRounds
from lagmon.ingest.commits import TOPIC, CommitsReader
from lagmon.ingest.watching import ClusterWatch
from runtime.kafka.bulk import Batch
from runtime.kafka.positions import Listed
from tests.eventually import eventually_async
from tests.lagmon.ingest.test_admin_rounds import PretendAsker
from tests.lagmon.ingest.test_commits_reread import Client, Cluster, Patient, groups
from tests.lagmon.ingest.test_watching_sources import Looked, Reading
from tests.runtime.fake_clock import FakeClock

NAMES = [f"g{number}" for number in range(12)]
STRAYS = (
    f"cluster A: topic {TOPIC} has groups in partitions that do not fit its number of partitions;"
    " reading all partitions from their start"
)


def lag_of(number, count, *, reads_all=False):
    share = GroupShare(Shard(number, count), reads_all=reads_all)
    return ClusterLag(
        wanted=lambda group, _topic: share.has(group),
        hidden=lambda group, _topic: not share.has(group),
        share=share,
    )


class Stage:
    """A cluster with the commits of NAMES in so many partitions, and watches that share its groups."""

    def __init__(self, monkeypatch, partitions):
        self.clock, self.said, self.opened = Patient(), [], []
        self.cluster = Cluster(self.clock)
        self.cluster.logs = [[] for _ in range(partitions)]
        self.write(partitions)
        stage = self

        class Opening(Client):
            def open(self, numbers):
                stage.opened.append(list(numbers))
                super().open(numbers)

        monkeypatch.setattr(commits, "Bulk", lambda *_, **__: Opening(self.cluster))
        monkeypatch.setattr(watching, "Positions", lambda *_, **__: self.cluster)
        log = SimpleNamespace(warning=lambda one, **_: self.said.append(one))
        monkeypatch.setattr(commits.logs, "get", lambda _name: log)

    def write(self, partitions):
        """Have every group commit, as brokers do that know so many partitions."""
        for name in NAMES:
            self.cluster.write(name, 90, partition=partition_of(name, partitions), age_s=60)

    @asynccontextmanager
    async def watching(self, monkeypatch, count):
        watches = [
            ClusterWatch("A", None, lag_of(number, count), clock=self.clock, random=lambda: 0.5)
            for number in range(1, count + 1)
        ]
        stopping = asyncio.Event()
        for watch in watches:
            monkeypatch.setattr(watch.tails, "look", lambda: None)
        running = [asyncio.create_task(watch.run(stopping)) for watch in watches]
        try:
            yield watches
        finally:
            stopping.set()
            await asyncio.wait_for(asyncio.gather(*running), 20)


def known(watch):
    """Return the groups of a watch once it is ready, None before."""
    with watch.lock:
        return groups(watch.lag) if not_ready(None, watch.progress) is None else None


def up_to_date(watch):
    with watch.lock:
        return all(watch.lag._commits.of_group(name) >= 0 for name in groups(watch.lag))


def all_once(watches):
    found = [known(watch) for watch in watches]
    return None not in found and sorted(name for one in found for name in one) == sorted(NAMES)


@pytest.mark.parametrize(("partitions", "count"), [(5, 2), (7, 3), (2, 3), (1, 1)])
async def test_each_shard_reads_its_partitions_and_all_are_ready_with_each_group_once(
    monkeypatch, partitions, count
):
    stage = Stage(monkeypatch, partitions)
    async with stage.watching(monkeypatch, count) as watches:
        await eventually_async(lambda: all_once(watches), 20, what="each group once")
        assert sorted(stage.opened) == sorted(
            [one for one in range(partitions) if one % count == number]
            for number in range(min(count, partitions))
        )
        assert [share_read(watch.progress) for watch in watches] == [1.0] * count
        await eventually_async(
            lambda: all(up_to_date(watch) for watch in watches), 20, what="commits of all groups known"
        )
        total = sum(watch.progress.total_records for watch in watches)
        assert (total, stage.said) == (len(NAMES), [])
        assert [watch.progress.partitions for watch in watches] == [
            len(range(number, partitions, count)) for number in range(count)
        ]


@pytest.mark.parametrize("brokers", ["as before", "restarted"])
async def test_after_more_partitions_each_group_is_shown_once_wherever_brokers_store_it(monkeypatch, brokers):
    """Brokers go on with the number of partitions at their start: a group stays where it was."""
    stage = Stage(monkeypatch, 3)
    async with stage.watching(monkeypatch, 2) as watches:
        await eventually_async(lambda: all_once(watches), 20, what="each group once")
        stage.cluster.logs = [*stage.cluster.logs, [], []]
        stage.write(3 if brokers == "as before" else 5)
        every = [list(range(5))] * 2
        await eventually_async(lambda: stage.opened[-2:] == every, 20, what="readers of all partitions")
        await eventually_async(lambda: all_once(watches), 20, what="each group once, as before")
        moved = [name for name in NAMES if partition_of(name, 3) % 2 != partition_of(name, 5) % 2]
        assert moved  # they are shown by another process now
        for watch in watches:
            assert all(watch.lag.share.has(name) for name in known(watch))


async def test_groups_in_partitions_that_do_not_fit_are_found_by_reading_all(monkeypatch):
    """As after a start behind such a change."""
    stage = Stage(monkeypatch, 3)
    stage.cluster.logs = [*stage.cluster.logs, [], []]
    async with stage.watching(monkeypatch, 2) as watches:
        await eventually_async(lambda: all_once(watches), 20, what="each group once")
        assert stage.said == [STRAYS] * 2
        assert stage.opened[2:] == [list(range(5))] * 2
        read = [watch.reader for watch in watches]
        await asyncio.sleep(0.5)
        assert [watch.reader for watch in watches] == read  # once


async def test_a_shard_without_a_partition_reads_once_it_may_have_a_group(monkeypatch):
    stage = Stage(monkeypatch, 1)
    async with stage.watching(monkeypatch, 2) as watches:
        await eventually_async(lambda: all_once(watches), 20, what="each group once")
        idle = watches[1]
        assert (idle.reader, known(idle), share_read(idle.progress), stage.opened) == (None, [], 1.0, [[0]])
        stage.cluster.logs = [*stage.cluster.logs, []]
        await eventually_async(lambda: known(idle) and all_once(watches), 20, what="each group once")


async def test_partitions_of_other_shards_are_no_reason_to_wait():
    looked = Looked()
    looked.lag = looked.watch.lag = lag_of(2, 2)
    looked.topics[TOPIC] = Listed(TOPIC, (None, 1, None))
    looked.watch.looks = type(looked.watch.looks)("A", looked.lag, looked.watch.lock, clock=looked.clock)
    looked.lag.share.divide(3)
    reader = CommitsReader(None, looked.lag, looked.watch.lock, cluster="A", clock=looked.clock)
    looked.watch.reader = reader
    reader._ending.set()
    client = SimpleNamespace(at={}, opened=None)
    reader._bulk = SimpleNamespace(
        open=lambda numbers: setattr(client, "opened", list(numbers)),
        take=nothing,
        positions=lambda: dict(client.at),
        close=lambda: None,
    )
    reader.run({1: 0}, {1: 50}, 3)
    client.at = {1: 50}
    looked.look()
    reader.expect({0: 7, 1: 50, 2: 9}, looked.now_ms)
    reader._take()
    assert client.opened == [1]
    assert (reader.progress.problem, share_read(reader.progress)) == ("", 1.0)
    assert looked.lag.read_to_ms == looked.now_ms
    assert set(reader._awaited) == {1}
    assert reader.must_restart() is False
    looked.topics[TOPIC] = Listed(TOPIC, (None, 1, None, 1))
    for _ in range(6):
        looked.look()
    assert reader.must_restart() is True


def nothing(**_):
    return Batch([], [])


# --- Admin mode


def rounds_of(lag, asker):
    clock = FakeClock()
    rounds = AdminRounds(
        None,
        lag,
        threading.Lock(),
        cluster="A",
        clock=clock,
        random=lambda: 0.5,
        tell=lambda _sentence: None,
        asker=asker,
    )
    rounds.begin()

    def turns(for_s):
        for _ in range(round(for_s * 10)):
            clock.advance(0.1)
            rounds.turn()

    return SimpleNamespace(lag=lag, asker=asker, rounds=rounds, turns=turns)


@pytest.mark.parametrize("listed", [0, 3])
def test_each_shard_asks_of_its_groups_only_and_one_counts_those_of_other_kinds(listed):
    made = []
    for number in (1, 2, 3):
        lag, asker = lag_of(number, 3), PretendAsker()
        lag.note_topics({"t": 1} | ({TOPIC: listed} if listed else {}))
        lag.share.divide(listed)
        asker.states = dict.fromkeys(NAMES, "empty")
        asker.offsets = {name: [["t", 0, 5]] for name in NAMES}
        made.append(rounds_of(lag, asker))
        made[-1].turns(3)
    for number, one in enumerate(made):
        mine = [name for name in NAMES if partition_of(name, listed or USUAL_PARTITIONS) % 3 == number]
        assert sorted(set(one.asker.asked)) == groups(one.lag) == sorted(mine)
        assert one.rounds.progress.total_groups == len(mine)
        assert share_read(one.rounds.progress) == 1.0
    assert [one.rounds.others for one in made] == [2, 0, 0]


def test_the_list_is_read_as_seldom_as_its_length_asks_for_whoever_has_the_groups():
    lag, asker = lag_of(1, 50), PretendAsker()
    asker.states = dict.fromkeys((f"g{number}" for number in range(40 * LISTED_PER_S)), "empty")
    made = rounds_of(lag, asker)
    made.turns(2 * LIST_S)
    lists = asker.lists
    made.turns(30)
    assert (lists, asker.lists) == (2, 2)
    made.turns(10)
    assert asker.lists == 3


async def test_groups_are_divided_again_in_admin_mode_once_the_topic_has_another_number(monkeypatch):
    begun, cluster = [], SimpleNamespace(count=0)

    class Admin(Reading):
        refused = None

        def __init__(self, _settings, lag, *_more, **_named):
            super().__init__()
            begun.append((lag.share.partitions, self))

    def look(watch, _positions):
        watch.lag.topics = {TOPIC: cluster.count} if cluster.count is not None else {}

    positions = SimpleNamespace(open=lambda: None, close=lambda: None)
    monkeypatch.setattr(watching, "Positions", lambda *_, **__: positions)
    monkeypatch.setattr(watching, "AdminRounds", Admin)
    monkeypatch.setattr(ClusterWatch, "_look", look)
    stopping, cluster.count = asyncio.Event(), None
    lag = lag_of(1, 2)
    watch = ClusterWatch("A", None, lag, clock=Patient(), random=lambda: 0.5, commits_from="admin")
    running = asyncio.create_task(watch.run(stopping))
    try:
        for count, expected in [(None, [50]), (3, [50, 3]), (0, [50, 3]), (3, [50, 3]), (4, [50, 3, 4])]:
            cluster.count = count
            await eventually_async(
                lambda expected=expected: [number for number, _ in begun] == expected, 10, what=str(expected)
            )
            await asyncio.sleep(0.2)
            assert [number for number, _ in begun] == expected
        assert [one._ending.is_set() for _, one in begun] == [True, True, False]
    finally:
        stopping.set()
        await asyncio.wait_for(running, 10)


async def test_without_shards_another_number_of_partitions_is_nothing_to_admin_mode(monkeypatch):
    lag = ClusterLag(wanted=lambda *_: True)
    watch = ClusterWatch("A", None, lag, clock=FakeClock(), random=lambda: 0.5, commits_from="admin")
    watch.reader = object.__new__(AdminRounds)
    lag.note_topics({TOPIC: 3})
    assert watch._must_divide_again() is False
