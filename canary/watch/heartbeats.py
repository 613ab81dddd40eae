"""The heartbeats of one flow's mirror: the newest of them, and when they came here. Pure.

What is in one is the clock of MirrorMaker's worker, which may be anything; when it came is told by ours. Both
prove nothing of tasks or partitions: it is one record in one partition of one topic, and it errs both ways
(green during most losses, stale long after a fault has healed).
"""

from __future__ import annotations

from collections import deque

from fleet.wire.mirror import decode_heartbeat
from fleet.wire.records import Heartbeat

KEPT_LOTS = 3  # enough to tell one late lot from heartbeats that go on


class NewestHeartbeat:
    """Keeps what the newest one says, in epoch seconds, None until one was read; and when the last lots came.

    A lot is what one look has found. It came after the look before, which is the instant that is kept of it:
    no heartbeat is ever taken for younger than it is.
    """

    def __init__(self) -> None:
        self.sent_at: float | None = None
        self._lots_ns: deque[int] = deque(maxlen=KEPT_LOTS)  # monotonic, oldest first
        self._found = False  # since the last look ended

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Take in one record; raises MalformedError for one that is no heartbeat."""
        record = decode_heartbeat(key, value)
        if isinstance(record, Heartbeat):
            self.sent_at = record.sent_at_ms / 1000
            self._found = True

    def end_look(self, since_ns: int) -> None:
        """Note that a look has ended; what it found came after `since_ns`, when the look before it was."""
        if self._found:
            self._lots_ns.append(since_ns)
        self._found = False

    def clear(self) -> None:
        """Know nothing: the topic is gone, or another one."""
        self.sent_at = None
        self._lots_ns.clear()
        self._found = False

    def age_s(self, now_at: float) -> float | None:
        """Return how old it is by its own word, never below 0: two clocks may differ."""
        return None if self.sent_at is None else max(0.0, now_at - self.sent_at)

    def lots_s(self, now_ns: int) -> tuple[float, ...]:
        """Return how long ago each of the last lots came at most, newest first."""
        return tuple(max(0.0, (now_ns - ns) / 1e9) for ns in reversed(self._lots_ns))
