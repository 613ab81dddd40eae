"""A mirror that exists only in a test: it drops, delays, duplicates, corrupts and reorders, and keeps the truth."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from canary.tracker.events import (
    Acked,
    Carried,
    Concluded,
    Event,
    Flagged,
    Impaired,
    MirrorPassed,
    Refused,
    Restored,
    Scheduled,
    SeenAtSource,
    SeenAtTarget,
    Sent,
    Skipped,
    TargetRead,
    TopicReplaced,
)
from canary.tracker.stamp import Corrupted, Identity, Intact, Stamp
from canary.tracker.tracking import TrackerPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from canary.tracker.counters import Outcome
    from canary.tracker.tracker import Tracker

S = 1_000_000_000
INSTALLATION, INCARNATION, TOPIC_ID, NEXT_TOPIC_ID = "inst", "00000000000000aa", "topic-id-1", "topic-id-2"
TOPIC = "mirrorwatch-canary"


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

Key = tuple[str, int, int]  # topic id, partition, sequence


def stamp(
    sequence: int, partition: int = 0, incarnation: str = INCARNATION, topic_id: str = TOPIC_ID
) -> Stamp:
    return Stamp(INSTALLATION, incarnation, sequence, topic_id, TOPIC, partition, 0)


def policy(threshold_s: float = 5, horizon_s: float = 60, warmup_s: float = 0) -> TrackerPolicy:
    return TrackerPolicy(
        installation=INSTALLATION,
        incarnation=INCARNATION,
        threshold_ns=int(threshold_s * S),
        horizon_ns=int(horizon_s * S),
        warmup_ns=int(warmup_s * S),
    )


@dataclass(frozen=True)
class Weather:
    """What surrounds the probes; spans are (first tick, ticks)."""

    freezes: Sequence[tuple[int, int]] = ()  # the mirror stands
    impairments: Sequence[tuple[int, int]] = ()  # we are told that we cannot see properly
    ack_s: float = 0.01  # from the sending to the acknowledgement
    source_tap_s: float = 0.02  # from the sending to the sight on the source's tap
    tap_s: float = 0.0  # by how much the target's tap is behind the target's log
    stale_records: int = 0  # by how much a told end is behind the log
    mirror_position: bool = False  # its position is told as well
    replaced_at: int | None = None  # from this tick on the topic is another one
    told_early: int = 0  # so many ticks before that we were told


@dataclass
class PretendLink:
    """Plays fates against a tracker, by partition, and records what the tracker said and what is true."""

    tracker: Tracker
    interval_s: float = 1.0
    replication_s: float = 0.2
    outcomes: dict[Key, Outcome] = field(default_factory=dict)
    confirmed: set[Key] = field(default_factory=set)
    returned: set[Key] = field(default_factory=set)
    flags: Counter[str] = field(default_factory=Counter)
    concluded_twice: list[Key] = field(default_factory=list)
    carried: int = 0
    present: set[Key] = field(default_factory=set)  # truth: an intact copy stands in the target's log
    fates: dict[Key, Fate] = field(default_factory=dict)
    _queue: list[tuple[int, int, Callable[[], Event]]] = field(default_factory=list)
    _order: int = 0

    def play(
        self,
        fates: list[Fate] | list[list[Fate]],
        weather: Weather = Weather(),
        rest_s: float = 200,
    ) -> None:
        """Run one probe a tick and partition with these fates, then let the rest pass."""
        plans = fates if fates and isinstance(fates[0], list) else [fates]
        ticks = max(len(plan) for plan in plans)
        for partition, plan in enumerate(plans):
            _Partition(self, partition, weather).plan(plan)
        for first, length in weather.impairments:
            begin, end = self.at(first) + 5, self.at(first + length) + 5
            self.put(begin, Impaired("the test says so", begin))
            self.put(end, Restored(end))
        if weather.replaced_at is not None:
            told = self.at(weather.replaced_at - weather.told_early) - 1
            self.put(told, TopicReplaced(TOPIC_ID, told))
        while self._queue:
            at_ns, _, make = heapq.heappop(self._queue)
            self.take(self.tracker.advance(at_ns))
            self.take(self.tracker.handle(make()))
        self.take(self.tracker.advance(int(self.at(ticks) + rest_s * S)))

    def at(self, tick: int) -> int:
        return int(tick * self.interval_s * S)

    def put(self, at_ns: int, event: Event | Callable[[], Event]) -> None:
        self._order += 1
        make = event if callable(event) else lambda: event
        heapq.heappush(self._queue, (at_ns, self._order, make))

    def take(self, outputs: list[object]) -> None:
        assert self.tracker.counters.discrepancies() == []
        for output in outputs:
            match output:
                case Concluded():
                    key = (output.topic_id, output.partition, output.sequence)
                    if key in self.outcomes:
                        self.concluded_twice.append(key)
                    self.outcomes[key] = output.outcome
                case Flagged():
                    self.flags[output.flag.value] += output.count
                    found = {"confirmed": self.confirmed, "returned": self.returned}.get(output.flag.value)
                    if found is not None:
                        for sequence in range(output.sequence, output.sequence + output.count):
                            found.add((output.topic_id, output.partition, sequence))
                case Carried():
                    self.carried += 1


class _Partition:
    """One partition's logs on both sides."""

    def __init__(self, link: PretendLink, number: int, weather: Weather) -> None:
        self.link, self.number, self.weather = link, number, weather
        self.log: list[tuple[int, object, int]] = []  # at the target: (instant, reading, source offset)
        self.arrivals: list[int] = []
        self.sequence = self.source_offset = self.clear_ns = 0
        self.topic_id = TOPIC_ID
        self.held: tuple[object, int] | None = None
        self.read_records = 0

    def plan(self, fates: list[Fate]) -> None:
        for tick, fate in enumerate(fates):
            if tick == self.weather.replaced_at:
                self.topic_id, self.sequence, self.source_offset = NEXT_TOPIC_ID, 0, 0
                self.held = None
            self._probe(tick, fate)
            self.sequence += 1
        if self.held is not None:
            self._arrive(self.clear_ns, *self.held)
        self._tap()
        self._look(len(fates))

    def _probe(self, tick: int, fate: Fate) -> None:
        put, t0, weather = self.link.put, self.link.at(tick) + self.number, self.weather
        name = (self.topic_id, self.number, self.sequence)
        self.link.fates[name] = fate
        put(t0, Scheduled(*name, t0, t0 // 1_000_000))
        if fate is Fate.SKIP:
            put(t0, Skipped(*name))
            return
        put(t0, Sent(*name, t0 + 1))
        if fate is Fate.REFUSE:
            put(t0 + S // 100, Refused(*name, "no"))
            return
        acked = t0 + int(weather.ack_s * S)
        if fate not in (Fate.NO_ACK_AND_NOT_STORED, Fate.NO_ACK_BUT_STORED):
            put(acked, Acked(*name, self.source_offset, acked))
        if fate not in STORED:
            return
        reading = Intact(stamp(self.sequence, self.number, topic_id=self.topic_id))
        seen = t0 + int(weather.source_tap_s * S)
        put(seen, SeenAtSource(self.number, self.source_offset, reading, seen))
        self._mirror(t0, fate, reading, name)
        self.source_offset += 1

    def _mirror(self, t0: int, fate: Fate, reading: object, name: Key) -> None:
        arrives = max(t0 + int(self.link.replication_s * S), self.clear_ns)
        for first, ticks in sorted(self.weather.freezes):
            if self.link.at(first) <= arrives < self.link.at(first + ticks):
                arrives = self.link.at(first + ticks)
        self.clear_ns = arrives
        if fate is Fate.DROP:
            return
        if fate is Fate.CORRUPT:
            reading = Corrupted(Identity(name[0], INCARNATION, name[1], name[2]), "changed", INSTALLATION)
        if fate is Fate.DELAY_OVER_THE_NEXT and self.held is None:
            self.held = (reading, self.source_offset)
            return
        for _ in range(2 if fate is Fate.DUPLICATE else 1):
            self._arrive(arrives, reading, self.source_offset)
        if self.held is not None:
            held, self.held = self.held, None
            self._arrive(arrives, *held)

    def _arrive(self, at_ns: int, reading: object, source_offset: int) -> None:
        self.log.append((at_ns, reading, source_offset))
        self.arrivals.append(at_ns)
        if isinstance(reading, Intact):
            one = reading.stamp
            self.link.present.add((one.topic_id, one.partition, one.sequence))

    def _end_at(self, at_ns: int) -> int:
        return bisect_right(self.arrivals, at_ns)

    def _look(self, ticks: int) -> None:
        """Tell every two seconds, until everything has been told, how far the target was read."""
        step_ns = max(2 * S, self.link.at(1))
        for at_ns in range(step_ns, max(self.link.at(ticks), self.clear_ns) + 20 * S, step_ns):
            told = max(0, self._end_at(at_ns) - self.weather.stale_records)
            self.link.put(at_ns, lambda told=told: TargetRead(self.number, self.read_records, told))

    def _tap(self) -> None:
        put, weather = self.link.put, self.weather
        for offset, (arrived, reading, source_offset) in enumerate(self.log):
            read = arrived + int(weather.tap_s * S)
            end = max(offset + 1, self._end_at(read) - weather.stale_records)

            def seen(
                offset: int = offset, end: int = end, reading: object = reading, at: int = read
            ) -> Event:
                self.read_records = offset + 1
                return SeenAtTarget(self.number, offset, end, reading, at)

            put(read, seen)
            for later in (arrived + S // 20, read + S // 10):
                told = max(0, self._end_at(later) - weather.stale_records)
                put(later, lambda told=told: TargetRead(self.number, self.read_records, told))
            if weather.mirror_position:
                topic_id = (
                    reading.stamp.topic_id if isinstance(reading, Intact) else reading.identity.topic_id
                )
                known = self._end_at(arrived + 1)
                put(arrived + 1, MirrorPassed(topic_id, self.number, source_offset, known))
