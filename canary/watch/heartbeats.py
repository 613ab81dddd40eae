"""Heartbeats of one flow: the newest one, and when they arrived here. Pure.

A heartbeat has the clock of MirrorMaker's worker, which may be wrong; its arrival has the local clock.
Neither proves anything about tasks or partitions: a heartbeat is one record in one partition of one topic. It
errs both ways: green during most losses, stale long after a fault has healed.
"""

from __future__ import annotations

from collections import deque

from fleet.wire.mirror import decode_heartbeat
from fleet.wire.records import Heartbeat

KEPT_BATCHES = 3  # enough to distinguish one late batch from steady heartbeats


class NewestHeartbeat:
    """Keeps the newest heartbeat (epoch s, None until one was read) and when the last batches arrived.

    A batch is what one poll returned. It is dated by the poll before it, so that no heartbeat counts as
    younger than it is.
    """

    def __init__(self) -> None:
        self.sent_at: float | None = None
        self._batches_ns: deque[int] = deque(maxlen=KEPT_BATCHES)  # monotonic, oldest first
        self._found = False  # since the last look ended

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Process one record; raises MalformedError if it is not a heartbeat."""
        record = decode_heartbeat(key, value)
        if isinstance(record, Heartbeat):
            self.sent_at = record.sent_at_ms / 1000
            self._found = True

    def end_poll(self, since_ns: int) -> None:
        """Note the end of a poll; its records arrived after `since_ns`, the poll before it."""
        if self._found:
            self._batches_ns.append(since_ns)
        self._found = False

    def clear(self) -> None:
        """Reset: the topic was deleted or re-created."""
        self.sent_at = None
        self._batches_ns.clear()
        self._found = False

    def age_s(self, now_at: float) -> float | None:
        """Return its age by its own timestamp, at least 0, since clocks differ."""
        return None if self.sent_at is None else max(0.0, now_at - self.sent_at)

    def batch_ages_s(self, now_ns: int) -> tuple[float, ...]:
        """Return the largest possible age of each of the last batches, newest first."""
        return tuple(max(0.0, (now_ns - ns) / 1e9) for ns in reversed(self._batches_ns))
