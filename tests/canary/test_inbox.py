"""The queue between threads and the event loop: order is kept, places are held, nothing floods the memory."""

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
    async with asyncio.timeout(10):
        while len(taken) < 2000:
            taken += box.drain(at_most=7)
            await asyncio.sleep(0)
    for thread in threads:
        thread.join()
    for n in range(4):
        assert [number for who, number in taken if who == n] == list(range(500))
    assert (box.drain(), len(box)) == ([], 0)


async def test_what_is_left_by_a_drain_comes_with_the_next():
    box = Inbox(asyncio.get_running_loop())
    for number in range(5):
        box.put(number)
    assert (box.drain(at_most=3), len(box)) == ([0, 1, 2], 2)
    assert box.drain() == [3, 4]


async def test_nothing_behind_a_held_place_is_taken_before_it_is_filled():
    box = Inbox(asyncio.get_running_loop())
    box.put(0)
    first, second = box.hold(), box.hold()
    box.put(3)
    assert box.drain() == [0]
    second.item = 2
    assert box.drain() == []
    first.item = 1
    assert box.drain(at_most=1) == [1]
    assert (box.drain(), len(box)) == ([2, 3], 0)


async def test_a_flood_keeps_its_thread_waiting_and_no_one_who_holds_a_place(monkeypatch):
    monkeypatch.setattr(inbox, "FULL_ITEMS", 10)
    box = Inbox(asyncio.get_running_loop())
    flood = threading.Thread(target=lambda: [box.put_when_room(number) for number in range(100)])
    flood.start()
    async with asyncio.timeout(10):
        await asyncio.to_thread(lambda: all(iter(lambda: len(box) < 10, False)))
        box.hold().item = "held"
        taken = []
        while len(taken) < 101:
            got = box.drain()
            assert len(got) <= 11
            taken += got
            await asyncio.sleep(0)
    flood.join()
    assert taken[10] == "held"
    assert [item for item in taken if item != "held"] == list(range(100))


@pytest.mark.parametrize("way", ["put", "put_when_room"])
def test_a_thread_that_outlives_the_loop_meets_no_error(monkeypatch, way):
    monkeypatch.setattr(inbox, "FULL_ITEMS", 1)
    loop = asyncio.new_event_loop()
    box = Inbox(loop)
    loop.close()
    for number in range(3):
        getattr(box, way)(number)
    assert box.drain() == [0, 1, 2]
