"""Rate limit: so many times in so many seconds."""

from __future__ import annotations

from collections import deque


class Allowance:
    """Counts actions; pure, with instants in monotonic nanoseconds."""

    def __init__(self, times: int, *, per_s: float) -> None:
        self._done: deque[int] = deque(maxlen=times)
        self._per_ns = int(per_s * 1e9)

    def take(self, now_ns: int) -> float:
        """Return 0 and count, or the seconds until it is allowed."""
        if len(self._done) == self._done.maxlen:
            wait_ns = self._done[0] + self._per_ns - now_ns
            if wait_ns > 0:
                return wait_ns / 1e9
        self._done.append(now_ns)
        return 0.0
