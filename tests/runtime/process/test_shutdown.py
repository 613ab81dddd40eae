"""Signals, first by hand, then for real in a process of its own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from runtime.process.shutdown import Shutdown

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_first_signal_asks_the_second_forces_and_handlers_come_back(number):
    forced = []
    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}
    async with Shutdown(force=forced.append) as shutdown:
        assert not shutdown.stopping.is_set()
        os.kill(os.getpid(), number)
        async with asyncio.timeout(5):
            await shutdown.stopping.wait()
        assert shutdown.received is number
        assert forced == []
        os.kill(os.getpid(), signal.SIGTERM)
        signal.getsignal(number)  # a bytecode or two, in which the handler runs
        assert forced == [130]
    assert {each: signal.getsignal(each) for each in before} == before


async def test_a_hang_up_asks_for_a_reload_until_the_service_stops():
    before = signal.getsignal(signal.SIGHUP)
    async with Shutdown(force=pytest.fail) as shutdown:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGHUP)
            async with asyncio.timeout(5):
                await shutdown.reload.wait()
            assert not shutdown.stopping.is_set()
            shutdown.reload.clear()
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGHUP)
        async with asyncio.timeout(5):
            await shutdown.stopping.wait()
        assert not shutdown.reload.is_set()
    assert signal.getsignal(signal.SIGHUP) == before


async def test_handlers_come_back_after_an_exception_too():
    before = signal.getsignal(signal.SIGTERM)

    async def fail():
        async with Shutdown():
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        await fail()
    assert signal.getsignal(signal.SIGTERM) == before


DEADLINE_S = 20
PROGRAM = """
import asyncio, signal, sys, threading
from runtime.process.shutdown import Shutdown

async def main():
    if sys.argv[1] == "elsewhere":  # the system interrupts another thread, and the loop sleeps on
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    async with Shutdown() as shutdown:
        print("ready", flush=True)
        await shutdown.stopping.wait()
        print("stopping", shutdown.received.name, flush=True)
        if sys.argv[1] == "hangs":
            while True:  # the loop never runs again
                pass
        if sys.argv[1] in ("waits", "elsewhere"):
            await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("manner", "signals", "status"),
    [
        ("ends", [signal.SIGTERM], 0),
        ("ends", [signal.SIGINT], 0),
        ("waits", [signal.SIGTERM, signal.SIGTERM], 130),
        ("waits", [signal.SIGINT, signal.SIGTERM], 130),
        ("hangs", [signal.SIGTERM, signal.SIGINT], 130),
        ("elsewhere", [signal.SIGTERM, signal.SIGINT], 130),
    ],
)
def test_a_real_process_leaves_with_the_right_status(manner, signals, status):
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, manner],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        too_late = threading.Timer(DEADLINE_S, process.kill)  # nothing else ends a wait for a line
        too_late.start()
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signals[0])
            assert process.stdout.readline() == f"stopping {signals[0].name}\n"
            for number in signals[1:]:
                process.send_signal(number)
            assert process.wait(timeout=DEADLINE_S) == status
            assert process.stderr.read() == ""
        finally:
            too_late.cancel()
            process.kill()
