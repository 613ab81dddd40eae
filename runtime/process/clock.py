"""The only place that reads the time; all other code gets a clock or an instant."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

_AT_ONCE_NS = 10_000_000  # readings of two clocks further apart than this are compared with nothing
_TRIES = 5


class Clock(Protocol):
    """A monotonic clock for durations, and a wall clock for instants.

    The wall clock is held: where the machine's is set, it goes on as before until `follow` is called, so that
    whoever keeps instants can move them in the same step and no age jumps. `monotonic_ns` stands while the
    machine sleeps; `slept_ns` tells for how long it did.
    """

    def monotonic_ns(self) -> int:
        """Return nanoseconds since an arbitrary beginning; never goes back."""
        ...

    def slept_ns(self) -> int:
        """Return for how long the machine has slept since an arbitrary beginning, in nanoseconds.

        On a system that does not count this, a wall clock that is set looks like sleep, set back like less
        than none.
        """
        ...

    def wall_s(self) -> float:
        """Return seconds since the epoch, by the machine's clock as it was last followed."""
        ...

    def follow(self) -> float:
        """Adopt a changed wall clock; return the change in seconds."""
        ...


class WaitingClock(Clock, Protocol):
    """A clock that can also wait, so that tests need no real time."""

    async def wait(self, event: asyncio.Event, *, timeout_s: float) -> bool:
        """Wait until `event` is set or `timeout_s` seconds have passed; return whether it is set."""
        ...


class SystemClock:
    """The machine's clock; one in each process, as each follows the wall clock for itself."""

    def __init__(self) -> None:
        # What these two are off where the process stands in between is mended by the first good reading.
        self._ahead_s = time.time() - _steady_s()  # of the epoch second from the steady one
        self._slept_ns = _elapsed_ns() - time.monotonic_ns()
        self.follow()

    def monotonic_ns(self) -> int:
        """Return the system's monotonic clock in nanoseconds."""
        return time.monotonic_ns()

    def slept_ns(self) -> int:
        """Return by how much CLOCK_BOOTTIME, or else the wall clock, is ahead of CLOCK_MONOTONIC.

        While the process does not get to read both at once, this is what it was before.
        """
        for _ in range(_TRIES):
            before_ns = time.monotonic_ns()
            elapsed_ns = _elapsed_ns()
            if time.monotonic_ns() - before_ns <= _AT_ONCE_NS:
                self._slept_ns = elapsed_ns - before_ns
                break
        return self._slept_ns

    def wall_s(self) -> float:
        """Return the system's wall clock in epoch seconds, as it was last followed."""
        return self._ahead_s + _steady_s()

    def follow(self) -> float:
        """Adopt a changed wall clock; return the change in seconds."""
        for _ in range(_TRIES):
            before_s = _steady_s()
            wall_s = time.time()
            if _steady_s() - before_s <= _AT_ONCE_NS / 1e9:
                set_s = wall_s - before_s - self._ahead_s
                self._ahead_s += set_s
                return set_s
        return 0.0

    async def wait(self, event: asyncio.Event, *, timeout_s: float) -> bool:
        """Wait for `event` for at most `timeout_s` seconds of real time; return whether it is set."""
        try:
            async with asyncio.timeout(timeout_s):
                await event.wait()
        except TimeoutError:
            return event.is_set()
        return True


_BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def _elapsed_ns() -> int:
    """Return nanoseconds that grow while the machine sleeps as well."""
    return time.time_ns() if _BOOTTIME is None else time.clock_gettime_ns(_BOOTTIME)


def _steady_s() -> float:
    """Return seconds since an arbitrary beginning that no setting of a clock changes."""
    return (time.monotonic_ns() if _BOOTTIME is None else time.clock_gettime_ns(_BOOTTIME)) / 1e9
