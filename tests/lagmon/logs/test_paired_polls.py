"""Looks that follow one another: at a source after its target, at a target after the mirror's offsets."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from lagmon.cluster.state import ClusterLag
from lagmon.ingest.watching import FLUSH_LOOK_S, LEAST_LOOK_S, ClusterWatch
from lagmon.logs.paired_polls import pair_polls
from lagmon.mirrors.progress.connect import MirrorOffsets
from tests.lagmon.mirror_flows import Mirrored
from tests.runtime.fake_clock import FakeClock


@pytest.fixture
def clock():
    return FakeClock()


def watch(alias, clock):
    return ClusterWatch(alias, None, ClusterLag(wanted=lambda *_: True), clock=clock, random=lambda: 0.5)


def flow(source, target):
    order = SimpleNamespace(name=f"{source}->{target}", flow=SimpleNamespace(source=source, target=target))
    return SimpleNamespace(order=order)


def due(one):
    return one._soon.is_set()


def test_a_look_at_the_target_is_followed_by_one_at_its_source(clock):
    a, b = watch("A", clock), watch("B", clock)
    pair_polls([flow("A", "B")], [a, b], [], on_loop=None)
    assert (a.leaders, b.leaders, a.on_polled) == ((b,), (), None)
    b.on_polled(False)
    assert not due(a)  # it was not looked at before: its first look is under way
    a.looks.polled_at = clock.wall_s()
    b.on_polled(False)
    assert not due(a)
    clock.advance(LEAST_LOOK_S)
    b.on_polled(False)
    assert due(a)


def test_a_look_after_a_mirror_wrote_is_followed_by_one_at_its_source_also_if_that_was_just_done(clock):
    a, b = watch("A", clock), watch("B", clock)
    pair_polls([flow("A", "B")], [a, b], [], on_loop=None)
    a.looks.polled_at = clock.wall_s()
    b.on_polled(True)
    assert due(a)


async def test_a_look_tells_whether_it_is_one_after_a_mirror_wrote(clock):
    one, told = watch("A", clock), []
    one.on_polled, one._look = told.append, lambda _positions: None
    await one._poll_on_thread(None)
    one.poll_after_flush()
    for _ in range(2):
        await one._rest(asyncio.Event(), [])
        await one._poll_on_thread(None)
    assert told == [False, True, False]


def test_a_clock_that_is_set_back_does_not_keep_looks_after_a_mirror_wrote_away(clock):
    one, told = watch("A", clock), []
    for set_by_s in (0, 0.1, -3600, 0.1):
        clock.set_wall(set_by_s)
        clock.follow()
        one._soon.clear()
        one.poll_after_flush()
        told.append(one._soon.is_set())
    assert told == [True, False, True, False]


def test_of_two_that_mirror_from_each_other_one_leads(clock):
    a, b = watch("A", clock), watch("B", clock)
    pair_polls([flow("B", "A"), flow("A", "B")], [a, b], [], on_loop=None)
    assert (a.leaders, b.leaders) == ((b,), ())
    assert a.on_polled is None


def test_offsets_of_a_mirror_are_followed_by_a_look_at_its_copies_now_and_then(clock):
    a, b = watch("A", clock), watch("B", clock)
    mirrored = Mirrored()
    reader = MirrorOffsets(None, [mirrored.flow], host=b.lag, lock=b.lock, clock=clock)
    pair_polls([mirrored.flow], [a, b], [reader], on_loop=lambda call: call())
    b.looks.polled_at = clock.wall_s()  # just now: before the mirror wrote
    reader.on_flush()
    assert (due(a), due(b)) == (False, True)
    b._soon.clear()
    clock.advance(FLUSH_LOOK_S - 1)
    reader.on_flush()
    assert not due(b)
    clock.advance(1)
    reader.on_flush()
    assert due(b)


@pytest.mark.parametrize(
    ("took_s", "problem", "wait_s"),
    [(0.0, "", 11.0), (3.0, "", 14.0), (60.0, "", 20.0), (3.0, "it is away", 11.0)],
    ids=["quick", "slow", "very slow", "away"],
)
async def test_who_is_led_looks_by_itself_only_after_the_others_would_have_looked(
    clock, took_s, problem, wait_s
):
    a, b, c = (watch(alias, clock) for alias in "ABC")
    pair_polls([flow("A", "B"), flow("A", "C")], [a, b, c], [], on_loop=None)
    assert a.leaders == (b, c)
    b.looks.took_s, b.problem = took_s, problem
    await a._rest(asyncio.Event(), [])
    await b._rest(asyncio.Event(), [])
    assert clock.waits_s == pytest.approx([wait_s, 10.0])


async def test_a_look_that_is_due_ends_the_rest(clock):
    one = watch("A", clock)
    resting = asyncio.create_task(one._rest(asyncio.Event(), []))
    await asyncio.sleep(0)
    assert not resting.done()
    one.poll_after_flush()
    await asyncio.wait_for(resting, 5)
    assert not due(one)


@pytest.mark.parametrize(
    ("ago_s", "took_s", "pause_s"),
    [(0.0, 0.1, 2.0), (0.5, 0.1, 1.5), (2.0, 0.1, 0.0), (0.0, 0.3, 3.0), (0.0, 2.0, LEAST_LOOK_S)],
    ids=["just now", "a moment ago", "long ago", "slow looks", "very slow looks"],
)
def test_looks_that_many_flows_want_have_a_pause_between_them(clock, ago_s, took_s, pause_s):
    one = watch("A", clock)
    assert one._pause_s() == 0
    one.looks.polled_at, one.looks.took_s = clock.wall_s() - ago_s, took_s
    assert one._pause_s() == pytest.approx(pause_s)


async def test_a_look_that_is_due_waits_for_its_pause_and_no_other_does(clock):
    one = watch("A", clock)
    await one._rest(asyncio.Event(), [])
    assert len(clock.waits_s) == 1
    one.poll_soon(in_any_case=True)
    await one._rest(asyncio.Event(), [])
    assert len(clock.waits_s) == 3
    assert not due(one)
