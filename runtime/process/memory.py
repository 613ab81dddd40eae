"""Memory of a long-lived process: return freed memory, and collect garbage rarely."""

from __future__ import annotations

import ctypes
import gc
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from runtime.process.clock import WaitingClock

COLLECT_AFTER = 50_000  # objects; of the records that a client hands over at once none is left by then
COLLECT_EVERY_S = 60.0
_GENERATIONS = (20, 20)  # collections of the younger ones to one of the next


def give_back() -> None:
    """Return glibc's free memory to the system; does nothing with another library.

    What thousands of small blocks leave behind lies in holes that it keeps by itself.
    """
    trim = _trimming()
    if trim is not None:
        trim(0)


@cache  # each opening of a library makes a class anew, which is garbage in a cycle
def _trimming() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def collect_rarely() -> None:
    """Have Python look for cycles of garbage seldom, and never among what there is by now.

    The Kafka client makes an object that takes part in that for each record. By default Python looks after
    700 of these: where thousands come at once, it looks again and again, for some percent of the time. Where
    few come, it will not look for days: `collect_now_and_then` belongs to it.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, *_GENERATIONS)


async def collect_now_and_then(stopping: asyncio.Event, clock: WaitingClock) -> None:
    """Collect cyclic garbage once a minute, and return its memory.

    There is always some: what a client answers that failed is in one with its own exception.
    """
    while not await clock.wait(stopping, timeout_s=COLLECT_EVERY_S):
        gc.collect()
        give_back()
