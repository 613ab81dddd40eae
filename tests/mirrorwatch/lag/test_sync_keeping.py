"""Offset syncs in the store: each once, over restarts and failures, thinned, and told where it goes wrong."""

from __future__ import annotations

import contextlib
import json
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet.errors import UnavailableError
from lagmon.syncs import id_tables as sync_id_tables
from lagmon.syncs import tables as sync_tables
from lagmon.syncs.answers import MOST_IDS, SyncAnswers
from lagmon.syncs.id_tables import ids_of
from lagmon.syncs.intake import SyncsTaken
from lagmon.syncs.pairs import SyncPair
from lagmon.syncs.queue import MOST_HANDED, SyncQueue, WaitingSync
from lagmon.syncs.tables import Cursor, crowded, cursor_of, pairs_of, thin_places, write_syncs
from lagmon.syncs.thinning import Thinning
from mirrorwatch.lag import sync_keeping
from mirrorwatch.lag.sync_id_keeping import TopicIdKeeper
from mirrorwatch.lag.sync_keeping import ASK_S, FRESH, WHERE, SyncKeeper
from runtime.store.store import Store
from tests.databases import DATABASES, address_of
from tests.runtime.fake_clock import FakeClock

MIGRATIONS = (*sync_tables.MIGRATIONS, *sync_id_tables.MIGRATIONS)
FLOW = "A->B"
DAY_S = 86_400


class Topic:
    """The topic of syncs as the lag monitor reads it, from its start whenever it is `read`."""

    def __init__(self, clock):
        self.clock = clock
        self.id = "one"
        self.syncs = []
        self.refused, self.taken = "", SyncsTaken()
        self.away = False
        self.asked = []
        self.ids, self.ids_at_ms = {}, {}
        self.read()

    def write(self, upstream, downstream=None, *, partition=0, topic="orders"):
        number = self.syncs[-1].number + 1 if self.syncs else 0
        at_ms = int(self.clock.wall_s() * 1000)
        downstream = upstream + 7 if downstream is None else downstream
        self.syncs.append(WaitingSync(number, topic, partition, upstream, downstream, at_ms))
        self.queue.add(self.syncs[-1])

    def see(self, topic, side, topic_id):
        """Have the lag monitor read a topic's id now."""
        self.ids[topic, side] = topic_id
        self.ids_at_ms[topic, side] = int(self.clock.wall_s() * 1000)

    def read(self):
        self.queue = SyncQueue()
        self.queue.begin(self.id)
        for one in self.syncs:
            self.queue.add(one)

    def make_anew(self):
        self.id, self.syncs = self.id + "'", []
        self.read()

    async def ask(self, question, **details):
        self.asked.append((question, details))
        if self.away:
            raise UnavailableError("the lag monitor does not answer")
        reader = SimpleNamespace(
            flow=FLOW,
            turn=contextlib.nullcontext(),
            queue=self.queue,
            refused=self.refused,
            intake=SimpleNamespace(taken=self.taken),
            mirror=SimpleNamespace(topics=self),
        )
        answers = SyncAnswers([reader], clock=self.clock)
        answer = {"syncs": answers.answer, "sync_ids": answers.ids}[question](json.loads(json.dumps(details)))
        return answer.head, b"".join(answer.pieces)


@pytest.fixture(params=DATABASES)
async def scene(request, tmp_path):
    clock = FakeClock()
    store = Store(address_of(request, tmp_path), migrations=MIGRATIONS)
    await store.open()
    problems, events, topic = {}, [], Topic(clock)
    reporter = SimpleNamespace(
        problem=problems.__setitem__,
        settled=lambda where: problems.pop(where, None),
        event=lambda sentence, **facts: events.append((sentence, facts)),
    )

    def keeper(keep_s=30 * DAY_S, flows=(FLOW,)):
        return SyncKeeper(store, topic, flows, keep_s=keep_s, clock=clock, reporter=reporter)

    async def kept(topic="orders", partition=0):
        found = await store.read(lambda connection: pairs_of(connection, FLOW, topic, partition))
        return [(pair.upstream, pair.downstream) for pair in found]

    yield SimpleNamespace(
        store=store, clock=clock, problems=problems, events=events, topic=topic, keeper=keeper, kept=kept
    )
    await store.close()


async def test_what_passes_is_kept_by_partition_in_its_order(scene):
    keeper = scene.keeper()
    scene.topic.write(100)
    scene.topic.write(300, partition=1)
    scene.topic.write(200)
    await keeper.go_round()
    assert await scene.kept() == [(100, 107), (200, 207)]
    assert await scene.kept(partition=1) == [(300, 307)]
    scene.topic.write(250, 250)
    await keeper.go_round()
    await keeper.go_round()
    assert await scene.kept() == [(100, 107), (200, 207), (250, 250)]
    assert len(scene.topic.queue) == 0  # what is written is not held on to
    assert not scene.problems


async def test_after_a_restart_the_topic_is_read_again_and_joined_without_doubles(scene):
    for upstream in (100, 200):
        scene.topic.write(upstream)
    await scene.keeper().go_round()
    scene.topic.write(300)
    scene.topic.read()  # the lag monitor's process was killed: it begins at the topic's start
    await scene.keeper().go_round()  # and so does the service
    assert await scene.kept() == [(100, 107), (200, 207), (300, 307)]


async def test_a_topic_that_was_recreated_goes_on_behind_the_old_one(scene):
    keeper = scene.keeper()
    for upstream in (100, 200, 300):
        scene.topic.write(upstream)
    await keeper.go_round()
    scene.topic.make_anew()
    scene.topic.write(400)
    await keeper.go_round()
    scene.topic.write(500)
    await keeper.go_round()
    assert await scene.kept() == [(100, 107), (200, 207), (300, 307), (400, 407), (500, 507)]


async def test_two_services_on_one_store_write_each_sync_once(scene):
    one, other = scene.keeper(), scene.keeper()
    scene.topic.write(100)
    await one.go_round()
    scene.topic.read()  # each has a lag monitor of its own
    await other.go_round()
    scene.topic.write(200)
    await other.go_round()
    scene.topic.read()
    await one.go_round()
    scene.topic.write(300)
    await one.go_round()
    assert await scene.kept() == [(100, 107), (200, 207), (300, 307)]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(st.sampled_from(["write", "write", "round", "full", "lost", "process", "service"])))
async def test_whatever_fails_in_between_each_sync_is_kept_once(tmp_path_factory, acts):
    clock = FakeClock()
    store = Store(f"sqlite:///{tmp_path_factory.mktemp('s') / 's.db'}", migrations=MIGRATIONS, clock=clock)
    await store.open()
    reporter = SimpleNamespace(problem=lambda *_: None, settled=lambda _: None)
    topic = Topic(clock)

    def keeper():
        return SyncKeeper(store, topic, [FLOW], keep_s=DAY_S, clock=clock, reporter=reporter)

    async def full(_function):
        raise UnavailableError("the store cannot grow, the disk is full")

    async def lost(function):
        await type(store).write(store, function)
        raise UnavailableError("the store did not answer; whether this write was finished is not known")

    one = keeper()
    for act in acts:
        if act == "write":
            topic.write(100 * len(topic.syncs))
        elif act == "process":
            topic.read()
        elif act == "service":
            one = keeper()
        else:
            store.write = {"full": full, "lost": lost}.get(act, store.write)
            await one.go_round()
            vars(store).pop("write", None)
    await one.go_round()
    found = await store.read(lambda connection: pairs_of(connection, FLOW, "orders", 0))
    assert [(pair.number, pair.upstream) for pair in found] == [
        (sync.number, sync.upstream) for sync in topic.syncs
    ]
    await store.close()


async def test_more_than_one_answer_holds_is_asked_for_at_once(scene):
    for number in range(2 * MOST_HANDED + 5):
        scene.topic.write(number, partition=number % 100)
    await scene.keeper().go_round()
    count = sa.select(sa.func.count()).select_from(sync_tables.SYNCS)
    assert (
        await scene.store.read(lambda connection: connection.execute(count).scalar()) == 2 * MOST_HANDED + 5
    )


async def test_a_store_that_fails_is_reported_and_written_later(scene, monkeypatch):
    keeper = scene.keeper()
    scene.topic.write(100)

    async def fails(_function):
        raise UnavailableError("the store is held by another process")

    with monkeypatch.context() as patched:
        patched.setattr(scene.store, "write", fails)
        await keeper.go_round()
    assert scene.problems == {WHERE: "the store is held by another process"}
    scene.topic.write(200)
    await keeper.go_round()
    assert await scene.kept() == [(100, 107), (200, 207)]
    assert not scene.problems


async def test_a_lag_monitor_that_is_away_is_waited_for_in_silence(scene):
    keeper = scene.keeper()
    scene.topic.write(100)
    scene.topic.away = True
    await keeper.go_round()
    assert not scene.problems
    scene.topic.away = False
    await keeper.go_round()
    assert await scene.kept() == [(100, 107)]


async def test_one_that_has_not_found_the_topic_yet_changes_nothing(scene):
    keeper = scene.keeper()
    scene.topic.write(100)
    await keeper.go_round()
    scene.topic.queue = SyncQueue()  # begun anew, and the topic's id is not read yet
    await keeper.go_round()
    scene.topic.write(200)
    scene.topic.read()
    await keeper.go_round()
    assert await scene.kept() == [(100, 107), (200, 207)]
    assert await scene.store.read(lambda connection: cursor_of(connection, FLOW)) == Cursor(0, "one", 2)


async def test_what_is_wrong_with_the_topic_is_reported(scene):
    keeper, where = scene.keeper(), f"offset syncs of {FLOW}"
    scene.topic.refused = "cluster A: reading mm2-offset-syncs.B.internal is refused."
    scene.topic.taken.malformed, scene.topic.taken.sample = 3, "The value of an offset sync is cut short"
    await keeper.go_round()
    await keeper.go_round()
    assert scene.problems == {where: "cluster A: reading mm2-offset-syncs.B.internal is refused."}
    assert [facts for _, facts in scene.events] == [
        {"flow": FLOW, "malformed": 3, "sample": "The value of an offset sync is cut short"}
    ]
    scene.topic.refused, scene.topic.taken.beyond = "", 12
    await keeper.go_round()
    assert scene.problems[where].startswith("12 offset syncs not stored: too many partitions")
    scene.topic.taken.beyond = 0
    await keeper.go_round()
    assert not scene.problems


async def test_what_the_store_did_not_take_in_time_is_reported_once_with_its_number(scene):
    keeper = scene.keeper()
    told = []
    for gone in (0, 7, 7, 0, 0, 2):  # the lag monitor is started again after the third
        scene.topic.queue.gone = gone
        await keeper.go_round()
        told.append([facts["syncs"] for _, facts in scene.events])
    assert told == [[], [7], [7], [7], [7], [7, 2]]
    assert {sentence for sentence, _ in scene.events} == {
        "offset syncs lost: the store was unavailable until retention deleted them"
    }
    assert not scene.problems


async def test_a_busy_partition_is_thinned_as_it_grows(scene):
    keeper = scene.keeper()
    counts = []
    for number in range(12 * 60):
        for _ in range(5):
            scene.topic.write(10 * len(scene.topic.syncs))
            scene.clock.advance(1)
        if number % 12 == 0:
            await keeper.go_round()
            counts.append(len(await scene.kept()))
    assert max(counts) < 256 + 2 * FRESH + 80
    last = scene.topic.syncs[-1]
    await keeper.go_round()
    assert (await scene.kept())[-1] == (last.upstream, last.downstream)


async def test_once_an_hour_what_is_too_old_goes_but_for_the_newest(scene):
    keeper = scene.keeper(keep_s=2 * DAY_S)
    for upstream in (100, 200, 300):
        scene.topic.write(upstream)
    scene.topic.write(100, partition=1)
    await keeper.go_round()
    scene.clock.advance(2 * DAY_S - 60)
    scene.topic.write(200, partition=1)
    await keeper.go_round()
    assert len(await scene.kept()) == 3
    scene.clock.advance(3700)
    await keeper.go_round()
    assert await scene.kept() == [(300, 307)]
    assert await scene.kept(partition=1) == [(200, 207)]


async def test_every_partition_is_looked_at_once_an_hour(scene, monkeypatch):
    monkeypatch.setattr(sync_keeping, "LOOKED_AT_ONCE", 3)
    keeper = scene.keeper(keep_s=2 * DAY_S)
    for partition in range(11):
        scene.topic.write(100, partition=partition)
        scene.topic.write(200, partition=partition)
    await keeper.go_round()
    scene.clock.advance(3 * DAY_S)
    await keeper.go_round()
    assert [await scene.kept(partition=partition) for partition in range(11)] == [[(200, 207)]] * 11


async def test_what_is_kept_of_places_in_memory_does_not_grow_with_topics_that_are_gone(scene, monkeypatch):
    monkeypatch.setattr(sync_keeping, "MOST_KNOWN", 10, raising=False)
    keeper = scene.keeper()
    for number in range(40):
        scene.topic.write(100, topic=f"t{number}")
        scene.topic.write(100 * number, topic="orders")
        await keeper.go_round()
        assert len(keeper._places[FLOW]) <= 10
    assert len(await scene.kept()) == 40  # found again by asking the store
    assert [await scene.kept(topic=f"t{number}") for number in range(40)] == [[(100, 107)]] * 40
    scene.clock.advance(3700)
    await keeper.go_round()
    assert not keeper._fresh


async def test_it_asks_every_few_seconds(scene):
    keeper = scene.keeper()
    rounds = []

    async def go_round():
        rounds.append(scene.clock.now_ns)
        if len(rounds) == 3:
            raise KeyboardInterrupt

    keeper.go_round = go_round
    with pytest.raises(KeyboardInterrupt):
        await keeper.keep()
    assert scene.clock.waits_s == [ASK_S, ASK_S]


async def test_flows_do_not_see_each_others_syncs(scene):
    syncs = [WaitingSync(0, "orders", 0, 1, 2, 3)]

    def write(connection):
        for flow in ("A->B", "A->C"):
            write_syncs(connection, flow, syncs, topic_id="x", next_number=1, known={})
        return [
            crowded(connection, range(*two), more_than=0, before_ms=0) for two in ((0, 9), (2, 9), (0, 2))
        ]

    assert await scene.store.write(write) == [[1, 2], [2], [1]]
    found = await scene.store.read(lambda connection: pairs_of(connection, "A->C", "orders", 0))
    assert found == [SyncPair(0, 0, 1, 2, 3)]
    assert await scene.store.read(lambda connection: pairs_of(connection, "B->A", "orders", 0)) == []
    thinned = await scene.store.write(
        lambda connection: thin_places(connection, [1, 2], now_ms=1 << 50, rules=Thinning())
    )
    assert thinned == 0  # each is the newest


# --- the topics that pairs are about


async def spans(scene, topic="orders"):
    """Give (side, id, from, to) of each id that is kept, in seconds since the test began."""
    found = await scene.store.read(lambda connection: ids_of(connection, FLOW, topic))
    began_ms = int(scene.clock.began_wall_s * 1000)
    return sorted(
        (one.side, one.topic_id, (one.first_ms - began_ms) // 1000, (one.last_ms - began_ms) // 1000)
        for one in found
    )


async def watch(scene, keeper, seconds, **ids):
    """Let time pass in rounds of ten seconds, with these ids read at each of them."""
    for _ in range(seconds // 10):
        scene.clock.advance(10)
        for side, topic_id in ids.items():
            scene.topic.see("orders", side, topic_id)
        await keeper.go_round()


async def test_ids_are_kept_from_when_to_when_they_were_seen(scene):
    keeper = scene.keeper()
    await watch(scene, keeper, 20, source="s1", target="t1")
    assert await spans(scene) == [("source", "s1", 10, 10), ("target", "t1", 10, 10)]
    await watch(scene, keeper, 600, source="s1", target="t1")
    (_, _, first, last), _ = await spans(scene)
    assert first == 10
    assert last >= 310


async def test_of_a_topic_recreated_the_old_ids_last_look_is_kept_too(scene):
    keeper = scene.keeper()
    await watch(scene, keeper, 100, source="s1", target="t1")
    await watch(scene, keeper, 40, source="s2", target="t1")
    before, after, _ = await spans(scene)
    assert before[:3] == ("source", "s1", 10)
    assert after[1] == "s2"
    # Between the two looks it is not known; neither reaches over into the other's time.
    assert 70 <= before[3] <= 100 < after[2] <= 140


async def test_ids_are_gone_on_with_after_a_restart(scene):
    await watch(scene, scene.keeper(), 20, source="s1")
    scene.clock.advance(3600)
    await watch(scene, scene.keeper(), 10, source="s1")
    assert await spans(scene) == [("source", "s1", 10, 3630)]


async def test_ids_of_many_topics_come_in_pages(scene):
    for number in range(MOST_IDS + 7):
        scene.topic.see(f"t{number:05}", "source", f"id{number}")
    await scene.keeper().go_round()
    found = await scene.store.read(lambda connection: ids_of(connection, FLOW))
    assert {(one.topic, one.topic_id) for one in found} == {
        (f"t{number:05}", f"id{number}") for number in range(MOST_IDS + 7)
    }


async def test_ids_that_no_pair_can_be_about_go(scene):
    keeper = scene.keeper(keep_s=2 * DAY_S)
    await watch(scene, keeper, 10, source="s1")
    scene.clock.advance(2 * DAY_S)
    await watch(scene, keeper, 10, source="s2")
    await watch(scene, keeper, 3700, source="s2")
    assert [one[1] for one in await spans(scene)] == ["s2"]


async def test_what_is_kept_of_ids_in_memory_does_not_grow_with_topics_that_are_gone(scene):
    keeper = TopicIdKeeper(scene.store, scene.topic, keep_ms=2 * DAY_S * 1000)
    for number in range(50):
        scene.topic.ids.clear()
        scene.topic.see(f"t{number}", "source", f"id{number}")
        await keeper.look(FLOW)
        await keeper.forget(int(scene.clock.wall_s() * 1000))
        scene.clock.advance(DAY_S)
    assert len(keeper._seen[FLOW]) == len(keeper._written_ms) == 3


async def test_an_id_is_written_once_the_store_takes_it(scene, monkeypatch):
    keeper = scene.keeper()
    await watch(scene, keeper, 100, source="s1")

    async def fails(_function):
        raise UnavailableError("the store is held by another process")

    with monkeypatch.context() as patched:
        patched.setattr(scene.store, "write", fails)
        await watch(scene, keeper, 40, source="s2")
    assert WHERE in scene.problems
    await watch(scene, keeper, 40, source="s2")
    before, after = await spans(scene)
    assert (before[1], after[1]) == ("s1", "s2")
    assert 70 <= before[3] <= 100


async def test_an_answer_that_is_behind_the_store_does_not_take_it_back(scene):
    syncs = [WaitingSync(number, "orders", 0, number, number, 3) for number in range(3)]

    def write(connection):
        for count in (3, 1, 3):  # of two processes, the second one has not read as much
            written = write_syncs(connection, FLOW, syncs[:count], topic_id="x", next_number=count, known={})
            assert written.cursor == Cursor(0, "x", 3)
        return pairs_of(connection, FLOW, "orders", 0)

    assert [pair.number for pair in await scene.store.write(write)] == [0, 1, 2]
