"""A few words for telling a tracker, by hand, what one partition of one flow goes through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.tracker.events import (
    Acked,
    Carried,
    Concluded,
    Event,
    Flagged,
    Scheduled,
    SeenAtSource,
    SeenAtTarget,
    Sent,
    TargetRead,
    Timed,
)
from canary.tracker.stamp import Intact, Reading
from canary.tracker.tracker import Tracker
from tests.canary.pretend_link import TOPIC, TOPIC_ID, S, policy, stamp

if TYPE_CHECKING:
    from canary.tracker.counters import Flag, Outcome


class Played:
    """A tracker with everything it said; the target's offsets count up by themselves."""

    def __init__(self, *, warmup_s: float = 0, carried: bool = True, partitions: int = 2) -> None:
        known = [(TOPIC_ID, number) for number in range(partitions)] if carried else []
        self.tracker = Tracker(policy(warmup_s=warmup_s), carried=known, source_topic=TOPIC)
        self.said: list[object] = []
        self.target_offset = 0

    def tell(self, *events: Event) -> None:
        for event in events:
            self.said += self.tracker.handle(event)
            assert self.tracker.counters.discrepancies() == []

    def until(self, at_s: float) -> None:
        self.said += self.tracker.advance(int(at_s * S))
        assert self.tracker.counters.discrepancies() == []

    def send(self, sequence: int, at_s: float, *, acked: bool = True, partition: int = 0) -> None:
        at = int(at_s * S)
        self.tell(
            Scheduled(TOPIC_ID, partition, sequence, at, at // 1_000_000),
            Sent(TOPIC_ID, partition, sequence, at + S // 1000),
        )
        if acked:
            self.tell(Acked(TOPIC_ID, partition, sequence, 100 + sequence, at + S // 100))

    def source(self, sequence: int, at_s: float, *, offset: int | None = None) -> None:
        where = 100 + sequence if offset is None else offset
        self.tell(SeenAtSource(0, where, Intact(stamp(sequence)), int(at_s * S)))

    def arrive(self, sequence: int, at_s: float) -> None:
        self.record(Intact(stamp(sequence)), at_s)

    def record(self, reading: Reading, at_s: float, *, partition: int = 0) -> None:
        offset = self.target_offset
        self.target_offset += 1
        self.tell(SeenAtTarget(partition, offset, offset + 1, reading, int(at_s * S)))

    def read_to_end(self) -> None:
        self.tell(TargetRead(0, self.target_offset, self.target_offset))

    def outcome(self, sequence: int) -> tuple[Outcome, str]:
        found = [one for one in self.said if isinstance(one, Concluded) and one.sequence == sequence]
        assert len(found) == 1
        return found[0].outcome, found[0].sentence

    def flags(self, flag: Flag) -> list[tuple[int, int, str]]:
        """Return sequence, count and sentence of each telling of this flag."""
        return [
            (one.sequence, one.count, one.sentence)
            for one in self.said
            if isinstance(one, Flagged) and one.flag is flag
        ]

    def timed(self) -> list[tuple[str, float]]:
        return [(one.stage.value, one.duration_ns / S) for one in self.said if isinstance(one, Timed)]

    def carried(self) -> int:
        return sum(isinstance(one, Carried) for one in self.said)

    def counts(self, *names: str) -> tuple[int, ...]:
        return tuple(getattr(self.tracker.counters, name) for name in names)
