"""Processes that are killed and begun again on one store, between two logs that outlive them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from canary.tracker.counters import Flag, Outcome
from canary.tracker.events import (
    Acked,
    Adopted,
    Concluded,
    Coverage,
    Dropped,
    Flagged,
    Scheduled,
    SeenAtSource,
    SeenAtTarget,
    Sent,
    SourceRead,
    TargetRead,
)
from canary.tracker.minutes import COLUMNS
from canary.tracker.stamp import Intact, Stamp
from canary.tracker.tracker import Tracker
from canary.tracker.tracking import TrackerPolicy
from tests.canary.pretend_link import INSTALLATION, TOPIC, TOPIC_ID, S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from canary.tracker.inheritance import Snapshot

THRESHOLD_S, HORIZON_S = 3, 10
START_MS = 1_700_000_000_000
Name = tuple[str, int]  # incarnation, sequence


@dataclass
class Kept:
    """What stands in the store."""

    rows: dict[tuple[str, str, int], tuple[int, ...]] = field(default_factory=dict)
    coverages: dict[str, Coverage] = field(default_factory=dict)  # of the one partition, by incarnation
    closed: set[str] = field(default_factory=set)

    def total(self, column: str) -> int:
        index = COLUMNS.index(column)
        return sum(row[index] for row in self.rows.values())


@dataclass
class World:
    """One source partition, its mirror, and the target's; what a process does not finish stays so."""

    lag_s: int = 0
    dropped: frozenset[int] = frozenset()  # by source offset
    frozen: frozenset[int] = frozenset()  # ticks at which the mirror stands
    source: list[Stamp] = field(default_factory=list)
    sent_at: list[int] = field(default_factory=list)
    stalled: list[tuple[int, Stamp]] = field(default_factory=list)  # by when a broker writes it
    target: list[Stamp] = field(default_factory=list)
    mirrored: int = 0
    kept: Kept = field(default_factory=Kept)
    said: dict[Name, list[str]] = field(default_factory=dict)
    flags: Counter[str] = field(default_factory=Counter)
    present: set[Name] = field(default_factory=set)

    def write(self, stamp: Stamp, tick: int) -> None:
        self.source.append(stamp)
        self.sent_at.append(tick)

    def mirror(self, tick: int) -> None:
        for due, stamp in [one for one in self.stalled if one[0] <= tick]:
            self.stalled.remove((due, stamp))
            self.write(stamp, tick)
        while self.mirrored < len(self.source) and tick not in self.frozen:
            if self.sent_at[self.mirrored] + self.lag_s > tick:
                break
            stamp = self.source[self.mirrored]
            if self.mirrored not in self.dropped:
                self.target.append(stamp)
                self.present.add((stamp.incarnation, stamp.sequence))
            self.mirrored += 1


def minute_of(tick: int) -> int:
    return (START_MS + tick * 1000) // 60_000


class Process:
    """One incarnation at work; nothing of it survives but what it has put into the store."""

    def __init__(self, world: World, number: int, tick: int, heirs_of: Iterable[str]) -> None:
        self.world, self.incarnation = world, f"{number:016x}"
        self.first_minute = 0
        self.tracker = self.watch()
        self.unwritten: list[Snapshot] = []
        self.sequence = 0
        self.source_at, self.target_at = len(world.source), len(world.target)
        self.births = tick
        for incarnation in heirs_of:
            self.adopt(incarnation, tick)

    def watch(self) -> Tracker:
        """Return a new watch of the flow."""
        durations = (THRESHOLD_S * S, HORIZON_S * S, 0)
        policy = TrackerPolicy(INSTALLATION, self.incarnation, *durations, self.first_minute)
        return Tracker(policy, carried=[(TOPIC_ID, 0)], source_topic=TOPIC)

    def reload(self, tick: int) -> None:
        """Drop the flow and begin it again; the taps go on where they are."""
        self.tell(Dropped())
        self.unwritten.append(self.tracker.snapshot(minute_of(tick)))
        unfinished = self.tracker.unfinished()
        self.first_minute = max(minute_of(tick), self.first_minute) + 1
        self.tracker = self.watch()
        for incarnation, coverages in unfinished.items():
            self.tell(Adopted(incarnation, coverages, tick * S, interrupted=True))

    def adopt(self, incarnation: str, tick: int) -> None:
        coverage = self.world.kept.coverages.get(incarnation)
        coverages = () if coverage is None else (coverage,)
        self.tell(Adopted(incarnation, coverages, tick * S))
        self.source_at = min(self.source_at, coverage.source_from if coverage else 0)
        self.target_at = min(self.target_at, coverage.target_from if coverage else 0)

    def tell(self, *events: object) -> None:
        for event in events:
            self._hear(self.tracker.handle(event))

    def send(self, tick: int, *, stored: bool, acked: bool, late_s: int = 0) -> None:
        """Send one probe; unless stored, it died on the way to the source.

        `late_s` is for how long a stalled broker holds it, which answers nobody meanwhile.
        """
        at, name = tick * S, (TOPIC_ID, 0, self.sequence)
        due_ms = START_MS + tick * 1000
        self.tell(Scheduled(*name, at, due_ms), Sent(*name, at))
        stamp = Stamp(INSTALLATION, self.incarnation, self.sequence, TOPIC_ID, TOPIC, 0, due_ms)
        self.sequence += 1
        if stored and late_s:
            self.world.stalled.append((tick + late_s, stamp))
        elif stored:
            self.world.write(stamp, tick)
            if acked:
                self.tell(Acked(*name, len(self.world.source) - 1, at))

    def read(self, tick: int, *, at_most: int) -> None:
        """Let both taps read so many records each, and tell where they stand."""
        world = self.world
        for offset in range(self.source_at, min(len(world.source), self.source_at + at_most)):
            self.tell(SeenAtSource(0, offset, Intact(world.source[offset]), tick * S))
            self.source_at = offset + 1
        self.tell(SourceRead(0, self.source_at, len(world.source)))
        for offset in range(self.target_at, min(len(world.target), self.target_at + at_most)):
            end = len(world.target)
            self.tell(SeenAtTarget(0, offset, end, Intact(world.target[offset]), tick * S))
            self.target_at = offset + 1
        self.tell(TargetRead(0, self.target_at, len(world.target)))

    def rest(self, tick: int) -> None:
        self._hear(self.tracker.advance(tick * S))

    def keep(self, tick: int) -> None:
        """Put into the store what has changed, in one piece."""
        kept = self.world.kept
        for shot in (*self.unwritten, self.tracker.snapshot(minute_of(tick))):
            kept.rows |= {(self.incarnation, of, minute): row for (of, minute), row in shot.rows.items()}
            kept.coverages |= {coverage.incarnation: coverage for coverage in shot.coverages}
            kept.closed |= set(shot.finished)
        self.unwritten.clear()

    def _hear(self, outputs: list[object]) -> None:
        assert self.tracker.counters.discrepancies() == []
        for output in outputs:
            if isinstance(output, Concluded) and output.outcome is Outcome.LOST:
                assert output.source_offset in self.world.dropped
            elif isinstance(output, Flagged):
                self.world.flags[output.flag.value] += output.count
                assert output.flag not in (Flag.RETURNED, Flag.DUPLICATED, Flag.LOOPED, Flag.REORDERED)
