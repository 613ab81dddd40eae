"""What the taps and senders see on their threads, on its way to the one loop that judges it."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.kafka.sender import Report
    from runtime.kafka.tap import Tapped


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
            self._loop.call_soon_threadsafe(self._filled.set)

    async def wait(self, timeout_s: float) -> None:
        """Wait until there is something, or for this long."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._filled.wait()
        except TimeoutError:
            pass

    def drain(self) -> list[Tapped | Report]:
        """Take all that is there."""
        self._waking = False
        self._filled.clear()
        items: list[Tapped | Report] = []
        while self._items:
            items.append(self._items.popleft())
        return items
