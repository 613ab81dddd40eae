"""A clock that moves only when it is told to, or when somebody waits by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


class FakeClock:
    def __init__(self, *, wall_s: float = 1_800_000_000.0) -> None:
        self.now_ns = 0
        self.asleep_ns = 0
        self.began_wall_s = wall_s
        self.set_s = 0.0  # by how much the machine's wall clock was set and not followed yet
        self.waits_s: list[float] = []

    def monotonic_ns(self) -> int:
        return self.now_ns

    def slept_ns(self) -> int:
        return self.asleep_ns

    def wall_s(self) -> float:
        return self.began_wall_s + (self.now_ns + self.asleep_ns) / 1e9

    def follow(self) -> float:
        by_s, self.set_s = self.set_s, 0.0
        self.began_wall_s += by_s
        return by_s

    def advance(self, seconds: float) -> None:
        self.now_ns += int(seconds * 1e9)

    def sleep(self, seconds: float) -> None:
        """Let the machine sleep: its monotonic clock stands meanwhile."""
        self.asleep_ns += int(seconds * 1e9)

    def set_wall(self, by_s: float) -> None:
        """Set the machine's wall clock."""
        self.set_s += by_s

    async def wait(self, event: asyncio.Event, *, timeout_s: float) -> bool:
        self.waits_s.append(timeout_s)
        self.advance(timeout_s)
        return event.is_set()
