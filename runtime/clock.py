"""The one place where time is read; everything else is handed a clock or an instant."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Two readings: one that only ever grows, for durations, and one that people know, for instants."""

    def monotonic_ns(self) -> int:
        """Return nanoseconds since an arbitrary beginning; never goes back."""
        ...

    def wall_s(self) -> float:
        """Return seconds since the epoch; may jump when the machine's clock is set."""
        ...


class WaitingClock(Clock, Protocol):
    """A clock that can also wait, so that tests of back-off need no time."""

    async def wait(self, event: asyncio.Event, *, timeout_s: float) -> bool:
        """Wait until `event` is set or `timeout_s` seconds have passed; return whether it is set."""
        ...


class SystemClock:
    """The machine's clock."""

    def monotonic_ns(self) -> int:
        """Return the system's monotonic clock in nanoseconds."""
        return time.monotonic_ns()

    def wall_s(self) -> float:
        """Return the system's wall clock in epoch seconds."""
        return time.time()

    async def wait(self, event: asyncio.Event, *, timeout_s: float) -> bool:
        """Wait for `event` for at most `timeout_s` seconds of real time; return whether it is set."""
        try:
            async with asyncio.timeout(timeout_s):
                await event.wait()
        except TimeoutError:
            return event.is_set()
        return True
