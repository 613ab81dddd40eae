"""Incidents of the service: sampled, written, read back, through restarts and a store that is away."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from alerts import incident_tables
from alerts.incidents import GAP_S, Counts
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.history.incident_keeping import WHERE, IncidentKeeping
from runtime.store.store import Store
from tests.alerts.incidents import FLOW, START, sample
from tests.databases import DATABASES, address_of
from tests.runtime.fake_clock import FakeClock


@pytest.fixture(params=DATABASES)
async def scene(request, tmp_path):
    store = Store(address_of(request, tmp_path), migrations=incident_tables.MIGRATIONS)
    await store.open()
    said = {}
    reporter = SimpleNamespace(problem=said.__setitem__, settled=lambda where: said.pop(where, None))
    clock = FakeClock(wall_s=START)
    now = SimpleNamespace(conditions=(), flows=[FLOW], counts=Counts())

    def samples():
        at = clock.wall_s() - START
        return {flow: sample(at, *now.conditions, counts=now.counts) for flow in now.flows}

    def process(name):
        return IncidentKeeping(
            store,
            samples=samples,
            observer=name,
            incidents_s=30 * 86_400.0,
            minutes_s=30 * 86_400.0,
            clock=clock,
            reporter=reporter,
        )

    async def pass_time(keeping, seconds):
        for _ in range(seconds):
            clock.advance(1.0)
            keeping.sample()
            await keeping.follow()

    yield SimpleNamespace(store=store, said=said, process=process, clock=clock, now=now, pass_time=pass_time)
    await store.close()


async def test_an_incident_is_written_at_once_and_ends_after_the_gap(scene):
    one = scene.process("one")
    await scene.pass_time(one, 3)
    assert one.open_of(FLOW[0]) is None
    scene.now.conditions = ("stalled",)
    await scene.pass_time(one, 1)
    assert one.open_of(FLOW[0]).conditions == (Verdict.STALLED,)
    await scene.pass_time(one, 20)
    scene.now.conditions = ()
    await scene.pass_time(one, int(GAP_S) + 7)
    assert one.open_of(FLOW[0]) is None
    (found,) = one.recent_of(FLOW[0])
    assert found.ended
    assert (await one.find(found.incident)).lasted_s == (20, 20)
    assert (await one.newest(flow=FLOW[0]))[1] == 1


async def test_a_kill_leaves_it_open_and_the_next_process_goes_on_with_it(scene):
    scene.now.conditions = ("losing",)
    await scene.pass_time(scene.process("killed"), 10)
    following = scene.process("next")
    scene.now.conditions = ("unknown",)
    await scene.pass_time(following, 10)
    assert following.open_of(FLOW[0]).started_at == START + 1
    scene.now.conditions = ("losing",)
    await scene.pass_time(following, 10)
    assert len(following.recent_of(FLOW[0])) == 1


async def test_two_replicas_have_one_incident(scene):
    one, two = scene.process("one"), scene.process("two")
    scene.now.conditions = ("late",)
    for _ in range(12):
        scene.clock.advance(1.0)
        for keeping in (one, two):
            keeping.sample()
            await keeping.follow()
    # Each saw how far it was itself; all else is the same.
    (seen,), (also_seen,) = one.open, two.open
    assert replace(seen, lost_by={}) == replace(also_seen, lost_by={})
    assert seen.lost_by.keys() == also_seen.lost_by.keys()
    assert len(await scene.store.read(lambda c: incident_tables.incidents_between(c, 0, START * 2))) == 1


async def test_nothing_is_lost_while_the_store_does_not_answer(scene):
    one = scene.process("one")
    await scene.pass_time(one, 1)
    await scene.store.close()
    scene.now.conditions, scene.now.counts = ("losing",), Counts(9, 2, 9, 2, 7)
    await scene.pass_time(one, 5)
    assert WHERE in scene.said
    scene.now.conditions = ()
    await scene.pass_time(one, 5)
    await scene.store.open()
    await scene.pass_time(one, 6)
    assert WHERE not in scene.said
    (found,) = one.open
    assert (found.started_at, found.bad_until_at) == (START + 2, START + 6)
    assert found.counts.lost == 7


async def test_a_clock_set_back_while_the_store_does_not_answer_ends_nothing(scene):
    one = scene.process("one")
    await scene.pass_time(one, 100)
    await scene.store.close()
    await scene.pass_time(one, 30)
    scene.now.conditions = ("stalled",)
    await scene.pass_time(one, 10)
    scene.now.conditions = ()
    await scene.pass_time(one, 105)
    scene.clock.began_wall_s -= 90
    one.move_instants(-90)
    await scene.pass_time(one, 55)
    await scene.store.open()
    await scene.pass_time(one, 120)
    await one.end()
    (found,) = one.open
    assert (found.started_at, found.bad_until_at) == (START + 41, START + 50)
    spans = (await scene.store.read(lambda c: incident_tables.history_since(c, 0)))[FLOW[0]]
    assert min(one.state.severity for one in spans) == Verdict.STALLED.severity


async def test_a_clock_set_back_moves_the_last_samples_of_a_flow_that_is_watched_no_more(scene):
    one = scene.process("one")
    scene.now.conditions = ("stalled",)
    await scene.pass_time(one, 10)
    scene.now.flows = []
    one.sample()
    scene.clock.began_wall_s -= 3600
    one.move_instants(-3600)
    await scene.pass_time(one, 1)
    (found,) = one.open
    assert (found.started_at, found.bad_until_at) == (START - 3599, START - 3590)


async def test_what_is_sampled_while_the_store_hangs_is_written_afterwards(scene, monkeypatch):
    one = scene.process("one")
    await scene.pass_time(one, 1)
    asked, released = asyncio.Event(), asyncio.Event()
    write = scene.store.write

    async def hang(operation):
        asked.set()
        await released.wait()
        return await write(operation)

    monkeypatch.setattr(scene.store, "write", hang)
    scene.now.conditions = ("losing",)
    scene.clock.advance(1.0)
    one.sample()
    following = asyncio.create_task(one.follow())
    await asked.wait()
    for flows in ([FLOW], [FLOW], []):
        scene.now.flows = flows
        scene.clock.advance(1.0)
        one.sample()
    released.set()
    await following
    await one.follow()
    assert [(each.started_at, each.bad_until_at) for each in one.open] == [(START + 2, START + 4)]


async def test_bars_show_what_was_seen_and_what_no_one_watched(scene):
    one = scene.process("one")
    await scene.pass_time(one, 130)
    scene.now.conditions = ("late",)
    await scene.pass_time(one, 65)
    bar = one.bars[FLOW[0]].day
    assert dict(bar.minutes)[None] == 24 * 60 - bar.watched_minutes
    assert bar.watched_minutes in (2, 3)
    await one.end()
    await scene.pass_time(scene.process("two"), 1)
    found = await scene.store.read(lambda c: incident_tables.history_since(c, 0))
    assert [one.state for one in found[FLOW[0]]] == [Verdict.HEALTHY, Verdict.LATE]


async def test_a_flow_that_is_watched_no_more_has_its_last_minute_written(scene):
    one = scene.process("one")
    await scene.pass_time(one, 5)
    scene.now.flows = []
    await scene.pass_time(one, 1)
    found = await scene.store.read(lambda c: incident_tables.history_since(c, 0))
    assert len(found[FLOW[0]]) == 1
