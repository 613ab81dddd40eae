"""A year of probes at 10/s through one tracker, and an outage of a week: do the books close, is memory flat?

The clock is the benchmark's own. Ten partitions are probed once a second. Every day has its troubles: a
mirror that stands for ten minutes, probes that are dropped, come late, come twice, are refused, are never
acknowledged. The benchmark counts the truth by itself; at the end books, the rows of all minutes and the
truth have to be equal. What is kept each minute is added up as the store would hold it.
"""

from __future__ import annotations

import pickle
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from canary.tracker.events import Acked, Refused, Scheduled, SeenAtSource, SeenAtTarget, Sent, TargetRead
from canary.tracker.minutes import COLUMNS
from canary.tracker.stamp import Intact, Stamp
from canary.tracker.tracker import Tracker
from canary.tracker.tracking import TrackerPolicy

S = 1_000_000_000
MS = 1_000_000
PARTITIONS = 10
DAY_S = 86_400
STANDS_S = 600  # once a day, from noon on
WEEK_S = 7 * DAY_S
_ID, _RUN = "bench", "00000000000000aa"
_PAGE_KB = 4


class _Partition:
    """Both logs of one partition, as far as they are needed."""

    def __init__(self, number: int, *, begun_s: int) -> None:
        self.number = number
        self._begun_s = begun_s
        self.sequence = self.source_offset = self.target_offset = 0
        self.held: list[tuple[int, int]] = []  # what the mirror has not passed on, first and last of each run

    def due_ns(self, sequence: int) -> int:
        """Return when a probe is due: there is one a second from the first second on."""
        return (self._begun_s + sequence) * S + self.number * 100 * MS

    def reading(self, sequence: int) -> Intact:
        """Return what a copy of a probe reads."""
        due_at_ms = self.due_ns(sequence) // MS
        return Intact(Stamp(_ID, _RUN, sequence, _ID, "mirrorwatch-canary", self.number, due_at_ms))

    def hold(self, sequence: int) -> None:
        """Keep a probe for the mirror; in a week without a copy that must cost no memory of its own."""
        if self.held and self.held[-1][1] == sequence - 1:
            self.held[-1] = (self.held[-1][0], sequence)
        else:
            self.held.append((sequence, sequence))


class Year:
    """Plays days against a tracker; `truth` counts what has to come out."""

    def __init__(self, *, second: int = 0) -> None:
        policy = TrackerPolicy(_ID, _RUN, 5 * S, 60 * S, 0)
        known = [(_ID, number) for number in range(PARTITIONS)]
        self.tracker = Tracker(policy, carried=known, source_topic="mirrorwatch-canary")
        self.partitions = [_Partition(number, begun_s=second) for number in range(PARTITIONS)]
        self.truth: Counter[str] = Counter()
        self.sums: Counter[str] = Counter()  # of the rows that were final when they were told last
        self.rows: dict[int, tuple[int, ...]] = {}  # as the store would hold them, the newest minutes
        self.second = second

    def play(self, seconds: int, *, stands: bool = False) -> None:
        """Let so many seconds pass; `stands` has the mirror stand in all of them."""
        for _ in range(seconds):
            of_day = self.second % DAY_S
            frozen = stands or DAY_S // 2 <= of_day < DAY_S // 2 + STANDS_S
            for partition in self.partitions:
                self._probe(partition, frozen=frozen)
            self.tracker.advance(self.second * S + S // 2)
            self.second += 1
            if self.second % 60 == 0:
                self._keep()

    def check(self) -> list[str]:
        """Return a sentence for everything that does not agree."""
        found = self.tracker.counters.discrepancies()
        books = self.tracker.counters.as_dict()
        found += [
            f"{name}: the books say {books[name]}, the truth is {count}"
            for name, count in self.truth.items()
            if books[name] != count
        ]
        sums = self.sums + Counter()
        for row in self.rows.values():
            sums.update(dict(zip(COLUMNS, row, strict=True)))
        in_flight = books["in_flight"]
        for name in COLUMNS:
            open_yet = in_flight if name in ("expected", "settled") else 0
            if not books[name] - open_yet <= sums[name] <= books[name]:
                found.append(f"{name}: the rows of all minutes say {sums[name]}, the books {books[name]}")
        return found

    def _probe(self, partition: _Partition, *, frozen: bool) -> None:
        handle, number, sequence = self.tracker.handle, partition.number, partition.sequence
        partition.sequence += 1
        at_ns = partition.due_ns(sequence)
        handle(Scheduled(_ID, number, sequence, at_ns, at_ns // MS))
        handle(Sent(_ID, number, sequence, at_ns))
        fate = sequence % 10_007 if not frozen else -1
        self.truth["expected"] += 1
        if fate == 11:
            handle(Refused(_ID, number, sequence, "no"))
            self.truth["produce_failed"] += 1
            return
        reading = partition.reading(sequence)
        if fate != 13:  # never acknowledged, and there all the same
            handle(Acked(_ID, number, sequence, partition.source_offset, at_ns + MS))
        handle(SeenAtSource(number, partition.source_offset, reading, at_ns + 2 * MS))
        partition.source_offset += 1
        if fate == 17:
            self.truth["lost"] += 1
            return
        partition.hold(sequence)
        if not frozen:
            self._pass_on(partition, at_ns + 10 * MS, twice=fate == 19)

    def _pass_on(self, partition: _Partition, at_ns: int, *, twice: bool) -> None:
        held, partition.held = partition.held, []
        for sequence in chain.from_iterable(range(first, last + 1) for first, last in held):
            self._count(at_ns - partition.due_ns(sequence))
            self._copy(partition, sequence, at_ns)
        if twice:
            self._copy(partition, held[-1][1], at_ns)
        self.truth["duplicated"] += twice
        self.tracker.handle(TargetRead(partition.number, partition.target_offset, partition.target_offset))

    def _copy(self, partition: _Partition, sequence: int, at_ns: int) -> None:
        offset = partition.target_offset
        partition.target_offset += 1
        reading = partition.reading(sequence)
        self.tracker.handle(SeenAtTarget(partition.number, offset, offset + 1, reading, at_ns))

    def _count(self, age_ns: int) -> None:
        if age_ns <= 5 * S:
            self.truth["good"] += 1
        elif age_ns <= 60 * S:
            self.truth["late"] += 1
        else:
            self.truth["overdue"] += 1
            self.truth["recovered"] += 1

    def _keep(self) -> None:
        minute = self.second // 60
        for (_, changed), row in self.tracker.snapshot(minute).rows.items():
            self.rows[changed] = row
        while (oldest := next(iter(self.rows), minute)) < minute - 2 * WEEK_S // 60:
            self.sums.update(dict(zip(COLUMNS, self.rows.pop(oldest), strict=True)))


@dataclass(slots=True)
class Played:
    """How far a year has come. It is kept every ten days: one that was interrupted goes on from there."""

    year: Year = field(default_factory=Year)
    days: int = 0
    took_s: float = 0.0
    begun: int = 0  # by how many processes
    after_a_day_mb: float = 0.0
    outage_mb: float = 0.0  # the most in the week without a single copy

    @classmethod
    def kept(cls, path: Path | None) -> Played:
        """Return what a former process has left, else a new one."""
        if path is None or not path.exists():
            return cls()
        found: Played = pickle.loads(path.read_bytes())  # noqa: S301  (our own file)
        return found

    def keep(self, path: Path | None) -> None:
        """Write it down whole or not at all."""
        if path is not None:
            draft = path.with_suffix(".draft")
            draft.write_bytes(pickle.dumps(self))
            draft.rename(path)


def measure(*, days: int, kept: Path | None = None) -> dict[str, Any]:
    """Play so many days, a week without a single copy among them; print a line every ten days.

    `kept` is a file for what was played so far, from which another process goes on.
    """
    played = Played.kept(kept)
    played.begun += 1
    while played.days < days:
        began = time.perf_counter()
        stands = days // 2 <= played.days < days // 2 + 7 and days > 20
        played.year.play(DAY_S, stands=stands)
        played.took_s += time.perf_counter() - began
        played.days += 1
        if played.days == 1:
            played.after_a_day_mb = _rss_mb()
        if stands:
            played.outage_mb = max(played.outage_mb, _rss_mb())
        if played.days % 10 == 0:
            probes = played.year.truth["expected"]
            print(
                f"day {played.days}: {probes:,} probes, {played.took_s:.0f} s, {_rss_mb():.1f} MB", flush=True
            )
            played.keep(kept)
    played.year.play(120)
    discrepancies = played.year.check()
    for sentence in discrepancies:
        print(f"does not agree: {sentence}")
    return {
        "days": days,
        "probes": played.year.truth["expected"],
        "probes_per_s": round(played.year.truth["expected"] / played.took_s),
        "processes": played.begun,
        "discrepancies": len(discrepancies),
        "rss_after_a_day_mb": played.after_a_day_mb,
        "rss_in_the_outage_mb": played.outage_mb,
        "rss_at_the_end_mb": _rss_mb(),
    }


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return round(pages * _PAGE_KB / 1024, 1)
