"""A process beside ours: it gets its orders, answers, is noticed when it dies, and ends when we do."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
from contextlib import suppress

import pytest

from fleet.errors import UnavailableError
from runtime.process import worker as worker_module
from runtime.process.clock import SystemClock
from runtime.process.worker import Worker, WorkerEndedError


@pytest.fixture
def worker():
    """Give a worker that is not started yet."""
    made = Worker("tests.runtime.echoing", what="the echo", orders={"of": "the day"}, clock=SystemClock())
    yield made
    made.close()


async def answered(worker):
    """Return what it answers, as soon as it does."""
    async with asyncio.timeout(60):
        while True:
            with suppress(UnavailableError):
                return await worker.ask("what")
            await asyncio.sleep(0.05)


def is_gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_it_gets_its_orders_and_ends_when_told_to(worker):
    stopping = asyncio.Event()
    running = asyncio.create_task(worker.run(stopping))
    head, body = await answered(worker)
    assert (head["orders"], head["pid"], body) == ("the day", worker.pid, b"what")
    stopping.set()
    await running
    assert is_gone(head["pid"])
    assert worker.pid is None


async def test_it_begins_without_the_signals_that_are_for_the_service(worker):
    """Its interpreter would end by them before a line of it has run, by Ctrl-C with a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    stopping = asyncio.Event()
    running = asyncio.create_task(worker.run(stopping))
    head, _ = await answered(worker)
    assert {signal.SIGINT, signal.SIGHUP} <= set(head["blocked"])
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    stopping.set()
    await running


async def test_two_that_start_at_once_leave_the_signals_of_the_service_as_they_were(worker):
    other = Worker("tests.runtime.echoing", what="the other", orders={"of": "it"}, clock=SystemClock())
    before, stopping = signal.pthread_sigmask(signal.SIG_BLOCK, ()), asyncio.Event()
    try:
        running = [asyncio.create_task(one.run(stopping)) for one in (worker, other)]
        for one in (worker, other):
            head, _ = await answered(one)
            assert {signal.SIGINT, signal.SIGHUP} <= set(head["blocked"])
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
        stopping.set()
        await asyncio.gather(*running)
    finally:
        other.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


async def test_one_that_dies_is_told_in_a_sentence_and_can_be_started_again(worker):
    stopping = asyncio.Event()
    running = asyncio.create_task(worker.run(stopping))
    await answered(worker)
    with pytest.raises(UnavailableError, match="the echo does not answer: it ended before its answer did"):
        await worker.ask("die")
    with pytest.raises(WorkerEndedError, match="the echo ended unexpectedly with status 7"):
        await running
    with pytest.raises(UnavailableError, match="the echo does not answer: it cannot be reached"):
        await worker.ask("what")
    running = asyncio.create_task(worker.run(stopping))
    assert (await answered(worker))[1] == b"what"
    stopping.set()
    await running
    assert worker.starts == 2


async def test_one_that_does_not_end_is_ended(monkeypatch):
    monkeypatch.setattr(worker_module, "END_S", 0.2)
    worker = Worker("tests.runtime.echoing", what="the echo", orders={"of": "stubborn"}, clock=SystemClock())
    stopping = asyncio.Event()
    running = asyncio.create_task(worker.run(stopping))
    head, _ = await answered(worker)
    stopping.set()
    await running
    assert is_gone(head["pid"])
    worker.close()


async def test_one_that_is_to_stop_already_is_not_started(worker):
    stopping = asyncio.Event()
    stopping.set()
    await worker.run(stopping)
    assert worker.starts == 0
    with pytest.raises(UnavailableError, match="the echo does not answer: it has not started yet"):
        await worker.ask("what")


async def test_one_that_cannot_be_started_now_is_unavailable_and_no_fault_of_ours(worker, monkeypatch):
    async def none_to_be_had(*_command, **_settings):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(asyncio, "create_subprocess_exec", none_to_be_had)
    sentence = "the echo cannot be started on this host: Resource temporarily unavailable"
    with pytest.raises(UnavailableError, match=sentence):
        await worker.run(asyncio.Event())


async def test_a_folder_that_was_tidied_away_is_made_again_for_the_next_start(worker):
    stopping = asyncio.Event()
    running = asyncio.create_task(worker.run(stopping))
    await answered(worker)
    shutil.rmtree(worker._path.parent)
    stopping.set()
    await running
    stopping.clear()
    running = asyncio.create_task(worker.run(stopping))
    assert (await answered(worker))[1] == b"what"
    stopping.set()
    await running
