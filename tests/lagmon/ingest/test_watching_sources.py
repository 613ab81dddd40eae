"""Where a watch takes commits from: the topic, the Admin API where that is refused, and back."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import pytest

from fleet.errors import RefusedError, UnavailableError
from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.cluster.state import Away, ClusterLag
from lagmon.groups.rules.words import Reason
from lagmon.ingest import watching
from lagmon.ingest.commits import TOPIC, CommitsReader, Progress
from lagmon.ingest.watching import ClusterWatch
from runtime.kafka.bulk import Batch
from runtime.kafka.positions import Listed, Which
from runtime.kafka.properties.client_settings import ClientSettings
from tests.eventually import eventually_async
from tests.runtime.fake_clock import FakeClock


class Reading:
    """A reader on a thread that ends when it is told to, or is refused."""

    def __init__(self, *_positional, **_named):
        self.progress = Progress(began_at=1_800_000_000.0, ready_after_s=1.0)
        self.cycle_s, self.others = 10.0, 0
        self._ending = threading.Event()
        self.anew = False

    def must_restart(self):
        return self.anew

    def run(self, *_ends):
        if self.refused:
            raise self.refused
        self._ending.wait(20)

    def stop(self):
        self._ending.set()

    def expect(self, _ends, _at_ms):
        pass


@pytest.fixture
def made(monkeypatch):
    """Give a watch over a pretend cluster whose commits are `refused` (None: they may be read)."""
    cluster = SimpleNamespace(refused=None, hidden=None, may_read=False, shown=True, tries=0, tried_s=[])

    class Topic(Reading):
        refused = property(lambda _self: cluster.refused)

    class Admin(Reading):
        refused = None

    class Pretend:
        def __init__(self, *_positional, **_named):
            pass

        def open(self):
            pass

        def close(self):
            pass

        def ids(self, _topics):
            if cluster.hidden:
                raise cluster.hidden
            return {}

        def read(self, partitions, _which):
            return [0] * len(partitions)

    def readable(*_positional, **_named):
        cluster.tries += 1
        cluster.tried_s.append(watch._clock.now_ns / 1e9)
        return cluster.may_read

    def look(watch, _positions):
        watch.looks.listed = {TOPIC: SimpleNamespace(leaders=(1,), led=(True,))} if cluster.shown else {}

    monkeypatch.setattr(watching, "Positions", Pretend)
    monkeypatch.setattr(watching, "CommitsReader", Topic)
    monkeypatch.setattr(watching, "AdminRounds", Admin)
    monkeypatch.setattr(watching, "commits_readable", readable)
    monkeypatch.setattr(ClusterWatch, "_look", look)

    class Patient(FakeClock):
        async def wait(self, event, *, timeout_s):
            await asyncio.sleep(0.001)  # so that the readers' threads come by, too
            return await super().wait(event, timeout_s=timeout_s)

    watch = ClusterWatch(
        "A",
        None,
        ClusterLag(wanted=lambda *_: True),
        clock=Patient(),
        random=lambda: 0.5,
        commits_from="topic",
        retry_s=600.0,
    )
    return SimpleNamespace(cluster=cluster, watch=watch, Topic=Topic, Admin=Admin)


async def running(made, check):
    stopping = asyncio.Event()
    task = asyncio.create_task(made.watch.run(stopping))
    try:
        await check()
    finally:
        stopping.set()
        await asyncio.wait_for(task, 10)


async def is_by(made, kind, source):
    await eventually_async(
        lambda: isinstance(made.watch.reader, kind) and made.watch.commits_from == source, 5, what=source
    )


async def test_commits_that_may_be_read_are(made):
    async def check():
        await is_by(made, made.Topic, "topic")
        assert (made.watch.refusal, made.cluster.tries) == ("", 0)
        assert made.watch.ready_s == pytest.approx(1.0)

    await running(made, check)


async def test_commits_that_are_refused_are_asked_for_and_tried_again_every_ten_minutes(made):
    made.cluster.refused = RefusedError("cluster A: no")

    async def check():
        await is_by(made, made.Admin, "admin")
        assert "Grant the principal Read on the topic __consumer_offsets" in made.watch.refusal
        assert "every 10 min" in made.watch.refusal
        await eventually_async(lambda: made.cluster.tries >= 3, 10, what="three tries")
        first, second, third = made.cluster.tried_s[:3]
        assert min(second - first, third - second) >= 600
        made.cluster.refused, made.cluster.may_read = None, True
        await is_by(made, made.Topic, "topic")
        assert made.watch.refusal == ""

    await running(made, check)


async def test_commits_are_read_anew_where_the_reader_has_to(made):
    async def check():
        await is_by(made, made.Topic, "topic")
        first = made.watch.reader
        first.anew = True
        await eventually_async(lambda: made.watch.reader not in {None, first}, 5, what="another reader")
        assert first._ending.is_set()

    await running(made, check)


def test_a_reader_begins_anew_for_topics_that_are_back_once_it_has_read_all():
    looked = Looked()
    reader, client = begun(looked, {0: 0}, {0: 50})
    looked.look()
    looked.commit("g", 90)
    looked.look()
    there = looked.topics
    looked.topics = {TOPIC: there[TOPIC]}
    for _ in range(8):
        looked.look()
    looked.topics = there
    for _ in range(6):
        looked.look()
    assert looked.lag.slots.used == 0
    assert reader.must_restart() is False  # it has yet to read what was there when it began
    client.at = {0: 50}
    reader._take()
    assert reader.must_restart() is True


async def test_a_topic_that_is_hidden_is_refused_and_one_that_is_not_there_is_not(made):
    made.cluster.shown = False

    async def nothing():
        await eventually_async(lambda: made.watch.progress is not None, 5, what="progress")
        assert (made.watch.commits_from, made.watch.reader) == ("topic", None)

    await running(made, nothing)
    made.cluster.hidden = RefusedError("cluster A: no")

    async def hidden():
        await is_by(made, made.Admin, "admin")

    await running(made, hidden)


async def test_what_is_only_away_is_no_refusal(made):
    made.cluster.refused = UnavailableError("cluster A: gone")
    with pytest.raises(UnavailableError):
        await asyncio.wait_for(made.watch.run(asyncio.Event()), 10)
    assert made.watch.commits_from == "topic"


async def test_who_chooses_the_admin_api_never_has_the_topic_read(made):
    made.watch.commits_from, made.cluster.may_read = "admin", True

    async def check():
        await is_by(made, made.Admin, "admin")
        await asyncio.sleep(0.2)
        assert (made.cluster.tries, made.watch.refusal, made.watch.commits_from) == (0, "", "admin")

    await running(made, check)


def test_a_reader_that_is_refused_ends_with_it():
    settings = ClientSettings({"bootstrap.servers": "127.0.0.1:1"})
    lag = ClusterLag(wanted=lambda *_: True)
    reader = CommitsReader(settings, lag, threading.Lock(), cluster="A", clock=FakeClock())
    batches = iter([Batch([], []), Batch([], [], refused=RefusedError("cluster A: no"))])
    reader._bulk = SimpleNamespace(
        open=lambda _partitions: None,
        take=lambda **_: next(batches),
        positions=dict,
        close=lambda: None,
    )
    with pytest.raises(RefusedError, match="cluster A: no"):
        reader.run({0: 0}, {0: 5})


def test_what_is_committed_while_ends_are_read_is_not_past_the_end():
    clock = FakeClock()
    lag = ClusterLag(wanted=lambda *_: True)
    watch = ClusterWatch("A", None, lag, clock=clock, random=lambda: 0.5)

    def read(partitions, _which):
        if not lag.slots.used:
            clock.advance(1)  # the end is read, and then a group reads on and commits
            key, value = encode_commit_key("g", "t", 0), encode_commit_value(105, int(clock.wall_s() * 1000))
            lag.intake.take([key], [value], read_ms=int(clock.wall_s() * 1000), live=True)
            clock.advance(1)
        return [100] * len(partitions)

    positions = SimpleNamespace(
        topics=lambda: {"t": Listed("t", (1,))}, read=read, ids=lambda _topics: {}, cluster_id="c"
    )
    lag.begin_commits(1)
    watch._look(positions)
    lag.note_read(0, int(clock.wall_s() * 1000))
    assert lag.see(int(clock.wall_s() * 1000)).rows.reason.tolist()[:1] == [Reason.CAUGHT_UP]


class Looked:
    """A watch over the topic t, whose lists, ends and ids a test says."""

    def __init__(self):
        self.clock = FakeClock()
        self.lag = ClusterLag(wanted=lambda *_: True)
        self.watch = ClusterWatch("A", None, self.lag, clock=self.clock, random=lambda: 0.5)
        self.topics, self.id = {"t": Listed("t", (1,)), TOPIC: Listed(TOPIC, (1,))}, "first"
        self.end, self.committed_end, self.stable_end = 100, 50, 50
        self.lag.begin_commits(1)
        self.lag.note_read(0, self.now_ms)

    @property
    def now_ms(self):
        return int(self.clock.wall_s() * 1000)

    def read(self, partitions, which):
        of_commits = self.stable_end if which is Which.STABLE else self.committed_end
        return [of_commits if topic == TOPIC else self.end for topic, _ in partitions]

    def ids(self, topics):
        return {topic: self.id for topic in topics if topic in self.topics}

    def look(self, *, after_s=10):
        self.clock.advance(after_s)
        told = SimpleNamespace(topics=lambda: dict(self.topics), read=self.read, ids=self.ids, cluster_id="c")
        self.watch._look(told)

    def commit(self, group, offset):
        key, value = encode_commit_key(group, "t", 0), encode_commit_value(offset, self.now_ms)
        self.lag.intake.take([key], [value], read_ms=self.now_ms, live=True)


async def test_since_when_a_cluster_does_not_answer_is_known_until_it_does():
    looked = Looked()

    def fail(error):
        async def look():
            looked.clock.advance(10)
            told = SimpleNamespace(topics=raising(error))
            with pytest.raises(type(error)):
                await looked.watch._poll_on_thread(told)

        return look()

    def raising(error):
        def topics():
            raise error

        return topics

    first_ms = looked.now_ms + 10_000
    await fail(UnavailableError("cluster A: gone"))
    await fail(UnavailableError("cluster A: still gone"))
    assert looked.lag.away == Away(first_ms, "cluster A: still gone")
    await fail(RefusedError("cluster A: no"))  # it answers, if not what was asked
    assert looked.lag.away is None
    await fail(UnavailableError("cluster A: gone"))
    positions = SimpleNamespace(
        topics=lambda: dict(looked.topics), read=looked.read, ids=looked.ids, cluster_id="c"
    )
    await looked.watch._poll_on_thread(positions)
    assert (looked.lag.away, looked.watch.failed_polls) == (None, 4)


async def beside(looked, **fails):
    """Look, with some questions that have no answer; return why it failed, if it did."""
    looked.clock.advance(10)

    def answers(name, answer):
        def ask(*asked):
            if fails.get(name) and [] not in asked:  # of no topics it asks nobody
                looked.clock.advance(12)
                raise UnavailableError(f"cluster A: {name} had no answer")
            return answer(*asked)

        return ask

    told = SimpleNamespace(
        topics=answers("topics", lambda: dict(looked.topics)),
        read=answers("ends", looked.read),
        ids=answers("ids", looked.ids),
        cluster_id="c",
    )
    try:
        await looked.watch._poll_on_thread(told)
    except UnavailableError as error:
        return str(error)
    return ""


async def test_a_cluster_was_away_where_looks_in_a_row_had_no_answer_from_the_ends():
    looked = Looked()
    await beside(looked)
    left_ms = looked.now_ms
    for fails in ({"ends": True}, {"topics": True}, {}):
        await beside(looked, **fails)
    assert (looked.lag.absence.left_ms, looked.lag.absence.back_ms) == (left_ms, looked.now_ms)
    looked = Looked()
    looked.commit("g", 90)
    for fails in ({}, {"topics": True}, {}, {"ids": True}, {"ids": True}, {"ids": True}, {}):
        looked.watch.looks._count = 0  # at each look it asks for all
        assert bool(await beside(looked, **fails)) == bool(fails)
    assert (looked.lag.absence.left_ms, looked.lag.absence.back_ms) == (-1, -1)


async def test_a_question_without_an_answer_is_asked_again_in_its_turn_and_holds_up_no_other():
    looked = Looked()
    reader, client = begun(looked, {0: 0}, {0: 50})
    client.at = {0: 50}
    looked.look()
    looked.commit("g", 90)
    looked.look()
    assert looked.lag.ids == {"t": "first", TOPIC: "first"}
    failed = []
    for _ in range(13):
        failed.append(bool(await beside(looked, ids=True)))
        reader._take()
        assert looked.lag.read_to_ms >= looked.now_ms - 12_000  # when the ends were read
    assert failed == [False] * 4 + [True] + [False] * 5 + [True] + [False] * 2


def test_a_list_that_lacks_a_topic_once_takes_no_offsets_with_it():
    """A broker that has just begun may tell of no topic at all; a group that stopped would never be back."""
    looked = Looked()
    looked.look()
    looked.commit("g", 90)
    there = looked.topics
    for _ in range(6):  # until the next list
        looked.topics = {}
        looked.look()
        looked.topics = there
    assert looked.lag.slots.used == 1
    looked.look()
    assert looked.lag.topics == {"t": 1, TOPIC: 1}
    looked.topics = {TOPIC: there[TOPIC]}
    for _ in range(8):
        looked.look()
    assert (looked.lag.slots.used, looked.lag.topics) == (0, {TOPIC: 1})


def test_a_topic_that_is_back_after_a_list_without_it_is_known_as_another_at_once():
    looked = Looked()
    looked.look()
    looked.commit("g", 90)
    looked.look()
    assert looked.lag.ids["t"] == "first"
    there = looked.topics
    for _ in range(6):
        if not looked.watch.looks._lacking:
            looked.topics = {TOPIC: there[TOPIC]}
            looked.look()
    looked.topics, looked.id, looked.end = there, "second", 95
    read = looked.read  # with a start that is not told, or it were empty
    looked.read = lambda partitions, which: (
        [-1] * len(partitions) if which is Which.START else read(partitions, which)
    )
    looked.look()
    assert looked.lag.ids["t"] == "second"
    looked.look()
    looked.lag.note_read(0, looked.now_ms)
    assert looked.lag.see(looked.now_ms).rows.reason.tolist()[:1] == [Reason.RECREATED]


def test_topics_are_listed_at_the_next_look_where_a_flow_waits_for_that():
    looked = Looked()
    looked.look()
    listed_ms = []
    for awaited in (set(), {"A->B"}, set(), {"A->B"}):
        looked.lag.list_awaited = awaited
        looked.look()
        listed_ms.append(looked.now_ms == looked.lag.listed_ms)
    assert listed_ms == [False, True, False, True]


def test_the_last_stable_offset_is_read_where_a_log_grew_or_holds_a_transaction_and_everywhere_now_and_then():
    looked = Looked()
    looked.topics = {"t": Listed("t", (1, 1, 1))}
    ends, stables, asked = {0: 100, 1: 100, 2: 100}, {0: 100, 1: 90, 2: 100}, []

    def read(partitions, which):
        if which is Which.STABLE:
            asked.append([number for _, number in partitions])
        return [(stables if which is Which.STABLE else ends)[number] for _, number in partitions]

    looked.read = read
    for changes in ({}, {}, {0: 110}, {}, {}, {}, {}):
        ends |= changes
        stables |= changes
        looked.look()
        assert looked.lag.heads.stable[looked.lag.places.of("t")].tolist() == [stables[0], 90, 100]
    assert asked == [[0, 1, 2], [1], [0, 1, 2], [1], [1], [1], [0, 1, 2]]


def test_topics_are_listed_anew_where_a_last_stable_offset_had_no_answer():
    looked, lists = Looked(), []
    looked.watch.looks.on_reached = lambda *told: lists.append(told)
    looked.look()
    read = looked.read
    looked.end = 110
    looked.read = lambda partitions, which: [
        -1 if which is Which.STABLE and topic == "t" else offset
        for (topic, _), offset in zip(partitions, read(partitions, which), strict=True)
    ]
    looked.look()
    assert len(lists) == 1
    looked.look()
    assert lists == [("A", "c", {"t": 1, TOPIC: 1})] * 2


def test_what_is_committed_to_a_topic_newer_than_the_list_stays_for_two_lists():
    looked, lists = Looked(), []
    looked.watch.looks.on_reached = lambda *told: lists.append(told)
    there = looked.topics
    looked.topics = {TOPIC: there[TOPIC]}
    looked.commit("g", 90)  # its topic was made after this list was asked for
    looked.look()
    assert (looked.lag.slots.used, looked.lag.topics) == (1, {TOPIC: 1})
    for _ in range(5):
        looked.look()
    assert len(lists) == 1  # a topic that is hidden for good is no reason to list all more often
    looked.look()
    assert (looked.lag.slots.used, len(lists)) == (0, 2)


class Pretended:
    """The client of a reader: what it hands over, and where it stands."""

    def __init__(self, reader):
        self.batches, self.at = [], {}
        reader._bulk = self

    def open(self, partitions):
        pass

    def take(self, **_):
        return self.batches.pop(0) if self.batches else Batch([], [])

    def positions(self):
        return dict(self.at)

    def close(self):
        pass


def begun(looked, starts, ends):
    reader = CommitsReader(None, looked.lag, looked.watch.lock, cluster="A", clock=looked.clock)
    reader._ending.set()
    pretended = Pretended(reader)
    reader.run(starts, ends)
    looked.watch.reader = reader
    return reader, pretended


def test_who_commits_behind_an_open_transaction_has_not_stopped():
    """Only what is decided can be read, in the whole partition: also of groups that know no transactions."""
    looked = Looked()
    reader, client = begun(looked, {0: 0}, {0: 50})
    client.at = {0: 50}
    looked.look()
    reader._take()
    looked.commit("g", 90)
    for _ in range(30):  # the group commits on, and nobody can read it
        looked.committed_end += 1
        looked.end += 1
        looked.look()
        reader._take()
        reason = Reason(int(looked.lag.see(looked.now_ms).rows.reason[0]))
        assert reason not in {Reason.STOPPED, Reason.STALLED}
    assert reason is Reason.COMMITS_STALE
    looked.stable_end = looked.committed_end
    client.at = {0: looked.committed_end}
    looked.look()
    reader._take()
    assert Reason(int(looked.lag.see(looked.now_ms).rows.reason[0])) is not Reason.COMMITS_STALE


def test_a_partition_that_is_away_as_the_reading_begins_is_not_taken_for_read():
    looked = Looked()
    reader, client = begun(looked, {0: 0, 1: 0}, {0: 50, 1: -1})
    reader.expect({0: 50}, looked.now_ms)
    client.at = {0: 50}
    reader._take()
    assert reader.progress.ready_after_s is None
    assert reader.progress.problem == f"Partition 1 of {TOPIC} cannot be read; check its leader."
    assert looked.lag.read_to_ms == -1
    reader.expect({0: 50, 1: 7, 2: 0}, looked.now_ms)
    reader._take()
    assert reader.progress.ready_after_s is None
    assert looked.lag.read_to_ms == -1
    assert reader.progress.problem != ""
    old = encode_commit_value(5, looked.now_ms - 3_600_000)
    client.batches, client.at = [Batch([encode_commit_key("g", "t", 0)], [old])], {0: 50, 1: 7}
    reader._take()
    assert reader.progress.ready_after_s is not None
    assert looked.lag.intake.seen_ms[0] == looked.now_ms - 3_600_000  # it was there before
    assert reader.progress.problem == ""


def test_a_partition_that_is_away_holds_up_no_other_and_is_a_backlog_once_it_is_back():
    looked = Looked()
    looked.topics[TOPIC] = Listed(TOPIC, (1, None))
    reader, client = begun(looked, {0: 0, 1: 0}, {0: 50, 1: -1})
    looked.look()
    at = {0: 50}

    def take(group, age_s, **moved):
        at.update({int(name[1:]): offset for name, offset in moved.items()})
        value = encode_commit_value(5, looked.now_ms - age_s * 1000)
        client.batches, client.at = [Batch([encode_commit_key(group, "t", 0)], [value])], dict(at)
        reader._take()
        (slot,) = looked.lag.slots.of(group).tolist()
        return bool(looked.lag.rings.live[slot])

    assert take("g", 5) is False  # it was there before
    assert take("g", 5, p0=51) is True
    looked.lag.positions_lost = True
    assert reader.must_restart() is True
    assert take("old", 3600, p1=3) is False  # it is back, and where it ends is not known yet
    assert reader.must_restart() is False
    reader.expect({0: 52, 1: 7}, looked.now_ms)
    assert take("g", 5, p0=52) is False
    assert take("old", 3600, p1=7) is False
    assert reader.progress.ready_after_s is not None
    assert take("old", 5, p1=8) is True
    assert take("g", 5, p0=53) is True


async def test_a_watch_tells_the_reader_of_partitions_whose_ends_did_not_come(monkeypatch):
    looked, found = Looked(), []
    looked.topics[TOPIC] = Listed(TOPIC, (1, None))
    looked.watch.looks.listed = looked.topics

    class Reader(Reading):
        def run(self, starts, ends, partitions):
            found.append((starts, ends, partitions))

        def expect(self, ends, _at_ms):
            found.append(ends)

    def read(partitions, which):
        return [{Which.START: 3, Which.END: 9, Which.STABLE: 7}[which], -1]

    monkeypatch.setattr(watching, "CommitsReader", Reader)
    await (await looked.watch._begin(SimpleNamespace(read=read)))
    assert found == [{0: 9}, ({0: 3, 1: 0}, {0: 7, 1: -1}, 2)]


def test_ids_are_asked_of_topics_that_the_cluster_has_and_of_no_others():
    """The client raises for a name like the empty one, which would end the process."""
    looked, asked = Looked(), []
    looked.ids = lambda topics: asked.append(list(topics)) or {}
    looked.look()
    looked.commit("g", 90)
    keys = [encode_commit_key("g", topic, 0) for topic in ("", "gone")]
    looked.lag.intake.take(
        keys, [encode_commit_value(5, looked.now_ms)] * 2, read_ms=looked.now_ms, live=True
    )
    looked.look()
    assert asked == [[TOPIC], [TOPIC, "t"]]
