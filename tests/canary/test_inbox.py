"""The queue between threads and the event loop: nothing is left lying, nothing floods the memory."""

from __future__ import annotations

import asyncio
import threading

import pytest

from canary import inbox
from canary.inbox import Inbox


async def test_everything_from_many_threads_comes_in_order_of_each():
    box = Inbox(asyncio.get_running_loop())
    threads = [
        threading.Thread(target=lambda n=n: [box.put((n, number)) for number in range(500)]) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    taken = []
    while len(taken) < 2000:
        async with asyncio.timeout(10):
            await box.wait(10.0)
        taken += box.drain(at_most=7)
    for thread in threads:
        thread.join()
    for n in range(4):
        assert [number for who, number in taken if who == n] == list(range(500))
    assert box.drain() == []


async def test_what_is_left_by_a_drain_keeps_the_next_wait_short():
    box = Inbox(asyncio.get_running_loop())
    for number in range(5):
        box.put(number)
    assert box.drain(at_most=3) == [0, 1, 2]
    async with asyncio.timeout(5):
        await box.wait(60.0)
    assert box.drain() == [3, 4]


async def test_a_wait_that_is_over_at_once_lets_others_run_all_the_same():
    box = Inbox(asyncio.get_running_loop())
    box.put(1)
    await box.wait(60.0)
    box.put(2)
    box.drain(at_most=1)
    ran = []
    asyncio.get_running_loop().call_soon(ran.append, "another")
    await box.wait(60.0)
    assert ran == ["another"]


async def test_a_flood_keeps_its_thread_waiting(monkeypatch):
    monkeypatch.setattr(inbox, "FULL_ITEMS", 10)
    box = Inbox(asyncio.get_running_loop())
    flood = threading.Thread(target=lambda: [box.put_when_room(number) for number in range(100)])
    flood.start()
    taken = []
    while len(taken) < 100:
        async with asyncio.timeout(10):
            await box.wait(10.0)
        got = box.drain()
        assert len(got) <= 10
        taken += got
    flood.join()
    assert taken == list(range(100))


@pytest.mark.parametrize("way", ["put", "put_when_room"])
def test_a_thread_that_outlives_the_loop_meets_no_error(monkeypatch, way):
    monkeypatch.setattr(inbox, "FULL_ITEMS", 1)
    loop = asyncio.new_event_loop()
    box = Inbox(loop)
    loop.close()
    for number in range(3):
        getattr(box, way)(number)
    assert box.drain() == [0, 1, 2]
