"""Queue from the threads of taps and senders to the event loop.

The thread stamps each item, so an item need not wake the loop: the loop drains the queue on
its own tick.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

    from canary.tracker.plan import Attempt
    from runtime.kafka.sender import Report
    from runtime.kafka.tap import Tapped

    Item = Tapped | Report | Attempt

FULL_ITEMS = 20_000  # a tap waits at this length, so that a flood of records does not fill the memory
_ROOM_S = 0.01


class Held:
    """A place in the queue that is filled soon; nothing after it is taken earlier."""

    __slots__ = ("item",)

    def __init__(self) -> None:
        self.item: Item | None = None


class Inbox:
    """A queue from any thread to the event loop; keeps the order of each thread's items."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._items: deque[Item | Held] = deque()

    def __len__(self) -> int:
        """Return how many items wait."""
        return len(self._items)

    def put(self, item: Item) -> None:
        """Add an item, from any thread."""
        self._items.append(item)

    def put_when_room(self, item: Item) -> None:
        """Add an item, from a thread that may wait while the queue is full."""
        self._wait_for_room(FULL_ITEMS)
        self._items.append(item)

    def hold(self) -> Held:
        """Reserve a place; the caller must fill in its `item` soon.

        It waits only at twice the length at which taps wait.
        """
        self._wait_for_room(2 * FULL_ITEMS)
        held = Held()
        self._items.append(held)
        return held

    def drain(self, at_most: int | None = None) -> list[Item]:
        """Return all items, or `at_most`, up to a reserved place that is not filled yet."""
        items: list[Item] = []
        waiting = self._items
        while waiting and (at_most is None or len(items) < at_most):
            item = waiting[0]
            if type(item) is Held:
                if item.item is None:
                    break
                items.append(item.item)
            else:
                items.append(item)  # type: ignore[arg-type]  # it is no Held, as was just asked
            waiting.popleft()
        return items

    def _wait_for_room(self, limit: int) -> None:
        while len(self._items) >= limit and not self._loop.is_closed():
            time.sleep(_ROOM_S)
