"""What taps, senders and schedules bring on their threads, on its way to the one loop that judges it.

Every instant was stamped by the thread that brings it, so nobody is woken for an item: the loop comes by on
a tick of its own and takes what is there.
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

FULL_ITEMS = 20_000  # a tap waits while there are as many: a flood of records must not fill the memory
_ROOM_S = 0.01


class Held:
    """A place in the queue for what is known only after a moment; nothing behind it is taken before."""

    __slots__ = ("item",)

    def __init__(self) -> None:
        self.item: Item | None = None


class Inbox:
    """A queue from any thread to the event loop; each thread's items come in their order."""

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
        """Do the same, from a thread that may be kept waiting while there is too much."""
        self._wait_for_room(FULL_ITEMS)
        self._items.append(item)

    def hold(self) -> Held:
        """Keep a place, whose `item` the caller fills in soon, whatever happens.

        It may be kept waiting too, but not by a flood that keeps only taps waiting.
        """
        self._wait_for_room(2 * FULL_ITEMS)
        held = Held()
        self._items.append(held)
        return held

    def drain(self, at_most: int | None = None) -> list[Item]:
        """Take all that is there, or so many of it, up to a place that is held and not filled yet."""
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
