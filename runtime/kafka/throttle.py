"""Sum of the throttle times that brokers report to one client, because of a quota."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime.process.clock import Clock

WINDOW_S = 10.0


class Throttle:
    """Sum of the times of `throttle_cb`; outlives re-created clients."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._total_s = 0.0
        self._newest: deque[tuple[int, float]] = deque()  # monotonic ns, seconds
        self._turn = threading.Lock()  # it hears on the threads that poll, and is read on the event loop

    def hear(self, event: Any) -> None:
        """Take what the client tells of one answer (confluent_kafka.ThrottleEvent, seconds)."""
        self.add(float(event.throttle_time))

    def add(self, seconds: float) -> None:
        """Add the time for which one answer was held back."""
        if seconds > 0:
            with self._turn:
                self._total_s += seconds
                self._newest.append((self._clock.monotonic_ns(), seconds))
                self._forget()

    def take_over(self, before: Throttle) -> None:
        """Take over the total of another one, so that it never falls."""
        with self._turn:
            self._total_s += before.total_s

    @property
    def total_s(self) -> float:
        """Return the sum over the life of this process."""
        return self._total_s

    def recent_s(self) -> float:
        """Return the sum over the last WINDOW_S."""
        with self._turn:
            self._forget()
            return sum(seconds for _, seconds in self._newest)

    def _forget(self) -> None:
        before_ns = self._clock.monotonic_ns() - int(WINDOW_S * 1e9)
        while self._newest and self._newest[0][0] < before_ns:
            self._newest.popleft()
