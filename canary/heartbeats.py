"""The newest heartbeat of one flow's mirror. Pure.

It says when MirrorMaker's worker last wrote one that came through, by that worker's clock. It proves nothing
of tasks or partitions: it is one record in one partition of one topic, and it errs both ways (green during
most losses, stale long after a fault has healed).
"""

from __future__ import annotations

from fleet.wire import decode_heartbeat
from fleet.wire_records import Heartbeat


class NewestHeartbeat:
    """Keeps the instant of the newest record that was read, in epoch seconds; None until one was."""

    def __init__(self) -> None:
        self.sent_at: float | None = None

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Take in one record; raises MalformedError for one that is no heartbeat."""
        record = decode_heartbeat(key, value)
        if isinstance(record, Heartbeat):
            self.sent_at = record.sent_at_ms / 1000

    def clear(self) -> None:
        """Know nothing: the topic is gone, or another one."""
        self.sent_at = None

    def age_s(self, now_at: float) -> float | None:
        """Return how old it is, never below 0: two clocks may differ."""
        return None if self.sent_at is None else max(0.0, now_at - self.sent_at)
