"""Read a topic on a thread until it is stopped or ends by itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

END_S = 15.0  # a reading that does not end within this time is abandoned


async def read_on_thread(
    read: Callable[[int], None], partitions: int, *, stopping: asyncio.Event, ending: threading.Event
) -> None:
    """Run `read`, which ends once `ending` is set; raises its errors, unless stopped before."""
    reading = asyncio.create_task(asyncio.to_thread(read, partitions))
    stop = asyncio.create_task(stopping.wait())
    try:
        await asyncio.wait((stop, reading), return_when=asyncio.FIRST_COMPLETED)
        if reading.done():
            await reading
    finally:
        stop.cancel()
        ending.set()
        await asyncio.wait((reading,), timeout=END_S)
