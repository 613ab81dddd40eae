"""The system's clock, and that nothing else here reads the time."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

import pytest

from runtime.process import clock as clock_module
from runtime.process.clock import Clock, SystemClock, WaitingClock
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
    folder = Path(__file__).parents[3] / "runtime"
    readers = []
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            readers += [path.name for module in modules if module in {"time", "datetime"}]
    assert set(readers) == {"clock.py"}


class Readings:
    """The machine's three clocks in seconds, and what is done to them; takes the place of `time` in the clock."""

    def __init__(self, *, boottime: bool):
        self.monotonic, self.slept, self.wall = 100.0, 0.0, 1_800_000_000.0
        self.standing = 0  # how many more readings are followed by a standstill of the process
        if boottime:
            self.CLOCK_BOOTTIME = 7

    def _read(self, value: float) -> int:
        if self.standing:
            self.standing -= 1
            self.monotonic += 8
            self.wall += 8
        return round(value * 1e9)

    def monotonic_ns(self):
        return self._read(self.monotonic)

    def clock_gettime_ns(self, clock):
        assert clock == 7
        return self._read(self.monotonic + self.slept)

    def time_ns(self):
        return self._read(self.wall)

    def time(self):
        return self.time_ns() / 1e9

    def run(self, seconds):
        self.monotonic += seconds
        self.wall += seconds

    def sleep(self, seconds):
        self.slept += seconds
        self.wall += seconds


@pytest.fixture(params=[True, False], ids=["with boottime", "without"])
def machine(request, monkeypatch):
    readings = Readings(boottime=request.param)
    monkeypatch.setattr(clock_module, "time", readings)
    monkeypatch.setattr(clock_module, "_BOOTTIME", 7 if request.param else None)
    return readings


def test_a_process_that_stands_all_the_while_it_starts_begins_today_nevertheless(machine):
    machine.standing = 1_000
    clock = SystemClock()
    machine.standing = 0
    assert clock.wall_s() == pytest.approx(machine.wall, abs=60)
    machine.standing = 1_000
    before_ns = clock.slept_ns()
    machine.standing = 0
    assert slept_s(clock, before_ns) == pytest.approx(0, abs=60)  # no sleep since the epoch or the boot
    clock.follow()
    assert clock.wall_s() == pytest.approx(machine.wall)


def slept_s(clock, since_ns):
    return (clock.slept_ns() - since_ns) / 1e9


def test_a_sleep_shows_beside_the_monotonic_clock(machine):
    clock = SystemClock()
    before_ns, began_ns, wall_s = clock.slept_ns(), clock.monotonic_ns(), clock.wall_s()
    machine.run(10)
    assert slept_s(clock, before_ns) == pytest.approx(0)
    machine.sleep(3600)
    assert slept_s(clock, before_ns) == pytest.approx(3600)
    assert clock.monotonic_ns() - began_ns == 10_000_000_000
    clock.follow()
    assert clock.wall_s() - wall_s == pytest.approx(3610)


@pytest.mark.parametrize("by_s", [3600.0, -3600.0])
def test_a_wall_clock_that_is_set_is_followed_only_when_asked_to(machine, by_s):
    clock = SystemClock()
    before_ns, wall_s = clock.slept_ns(), clock.wall_s()
    machine.wall += by_s
    machine.run(10)
    assert clock.wall_s() - wall_s == pytest.approx(10)
    assert clock.follow() == pytest.approx(by_s)
    assert clock.follow() == pytest.approx(0)
    assert clock.wall_s() == pytest.approx(machine.wall)
    if hasattr(machine, "CLOCK_BOOTTIME"):
        assert slept_s(clock, before_ns) == pytest.approx(0)


@pytest.mark.parametrize("standing", range(1, 4))
def test_a_process_that_stands_between_two_readings_takes_it_for_neither_sleep_nor_setting(machine, standing):
    clock = SystemClock()
    before_ns = clock.slept_ns()
    machine.standing = standing
    assert slept_s(clock, before_ns) == pytest.approx(0)
    machine.standing = standing
    assert clock.follow() == pytest.approx(0)
    machine.standing = 1_000
    assert slept_s(clock, before_ns) == pytest.approx(0)
    assert clock.follow() == pytest.approx(0)
