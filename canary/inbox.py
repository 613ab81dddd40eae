"""What the taps and senders see on their threads, on its way to the one loop that judges it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.kafka.sender import Report
    from runtime.kafka.tap import Tapped

FULL_ITEMS = 20_000  # a tap waits while there are as many: a flood of records must not fill the memory
_ROOM_S = 0.01


class Inbox:
    """A queue from any thread to the event loop, woken once for many items."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._items: deque[Tapped | Report] = deque()
        self._filled = asyncio.Event()
        self._waking = False

    def put(self, item: Tapped | Report) -> None:
        """Add an item, from any thread; after the loop has ended it is dropped."""
        self._items.append(item)
        if not self._waking and not self._loop.is_closed():
            self._waking = True
            with suppress(RuntimeError):  # the loop was closed this very moment
                self._loop.call_soon_threadsafe(self._filled.set)

    def put_when_room(self, item: Tapped | Report) -> None:
        """Do the same, from a thread that may be kept waiting while there is too much."""
        while len(self._items) >= FULL_ITEMS and not self._loop.is_closed():
            time.sleep(_ROOM_S)
        self.put(item)

    async def wait(self, timeout_s: float) -> None:
        """Wait until there is something, or for this long; others get their turn in any case."""
        if self._filled.is_set():
            await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(timeout_s):
                await self._filled.wait()
        except TimeoutError:
            pass

    def drain(self, at_most: int | None = None) -> list[Tapped | Report]:
        """Take all that is there, or so many of it; what stays keeps `wait` from waiting."""
        self._waking = False
        self._filled.clear()
        items: list[Tapped | Report] = []
        while self._items and (at_most is None or len(items) < at_most):
            items.append(self._items.popleft())
        if self._items:
            self._filled.set()
        return items
