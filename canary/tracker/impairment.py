"""When the prober could not see, for one flow: what that spoils, and what stays certain. Pure.

Whether a probe was good is a guess only where the prober was impaired at some time between the probe's
scheduled instant and its threshold: a probe that had not come by then, while all was well, is not good
whatever happened later. Whether it came by its horizon is a guess only where the prober was impaired shortly
before that. A probe that came within its threshold by our own stamp is good in any case, except over a sleep
of the machine, in which the monotonic clock stands and every duration looks short.
"""

from __future__ import annotations

from collections import deque

MAX_SLEEPS = 16  # of which the latest are remembered; older ones concern no probe that is in flight


class Impairments:
    """Keeps the intervals in which the prober was impaired; instants are monotonic nanoseconds.

    Intervals closer together than a threshold are one: no probe's time up to its threshold fits between them.
    What lies more than a horizon back is forgotten.
    """

    __slots__ = ("_horizon_ns", "_intervals", "_since_ns", "_sleeps", "_threshold_ns", "sentence")

    def __init__(self, *, threshold_ns: int, horizon_ns: int) -> None:
        self.sentence: str | None = None  # why the prober cannot judge at present, if it cannot
        self._threshold_ns = threshold_ns
        self._horizon_ns = horizon_ns
        self._since_ns = 0  # the beginning of the present one
        self._intervals: deque[tuple[int, int]] = deque()
        self._sleeps: deque[tuple[int, int]] = deque(maxlen=MAX_SLEEPS)

    def begin(self, sentence: str, since_ns: int) -> None:
        """Note that the prober is impaired, and has been since that instant; the newest sentence holds."""
        self._since_ns = since_ns if self.sentence is None else min(self._since_ns, since_ns)
        self.sentence = sentence

    def end(self, at_ns: int) -> None:
        """Note that it sees properly again."""
        if self.sentence is None:
            return
        self.sentence = None
        self._keep(self._since_ns, at_ns)

    def sleep(self, before_ns: int, after_ns: int) -> None:
        """Note that the machine slept at some time between these instants."""
        self._sleeps.append((before_ns, after_ns))
        self._keep(before_ns, after_ns)

    def between(self, first_ns: int, last_ns: int) -> bool:
        """Tell whether the prober was impaired at any time from one instant to another, both included."""
        if self.sentence is not None and self._since_ns <= last_ns:
            return True
        return bool(self._intervals) and any(
            since <= last_ns and until > first_ns for since, until in self._intervals
        )

    def slept_between(self, first_ns: int, last_ns: int) -> bool:
        """Tell whether the machine may have slept between two instants."""
        return bool(self._sleeps) and any(
            before < last_ns and after > first_ns for before, after in self._sleeps
        )

    def spoil_goodness(self, scheduled_ns: int) -> bool:
        """Tell whether it is a guess if a probe that was due then, and did not come in time, was good."""
        return self.between(scheduled_ns, scheduled_ns + self._threshold_ns)

    def spoil_horizon(self, scheduled_ns: int) -> bool:
        """Tell whether it is a guess if a probe that was due then was still missing at its horizon."""
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
