"""Offset syncs out of the store: with the ids of the topics that they were written for, then the topic's own."""

from __future__ import annotations

import asyncio
from functools import partial
from types import SimpleNamespace

import pytest

from checksum.anchors.pairs import Pair
from checksum.plan import flow_plan
from checksum.plan.flow_plan import Before, plan_flow
from lagmon.syncs.id_tables import SeenId, write_ids
from lagmon.syncs.queue import WaitingSync
from lagmon.syncs.tables import cursor_of, write_syncs
from mirrorwatch.checksums.syncs import StoredSyncs
from mirrorwatch.checksums.threads import StoreThread
from mirrorwatch.service.store_parts import MIGRATIONS
from runtime.kafka.admin import TopicDescription
from runtime.store.store import Store
from tests.checksum.pretend_mirror import Mirrored
from tests.mirrorwatch.checksum_stage import SYNCS, Stage

FLOW = "A->B"


@pytest.fixture
def stored(tmp_path):
    """Give the syncs of a store that holds these, asked from another thread as in a command."""
    thread = StoreThread()
    thread.start()
    store = Store(f"sqlite:///{tmp_path / 'syncs.db'}", migrations=MIGRATIONS)
    thread.do(store.open())

    def keep(syncs, *, topic_id="X"):
        details = {"topic_id": topic_id, "next_number": syncs[-1].number + 1, "known": {}}
        thread.do(store.write(partial(write_syncs, flow=FLOW, syncs=syncs, **details)))

    def syncs_of(syncs=(), ids=(), *, topic_id="X"):
        if syncs:
            keep(syncs, topic_id=topic_id)
            thread.do(store.write(partial(write_ids, flow=FLOW, seen=ids)))
        cursor = thread.do(store.read(partial(cursor_of, flow=FLOW)))
        return StoredSyncs(FLOW, cursor, lambda function: thread.do(store.read(function)))

    syncs_of.keep = keep
    yield syncs_of
    thread.do(store.close())
    thread.end()


def test_each_pair_has_the_ids_that_were_seen_around_its_time(stored):
    syncs = [WaitingSync(number, "t", 0, at, at + 5, at) for number, at in enumerate([10, 20, 30, 40])]
    ids = [
        SeenId("t", "source", "S1", 5, 20),
        SeenId("t", "source", "S2", 35, 90),
        SeenId("t", "target", "T1", 5, 90),
        SeenId("u", "target", "T9", 5, 90),
    ]
    kept = stored(syncs, ids)
    assert (kept.topic_id, kept.next_number) == ("X", 4)
    assert kept.of("t", 0) == [
        Pair(10, 15, "S1", "T1"),
        Pair(20, 25, "S1", "T1"),
        Pair(30, 35, None, "T1"),  # between the last look at one topic and the first at the next
        Pair(40, 45, "S2", "T1"),
    ]
    assert (kept.of("t", 1), kept.of("v", 0)) == ([], [])


def test_what_the_service_keeps_after_the_cursor_was_read_is_none_of_them(stored):
    def sync(number):
        return WaitingSync(number, "t", 0, 10 * number, 10 * number, number)

    first = stored([sync(number) for number in range(5)])
    # The topic is read from 5 on, before the pairs are; meanwhile the service kept what came.
    stored.keep([sync(5), sync(6)])
    stored.keep([sync(0), sync(1)], topic_id="Y")
    again = stored()
    assert (first.topic_id, first.next_number, again.topic_id, again.next_number) == ("X", 5, "Y", 2)
    assert [one.upstream for one in first.of("t", 0)] == [0, 10, 20, 30, 40]
    assert [one.upstream for one in again.of("t", 0)] == [0, 10, 20, 30, 40, 50, 60, 0, 10]


def planned(stage, kept):
    """Return the plan of the only flow, made with these pairs, and its only partition."""
    (flow,) = stage.config.topology.flows
    details = {"rules": stage.session.rules, "equal_offsets": False, "clock": stage.session.clock}
    before = Before(syncs=kept)
    made = asyncio.run(plan_flow(flow, stage.session.connects, patterns=None, **details, before=before))
    (partition,) = made.plan.topics[0].partitions
    return made, partition


def test_what_the_service_keeps_while_a_plan_is_made_leaves_all_cuts(stored, tmp_path, monkeypatch):
    one = Mirrored(lag_max=10)
    one.write(300)
    one.copy()
    one.flush()
    syncs = [
        WaitingSync(at, "orders", 0, pair.upstream, pair.downstream, one.now_ms)
        for at, pair in enumerate(one.pairs)
    ]
    kept = stored(syncs[:-3])
    stage = Stage(tmp_path, {("orders", 0): one}, monkeypatch)

    def read_sync_topic(*_where, since, **_how):
        stored.keep(syncs[-3:])
        return SimpleNamespace(of=lambda *_place: one.pairs[since:])

    monkeypatch.setattr(flow_plan, "read_sync_topic", read_sync_topic)
    made, partition = planned(stage, kept)
    assert len(partition.segments) == len(one.pairs) > 20
    assert made.plan.left_out == ()


def test_without_any_the_topic_is_read_from_its_start(stored):
    kept = stored()
    assert (kept.topic_id, kept.next_number, kept.of("t", 0)) == ("", 0, [])


@pytest.mark.parametrize("case", [("X", True, 3), ("Y", True, 0), ("X", False, None)])
def test_the_topic_of_syncs_is_read_behind_what_is_kept(stored, tmp_path, monkeypatch, case):
    of_topic, there, since = case
    one = Mirrored(lag_max=10)
    one.write(100)
    one.copy()
    one.flush()
    pairs = one.pairs
    syncs = [
        WaitingSync(at, "orders", 0, pair.upstream, pair.downstream, one.now_ms)
        for at, pair in enumerate(pairs[:3])
    ]
    kept = stored(syncs, topic_id=of_topic)
    stage = Stage(tmp_path, {("orders", 0): one}, monkeypatch)
    if not there:
        del stage.clusters.a.topics[SYNCS]
    asked = []

    def read_sync_topic(*_where, since, **_how):
        asked.append(since)
        return SimpleNamespace(of=lambda *_place: pairs[since:])

    monkeypatch.setattr(flow_plan, "read_sync_topic", read_sync_topic)
    (flow,) = stage.config.topology.flows
    made = asyncio.run(
        plan_flow(
            flow,
            stage.session.connects,
            patterns=None,
            rules=stage.session.rules,
            equal_offsets=False,
            clock=stage.session.clock,
            before=Before(syncs=kept),
        )
    )
    assert asked == ([] if since is None else [since])
    (partition,) = made.plan.topics[0].partitions
    last = 100 if there else pairs[2].upstream + 1
    assert (partition.source.first, partition.source.until) == (0, last)
    assert made.nothing_new == ()
    if of_topic == "X":  # what was kept alone tells of the beginning
        assert partition.runs[0].first == pairs[0].upstream == 0


NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"  # as a broker before 2.8 tells it


@pytest.mark.parametrize("made_anew", [False, True])
def test_where_no_topic_has_an_id_one_that_ends_before_what_was_kept_is_another(
    stored, tmp_path, monkeypatch, made_anew
):
    one = Mirrored(lag_max=10)
    one.write(100)
    one.copy()
    one.flush()
    pairs = [pair._replace(source_topic_id=None, target_topic_id=None) for pair in one.pairs]
    syncs = [
        WaitingSync(at, "orders", 0, pair.upstream, pair.downstream, one.now_ms)
        for at, pair in enumerate(pairs[:5])
    ]
    kept = stored(syncs, topic_id=NO_ID)
    stage = Stage(tmp_path, {("orders", 0): one}, monkeypatch)
    stage.clusters.a.topics[SYNCS] = TopicDescription(SYNCS, NO_ID, (1,))
    asked = []

    def read_sync_topic(*_where, since, **_how):
        asked.append(since)
        if made_anew:
            return SimpleNamespace(of=lambda *_place: pairs[-3 + since :], until=3)
        return SimpleNamespace(of=lambda *_place: pairs[since:], until=len(pairs))

    monkeypatch.setattr(flow_plan, "read_sync_topic", read_sync_topic)
    _, partition = planned(stage, kept)
    assert asked == ([5, 0] if made_anew else [5])
    assert (partition.source.first, partition.source.until) == (0, 100)
    known = pairs[-3:] if made_anew else pairs
    assert {source for source, _ in partition.segments} == {0, *(pair.upstream for pair in known)}
