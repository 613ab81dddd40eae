"""Back-off by a fake clock: how long, what is told, and what ends it."""

from __future__ import annotations

import asyncio
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.errors import MalformedError, RefusedError, UnavailableError
from runtime.process.supervision import BackOff, Phase, State, pause_s, supervise
from tests.runtime.fake_clock import FakeClock


class Drawn:
    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def random(self):
        return self.numbers.pop(0) if len(self.numbers) > 1 else self.numbers[0]


def bound_s(failures, *, refused):
    return pause_s(failures=failures, refused=refused, random=Drawn(1.0), policy=BackOff())


def test_the_bound_doubles_up_to_a_minute():
    assert [bound_s(n, refused=False) for n in range(1, 9)] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert [bound_s(n, refused=True) for n in range(1, 4)] == [30, 60, 60]


@settings(deadline=None)  # the machine may be busy with brokers
@given(st.integers(1, 10**9), st.booleans(), st.integers())
def test_a_pause_lies_between_a_little_and_its_bound(failures, refused, seed):
    pause = pause_s(failures=failures, refused=refused, random=Random(seed), policy=BackOff())
    assert (3.0 if refused else 0.1) <= pause <= bound_s(failures, refused=refused) <= 60


async def supervised(*results, draw=0.5, clock=None, stopping=None, ran_s=0.0):
    clock, states, left = clock or FakeClock(), [], list(results)

    async def work():
        clock.advance(ran_s)
        result = left.pop(0)
        if result is not None:
            raise result

    stopping = stopping or asyncio.Event()
    await supervise("A", work, clock=clock, random=Drawn(draw), on_state=states.append, stopping=stopping)
    assert not left or stopping.is_set()
    return states, clock


async def test_work_that_ends_is_not_started_again():
    states, clock = await supervised(None)
    assert states == [State("A", Phase.RUNNING), State("A", Phase.ENDED)]
    assert clock.waits_s == []


async def test_faults_outside_are_told_and_tried_again():
    states, clock = await supervised(UnavailableError("no route"), RefusedError("wrong password"), None)
    assert states == [
        State("A", Phase.RUNNING),
        State("A", Phase.DOWN, "no route", 1, 0.5),
        State("A", Phase.RUNNING, failures=1),
        State("A", Phase.REFUSED, "wrong password", 2, 30.0),
        State("A", Phase.RUNNING, failures=2),
        State("A", Phase.ENDED),
    ]
    assert clock.waits_s == [0.5, 30.0]


async def test_pauses_grow_and_are_forgotten_after_it_ran_well():
    down = [UnavailableError("down")] * 4
    _, clock = await supervised(*down, None, draw=1.0)
    assert clock.waits_s == [1, 2, 4, 8]
    _, clock = await supervised(*down, None, draw=1.0, ran_s=61)
    assert clock.waits_s == [1, 1, 1, 1]


@pytest.mark.parametrize("bug", [RuntimeError("bug"), MalformedError("bytes"), asyncio.CancelledError()])
async def test_anything_else_passes_through(bug):
    with pytest.raises(type(bug)):
        await supervised(bug)


async def test_stopping_ends_the_wait_and_starts_nothing():
    stopping = asyncio.Event()

    class StopsWhileWaiting(FakeClock):
        async def wait(self, event, *, timeout_s):
            event.set()
            return await super().wait(event, timeout_s=timeout_s)

    states, _ = await supervised(
        UnavailableError("down"), RuntimeError("started again"), clock=StopsWhileWaiting(), stopping=stopping
    )
    assert [state.phase for state in states] == [Phase.RUNNING, Phase.DOWN, Phase.ENDED]
    states, _ = await supervised(RuntimeError("started"), stopping=stopping)
    assert [state.phase for state in states] == [Phase.ENDED]


async def test_cancellation_while_waiting_leaves_nothing_behind():
    entered = asyncio.Event()

    class Hanging(FakeClock):
        async def wait(self, event, *, timeout_s):
            self.waits_s.append(timeout_s)
            entered.set()
            return await event.wait()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(supervised(UnavailableError("down"), clock=Hanging()))
        await entered.wait()
        task.cancel()
    assert task.cancelled()
    assert asyncio.all_tasks() == {asyncio.current_task()}
