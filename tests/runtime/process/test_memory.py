"""Memory is given back where the C library can be told to, and nothing happens where it cannot."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import weakref
from types import SimpleNamespace

import pytest

from runtime.process import memory
from runtime.process.memory import (
    COLLECT_AFTER,
    COLLECT_EVERY_S,
    collect_now_and_then,
    collect_rarely,
    give_back,
)
from tests.runtime.fake_clock import FakeClock


@pytest.mark.parametrize("can", [True, False])
def test_the_c_library_is_told_where_it_can_be(monkeypatch, can):
    told = []
    library = SimpleNamespace(**({"malloc_trim": told.append} if can else {}))
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: library)
    memory._trimming.cache_clear()
    try:
        give_back()
        give_back()
    finally:
        memory._trimming.cache_clear()
    assert told == ([0, 0] if can else [])


def test_giving_back_leaves_no_garbage():
    give_back()
    gc.collect()
    gc.disable()
    try:
        for _ in range(10):
            give_back()
        assert gc.collect() == 0
    finally:
        gc.enable()


class Ring:
    def __init__(self):
        self.me = self


class Littering(FakeClock):
    """A clock that leaves garbage in a cycle at each wait, and ends at the fourth."""

    def __init__(self):
        super().__init__()
        self.left, self.seen = [], []

    async def wait(self, event, *, timeout_s):
        self.seen.append([one() for one in self.left])
        self.left.append(weakref.ref(Ring()))
        if len(self.left) == 4:
            event.set()
        return await super().wait(event, timeout_s=timeout_s)


async def test_garbage_is_taken_away_once_a_minute_until_the_end():
    clock = Littering()
    gc.disable()
    try:
        await collect_now_and_then(asyncio.Event(), clock)
        assert clock.seen == [[None] * number for number in range(4)]
        assert clock.left[-1]() is not None  # nobody looks any more
    finally:
        gc.enable()
    assert clock.waits_s == [COLLECT_EVERY_S] * 4


def test_thousands_of_objects_that_come_and_go_are_no_reason_to_look_for_garbage():
    looks = []

    def heard(phase, _about):
        looks.append(phase)

    before, thawed = gc.get_threshold(), gc.get_freeze_count()
    gc.callbacks.append(heard)
    try:
        collect_rarely()
        assert gc.get_freeze_count() > thawed
        looks.clear()
        for _ in range(20):
            held = [[] for _ in range(10_000)]
            del held
        assert looks == []
        held = [[] for _ in range(2 * COLLECT_AFTER)]
        assert "start" in looks
        assert held
    finally:
        gc.callbacks.remove(heard)
        gc.set_threshold(*before)
        gc.unfreeze()
