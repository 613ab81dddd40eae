"""What one process of the lag monitor hands on, and the next one restores: by cluster and flow, once each."""

from __future__ import annotations

import threading
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from fleet.verdicts.flow import Flow
from lagmon.cluster.state import ClusterLag
from lagmon.mirrors.answers.flows import MirrorAnswers
from lagmon.mirrors.answers.orders import order_of
from lagmon.mirrors.flow import MirrorFlow
from lagmon.snapshots.file import MAX_BYTES, pack
from lagmon.snapshots.whole import Snapshots
from tests.runtime.fake_clock import FakeClock

TOPICS = {"orders": 2}
COPIES = {"A.orders": 2}


class Log:
    def __init__(self):
        self.warnings, self.told = [], []

    def warning(self, sentence, **facts):
        self.warnings.append((sentence, facts))

    def info(self, sentence, **facts):
        self.told.append((sentence, facts))


class Life:
    """One process: two clusters and a flow between them."""

    def __init__(self, clock):
        self.clock, self.log = clock, Log()
        self.watches = {
            alias: SimpleNamespace(
                alias=alias,
                lag=ClusterLag(wanted=lambda *_: True),
                lock=threading.Lock(),
                looks=SimpleNamespace(on_reached=None),
            )
            for alias in "AB"
        }
        a, b = (watch.lag for watch in self.watches.values())
        self.flow = MirrorFlow(order_of(Flow("A", "B", mirror_version="4.3")), a, b)
        locks = [watch.lock for watch in self.watches.values()]
        self.mirrors = MirrorAnswers([self.flow], locks, clock=clock)
        self.snapshots = Snapshots(list(self.watches.values()), self.mirrors, clock=clock, log=self.log)

    @property
    def now_ms(self):
        return int(self.clock.wall_s() * 1000)

    def reach(self, alias, *, end=None, cluster_id=None, topics=None):
        """List a cluster's topics and look at its logs, as its watch does."""
        watch = self.watches[alias]
        if topics is None:
            topics = TOPICS if alias == "A" else COPIES
        watch.looks.on_reached(alias, cluster_id or f"id of {alias}", topics)
        watch.lag.note_topics(topics)
        if end is not None:
            places = np.array(watch.lag.places.of(next(iter(topics))), np.int32)
            ends = np.full(2, end, np.int64)
            watch.lag.note_polled(places, ends, ends, self.now_ms)

    def note_ids(self, one):
        self.flow.topics.note_source(TOPICS)
        self.flow.note_ids("A", {"orders": one}, self.now_ms)

    async def told(self):
        head, parts = (await self.snapshots.answer({"question": "snapshot"})).head, {}
        for part in head["parts"]:
            answer = await self.snapshots.answer({"question": "snapshot", "part": part})
            payload = b"".join(answer.pieces)
            assert answer.head == {"part": part, "there": bool(payload)}
            if payload:
                parts[part] = payload
        return parts

    def oldest_end(self, alias):
        lag = self.watches[alias].lag
        return lag.heads.oldest_ms(np.array([lag.places.of(next(iter(lag.topics)))[0]]))[0].tolist()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def begun(clock, tmp_path):
    """Give a function that begins one more life with what an earlier one told."""

    def begin(parts):
        path = tmp_path / "snapshot"
        path.write_bytes(parts if isinstance(parts, bytes) else pack(parts))
        life = Life(clock)
        life.snapshots.load(path)
        assert not path.exists()
        return life

    return begin


@pytest.fixture
async def known(clock):
    """Give what a process told that knew both clusters."""
    life = Life(clock)
    life.reach("A", end=7)
    life.reach("B", end=5)
    life.note_ids("old")
    life.mirrors.restore_since("A->B", ("stalled", "mirror_down"), 1234)
    return await life.told()


async def test_everything_is_taken_up_as_soon_as_its_clusters_are_there(begun, known, clock):
    assert sorted(known) == ["cluster:A", "cluster:B", "flow:A->B"]
    clock.advance(30)
    life = begun(known)
    life.reach("A", end=9)
    assert life.oldest_end("A") == [7]
    assert (
        life.flow.topics.ids == {}
    )  # of the flow's other cluster it is not known yet whether it is the same
    life.reach("B", end=6)
    assert life.oldest_end("B") == [5]
    assert life.flow.topics.ids == {("orders", "source"): "old"}
    assert life.mirrors.verdict_since("A->B") == (("stalled", "mirror_down"), 1234)
    assert life.log.warnings == []
    assert [facts["topics"] for _, facts in life.log.told] == [1, 1]


async def test_a_cluster_that_is_away_for_a_whole_life_loses_nothing(begun, known, clock):
    clock.advance(30)
    life = begun(known)
    life.reach("A", end=9)
    handed_on = await life.told()
    assert handed_on["cluster:B"] == known["cluster:B"]
    assert handed_on["flow:A->B"] == known["flow:A->B"]
    assert handed_on["cluster:A"] != known["cluster:A"]
    third = begun(handed_on)
    third.reach("A")
    third.reach("B")
    assert third.oldest_end("A") == [7]
    assert third.oldest_end("B") == [5]
    assert third.flow.topics.ids == {("orders", "source"): "old"}


async def test_what_the_first_list_lacks_is_taken_up_with_the_second_and_handed_on_until_then(
    begun, known, clock
):
    clock.advance(30)
    life = begun(known)
    life.reach("A", topics={})  # of a broker that has just begun
    assert (await life.told())["cluster:A"] == known["cluster:A"]
    clock.advance(10)
    life.reach("A", end=9)
    assert life.oldest_end("A") == [7]
    life.watches["A"].lag.heads.away = []
    life.reach("A", end=9)
    assert life.watches["A"].lag.heads.away == []
    assert (await life.told())["cluster:A"] != known["cluster:A"]
    assert [facts["topics"] for _, facts in life.log.told] == [0, 1]


async def test_a_topic_that_the_second_list_lacks_too_is_gone(begun, known):
    life = begun(known)
    life.reach("A", topics={"other": 1}, end=None)
    life.reach("A", topics={"other": 1}, end=None)
    life.reach("A", end=9)
    assert life.oldest_end("A") == [9]
    assert "cluster:A" in await life.told()


async def test_what_was_kept_of_a_flow_is_handed_on_until_its_offsets_are_read(begun, known, clock):
    clock.advance(30)
    life = begun(known)
    life.reach("A", end=9)
    life.reach("B", end=6)
    assert (await life.told())["flow:A->B"] == known["flow:A->B"]
    life.flow.read_to_ms = life.now_ms
    life.flow.take_snapshot(life.now_ms)
    assert (await life.told())["flow:A->B"] != known["flow:A->B"]


async def test_nothing_is_reported_for_what_was_never_reached(clock):
    assert await Life(clock).told() == {}


async def test_a_part_that_there_is_not_is_reported_to_be_none(clock):
    for part in ("cluster:C", "flow:C->D", "else", "cluster"):
        answer = await Life(clock).snapshots.answer({"question": "snapshot", "part": part})
        assert answer.head == {"part": part, "there": False}


async def test_another_cluster_behind_the_alias_takes_nothing_up(begun, known):
    life = begun(known)
    life.reach("A", end=9, cluster_id="another")
    life.reach("B", end=6)
    assert life.oldest_end("A") == [9]
    assert life.oldest_end("B") == [5]
    assert life.flow.topics.ids == {}
    (cluster, _), (flow, _) = life.log.warnings
    assert cluster.startswith("snapshot: of cluster id of A, not of another; ")
    assert flow.startswith("snapshot: of other clusters; ")
    assert "flow:A->B" in await life.told()  # from now on its own


async def test_of_a_flow_that_other_offsets_show_nothing_is_taken_up_and_the_clusters_are(begun, known):
    life = begun(known)
    order = replace(life.flow.order, offsets_topic="elsewhere")
    life.flow.order = order
    life.reach("A", end=9)
    life.reach("B", end=6)
    assert life.oldest_end("A") == [7]
    assert life.flow.topics.ids == {}
    assert life.mirrors.verdict_since("A->B") is None
    assert life.log.warnings == []
    assert life.log.told[-1][0].startswith(
        "snapshot: the source of the flow's offsets or the names of its target topics changed; "
    )
    assert "flow:A->B" in await life.told()  # from now on its own


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lambda parts: pack(parts)[:-1], "truncated"),
        (lambda _: b"MWparts\x02" + bytes(4), "snapshot: unknown file version"),
        (lambda parts: pack(parts | {"cluster:B": parts["cluster:B"][:-9]}), "truncated"),
        (lambda parts: pack(parts | {"flow:A->B": b"MWlag\x02" + bytes(60)}), "snapshot: version 2"),
    ],
)
async def test_one_that_is_not_whole_is_refused_in_words_and_everything_starts_again(
    begun, known, harm, sentence
):
    life = begun(harm(known))
    ((warning, _),) = life.log.warnings
    assert sentence in warning
    assert "starting without the state" in warning
    life.reach("A", end=9)
    life.reach("B", end=6)
    assert (life.oldest_end("A"), life.oldest_end("B")) == ([9], [6])
    assert life.flow.topics.ids == {}


async def test_a_part_that_says_what_it_cannot_is_refused_in_words_when_it_is_taken_up(begun, known):
    life = begun(known | {"cluster:A": known["flow:A->B"], "flow:A->B": known["cluster:A"]})
    life.reach("A", end=9)
    life.reach("B", end=6)
    assert [sentence.partition("; ")[0] for sentence, _ in life.log.warnings] == [
        "snapshot: not of a cluster",
        "snapshot: not of a flow",
    ]
    assert life.oldest_end("A") == [9]
    assert life.flow.topics.ids == {}


def test_without_a_file_everything_starts_again_in_silence(clock, tmp_path):
    life = Life(clock)
    life.snapshots.load(tmp_path / "nothing")
    assert life.log.warnings == []


def test_a_file_that_is_too_large_is_not_read(clock, tmp_path):
    path = tmp_path / "snapshot"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    life = Life(clock)
    life.snapshots.load(path)
    ((warning, _),) = life.log.warnings
    assert f"snapshot: {MAX_BYTES + 1} bytes, more than" in warning
    assert not path.exists()


def test_since_when_is_reported_goes_on_after_what_is_not_known_yet(clock):
    mirrors = Life(clock).mirrors
    stalled, unknown = ("stalled", "mirror_down"), ("unknown", None)
    now = int(clock.wall_s() * 1000)
    mirrors.restore_since("A->B", stalled, 1234)
    mirrors._follow("A->B", unknown, now)
    assert mirrors.verdict_since("A->B") == (stalled, 1234)  # for who takes over before it is judged
    mirrors._follow("A->B", stalled, now + 9000)
    assert mirrors.verdict_since("A->B") == (stalled, 1234)
    mirrors._follow("A->B", ("healthy", None), now + 10_000)
    mirrors._follow("A->B", stalled, now + 20_000)
    assert mirrors.verdict_since("A->B") == (stalled, now + 20_000)


@pytest.mark.parametrize(("first", "then_s"), [("healthy", 5), ("unknown", 700)])
def test_what_is_reported_again_later_is_reported_again(clock, first, then_s):
    mirrors = Life(clock).mirrors
    stalled, now = ("stalled", "mirror_down"), int(clock.wall_s() * 1000)
    mirrors.restore_since("A->B", stalled, 1234)
    mirrors._follow("A->B", (first, None), now)
    mirrors._follow("A->B", (first, "paused"), now + then_s * 1000)
    mirrors._follow("A->B", stalled, now + then_s * 1000 + 1)
    assert mirrors.verdict_since("A->B") == (stalled, now + then_s * 1000 + 1)
