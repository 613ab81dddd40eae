"""Intervals in which the prober could not measure, for one flow. Pure.

Whether a probe was good is uncertain only if the prober was impaired at some time between the probe's
scheduled instant and its threshold: a probe missing by then, without an impairment, is not good
whatever happens later. Whether it arrived by its horizon is uncertain only if the prober was impaired shortly
before that. A probe stamped within its threshold is good in any case, except across a sleep
of the machine: the monotonic clock stops then, and every duration is too short.
"""

from __future__ import annotations

from collections import deque

MAX_SLEEPS = 16  # kept, newest first; older ones affect no probe in flight


class Impairments:
    """Intervals in which the prober was impaired; instants are monotonic nanoseconds.

    Intervals closer than a threshold are merged, because no probe fits between them.
    Intervals older than two horizons are forgotten.
    """

    __slots__ = ("_horizon_ns", "_intervals", "_since_ns", "_sleeps", "_threshold_ns", "sentence")

    def __init__(self, *, threshold_ns: int, horizon_ns: int) -> None:
        self.sentence: str | None = None  # why the prober is impaired now, or None
        self._threshold_ns = threshold_ns
        self._horizon_ns = horizon_ns
        self._since_ns = 0  # start of the current one
        self._intervals: deque[tuple[int, int]] = deque()
        self._sleeps: deque[tuple[int, int]] = deque(maxlen=MAX_SLEEPS)

    def begin(self, sentence: str, since_ns: int) -> None:
        """Note that the prober is impaired since that instant; the newest sentence applies."""
        self._since_ns = since_ns if self.sentence is None else min(self._since_ns, since_ns)
        self.sentence = sentence

    def end(self, at_ns: int) -> None:
        """Note that it measures again."""
        if self.sentence is None:
            return
        self.sentence = None
        self._keep(self._since_ns, at_ns)

    def sleep(self, before_ns: int, after_ns: int) -> None:
        """Note that the machine slept between these instants."""
        self._sleeps.append((before_ns, after_ns))
        self._keep(before_ns, after_ns)

    def between(self, first_ns: int, last_ns: int) -> bool:
        """Return whether the prober was impaired between two instants, both included."""
        if self.sentence is not None and self._since_ns <= last_ns:
            return True
        return bool(self._intervals) and any(
            since <= last_ns and until > first_ns for since, until in self._intervals
        )

    def slept_between(self, first_ns: int, last_ns: int) -> bool:
        """Return whether the machine may have slept between two instants."""
        return bool(self._sleeps) and any(
            before < last_ns and after > first_ns for before, after in self._sleeps
        )

    def spoil_goodness(self, scheduled_ns: int) -> bool:
        """Return whether it is uncertain if a probe due then, and not in time, was good."""
        return self.between(scheduled_ns, scheduled_ns + self._threshold_ns)

    def spoil_horizon(self, scheduled_ns: int) -> bool:
        """Return whether it is uncertain if a probe due then was missing at its horizon."""
        horizon_ns = scheduled_ns + self._horizon_ns
        return self.spoil_goodness(scheduled_ns) or self.between(horizon_ns - self._threshold_ns, horizon_ns)

    def _keep(self, since_ns: int, until_ns: int) -> None:
        intervals = self._intervals
        while intervals and intervals[-1][1] + self._threshold_ns > since_ns:
            since, until = intervals.pop()
            since_ns, until_ns = min(since, since_ns), max(until, until_ns)
        intervals.append((since_ns, until_ns))
        while intervals[0][1] < until_ns - 2 * self._horizon_ns:
            intervals.popleft()
