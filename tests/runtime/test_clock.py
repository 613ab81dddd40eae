"""The system's clock, and that nothing else here reads the time."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

from runtime.clock import Clock, SystemClock, WaitingClock
from tests.runtime.fake_clock import FakeClock


def test_the_clocks_fit_their_protocols():
    clocks: list[Clock] = [SystemClock(), FakeClock()]
    waiting: list[WaitingClock] = [SystemClock(), FakeClock()]
    assert all(clock.wall_s() > 1_700_000_000 for clock in clocks)
    assert len(waiting) == 2
    first = SystemClock().monotonic_ns()
    assert SystemClock().monotonic_ns() >= first


async def test_a_wait_ends_with_its_event_or_its_time():
    event = asyncio.Event()
    assert await SystemClock().wait(event, timeout_s=0.001) is False
    event.set()
    assert await SystemClock().wait(event, timeout_s=60) is True
    assert await SystemClock().wait(event, timeout_s=0) is True


def test_no_other_module_of_the_runtime_reads_the_time():
    folder = Path(__file__).parents[2] / "runtime"
    readers = []
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            readers += [path.name for module in modules if module in {"time", "datetime"}]
    assert set(readers) == {"clock.py"}
