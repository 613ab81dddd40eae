"""A mirror that exists only in a test: it drops, delays, duplicates, corrupts and reorders, and keeps the truth."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from canary.books import Outcome
from canary.events import (
    Acked,
    AckTimedOut,
    Carried,
    Concluded,
    Event,
    Marked,
    Refused,
    Scheduled,
    SeenAtSource,
    SeenAtTarget,
    Sent,
    Skipped,
    TargetRead,
)
from canary.stamp import Corrupted, Identity, Intact, Stamp
from canary.tracker import Tracker
from canary.tracking import TrackerPolicy

S = 1_000_000_000
INSTALLATION, INCARNATION, TOPIC_ID = "inst", "00000000000000aa", "topic-id-1"


class Fate(Enum):
    DELIVER = "deliver"
    DROP = "drop"
    DUPLICATE = "duplicate"
    CORRUPT = "corrupt"
    DELAY_OVER_THE_NEXT = "delay over the next"
    REFUSE = "refuse"
    NO_ACK_BUT_STORED = "no ack but stored"
    NO_ACK_AND_NOT_STORED = "no ack and not stored"
    SKIP = "skip"


STORED = {
    Fate.DELIVER,
    Fate.DROP,
    Fate.DUPLICATE,
    Fate.CORRUPT,
    Fate.DELAY_OVER_THE_NEXT,
    Fate.NO_ACK_BUT_STORED,
}


def stamp(sequence: int, partition: int = 0, incarnation: str = INCARNATION) -> Stamp:
    return Stamp(INSTALLATION, incarnation, sequence, TOPIC_ID, "mirrorwatch-canary", partition, 0)


def policy(threshold_s: float = 5, horizon_s: float = 60, warmup_s: float = 0) -> TrackerPolicy:
    return TrackerPolicy(INSTALLATION, INCARNATION, int(threshold_s * S), int(horizon_s * S), int(warmup_s * S))


@dataclass
class PretendLink:
    """Plays one partition's fates against a tracker and records what the tracker said."""

    tracker: Tracker
    interval_s: float = 1.0
    replication_s: float = 0.2
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    marks: Counter[str] = field(default_factory=Counter)
    concluded_twice: list[int] = field(default_factory=list)
    carried: int = 0

    def play(self, fates: list[Fate], freezes: list[tuple[int, int]] = (), rest_s: float = 200) -> None:
        """Run one probe a tick with these fates; the mirror stands still in the freezes (first tick, ticks)."""
        queue: list[tuple[int, int, Event]] = []
        order = 0

        def put(at_ns: int, event: Event) -> None:
            nonlocal order
            order += 1
            heapq.heappush(queue, (at_ns, order, event))

        source_offset = target_offset = 0
        log: list[tuple[int, int, object]] = []  # what arrives at the target: (instant, order, reading)
        clear_ns = 0
        held: tuple[int, object] | None = None
        for sequence, fate in enumerate(fates):
            t0 = int(sequence * self.interval_s * S)
            put(t0, Scheduled(TOPIC_ID, 0, sequence, t0))
            if fate is Fate.SKIP:
                put(t0 + 1, Skipped(TOPIC_ID, 0, sequence))
                continue
            put(t0 + 1, Sent(TOPIC_ID, 0, sequence, t0 + 1))
            if fate is Fate.REFUSE:
                put(t0 + S // 100, Refused(TOPIC_ID, 0, sequence, "no"))
                continue
            if fate in (Fate.NO_ACK_AND_NOT_STORED, Fate.NO_ACK_BUT_STORED):
                put(t0 + 30 * S, AckTimedOut(TOPIC_ID, 0, sequence))
            else:
                put(t0 + S // 100, Acked(TOPIC_ID, 0, sequence, source_offset, t0 + S // 100))
            if fate not in STORED:
                continue
            put(t0 + S // 50, SeenAtSource(0, source_offset, Intact(stamp(sequence)), t0 + S // 50))
            source_offset += 1
            arrives = max(t0 + int(self.replication_s * S), clear_ns)
            for first, ticks in freezes:
                start, end = int(first * self.interval_s * S), int((first + ticks) * self.interval_s * S)
                if start <= arrives < end:
                    arrives = end
            clear_ns = arrives
            reading: object = Intact(stamp(sequence))
            if fate is Fate.DROP:
                continue
            if fate is Fate.CORRUPT:
                reading = Corrupted(Identity(INCARNATION, 0, sequence), "changed")
            if fate is Fate.DELAY_OVER_THE_NEXT and held is None:
                held = (sequence, reading)
                continue
            log.append((arrives, len(log), reading))
            if fate is Fate.DUPLICATE:
                log.append((arrives, len(log), reading))
            if held is not None:
                log.append((arrives, len(log), held[1]))
                held = None
        if held is not None:
            log.append((clear_ns, len(log), held[1]))
        for arrives, _, reading in sorted(log, key=lambda row: row[:2]):
            put(arrives, SeenAtTarget(0, target_offset, target_offset + 1, reading, arrives))
            target_offset += 1
            put(arrives + S // 10, TargetRead(0, target_offset, target_offset))
        self._run(queue, int(len(fates) * self.interval_s * S + rest_s * S))

    def _run(self, queue: list[tuple[int, int, Event]], until_ns: int) -> None:
        while queue:
            at_ns, _, event = heapq.heappop(queue)
            if isinstance(event, TargetRead):
                # an end that was true when it was read: later records move it on
                pass
            self.take(self.tracker.advance(at_ns))
            self.take(self.tracker.handle(event))
        self.take(self.tracker.advance(until_ns))

    def take(self, outputs: list[object]) -> None:
        assert self.tracker.books.discrepancies() == []
        for output in outputs:
            match output:
                case Concluded():
                    if output.sequence in self.outcomes:
                        self.concluded_twice.append(output.sequence)
                    self.outcomes[output.sequence] = output.outcome
                case Marked():
                    self.marks[output.mark.value] += output.count
                case Carried():
                    self.carried += 1
