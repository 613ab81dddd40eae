"""What a flow's tracker knows of one partition: its runs, what is read of it, and how it stands.

A run is the probes of one incarnation: our own, and those of processes that died, which were taken over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from canary.tracker.ranges import AbsentRanges
from canary.tracker.sequences import Anchors, Sequences
from canary.watch.second_writer import Chain
from fleet.verdicts.evidence import PartitionEvidence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from canary.tracker.minutes import Minutes


@dataclass(slots=True)
class Probe:
    """A probe between its scheduled instant and its outcome.

    Of a run that was taken over, the instant is the one at which the probe was found on the source.
    """

    sequence: int
    scheduled_ns: int
    due_at_ms: int
    after_offset: int = -1  # it stands behind this offset, wherever it turns out to stand
    sent_ns: int | None = None
    acked_ns: int | None = None
    seen_ns: int | None = None  # on the source tap
    offset: int | None = None  # in the source partition; known once it is acked or seen there
    arrived_ns: int | None = None
    settled: bool = False
    due: bool = False  # its threshold has passed
    warm: bool = False
    sighted: bool = False  # a copy in any shape stands in its own partition of the target
    copy_seen: str = ""  # 'corrupted' or 'misrouted', where such a copy of it came
    stale: bool = False  # its offset is one of a log that has begun anew since

    @property
    def on_source(self) -> bool:
        """Tell whether it is known to be in the source's log."""
        return self.offset is not None

    @property
    def located_ns(self) -> int | None:
        """Return the earliest instant at which it was known to be in the source's log."""
        if self.acked_ns is None or self.seen_ns is None:
            return self.seen_ns if self.acked_ns is None else self.acked_ns
        return min(self.acked_ns, self.seen_ns)


@dataclass(slots=True)
class ReadThrough:
    """Up to where absence downstream is proved: a newer record was there, and all up to the end was read.

    Places are offsets of the source: a sighting says that what stands before it in the source's log, and was
    not seen, is absent. It waits for an end offset that was known after it, and for the tap to get there. One
    sighting waits at a time and the newest later one is queued, so a steady stream is proved in steps.
    """

    proved: int = -1  # what stands at a source offset below this, if not seen, is absent
    position: int = -1  # the target offset that is read next; what an end is compared with
    _waiting: int | None = None
    _end: int | None = None
    _queued: int | None = None
    _passing: tuple[int, int] | None = None
    _passed_next: tuple[int, int] | None = None  # the newest that came while that one waits

    @property
    def newest_sighted(self) -> int:
        """Return the highest source offset that was sighted, whether or not it proves anything yet."""
        return max(one for one in (self.proved, self._waiting, self._queued) if one is not None)

    def sighted(self, source_offset: int) -> None:
        """Note that the record at this offset of the source, in whatever shape, is on the target."""
        if source_offset <= max(self.proved, -1 if self._waiting is None else self._waiting):
            return
        if self._waiting is None:
            self._waiting = source_offset
        else:
            self._queued = max(source_offset, -1 if self._queued is None else self._queued)

    def passed(self, source_offset: int, target_end_offset: int) -> bool:
        """Note the mirror's position, and where the target ended after that; true if it proves something."""
        if source_offset >= self.proved:
            place = (source_offset + 1, target_end_offset)
            if self._passing is None:
                self._passing = place
            else:
                self._passed_next = place
        return self._settle_passing()

    def end_known(self, end_offset: int) -> None:
        """Note where the partition ended, for the sightings before this."""
        if self._waiting is not None and self._end is None:
            self._end = end_offset

    def read_to(self, position: int) -> bool:
        """Note that all before `position` is read; true if that proves something.

        The position goes back where the log began again or the reader started over.
        """
        self.position = position
        proves = self._settle_passing()
        if self._waiting is None or self._end is None or position < self._end:
            return proves
        self.proved = max(self.proved, self._waiting)
        self._waiting, self._end, self._queued = self._queued, None, None
        return True

    def begin_again(self) -> None:
        """Forget offsets of the target; what is proved stays proved."""
        self.position = -1
        self._waiting = self._end = self._queued = self._passing = self._passed_next = None

    def begin_anew(self) -> None:
        """Forget what is proved: the source's offsets have another meaning from here on."""
        self.begin_again()
        self.proved = -1

    def _settle_passing(self) -> bool:
        proves = False
        while self._passing is not None and self.position >= self._passing[1]:
            self.proved = max(self.proved, self._passing[0])
            self._passing, self._passed_next = self._passed_next, None
            proves = True
        return proves


@dataclass(slots=True)
class Run:
    """The probes of one incarnation in one partition.

    `covered` are those that have their outcome, whoever gave it. What is covered and in none of the ranges
    was seen downstream.
    """

    incarnation: str
    minutes: Minutes
    adopted_ns: int | None = None  # when it was taken over; None: our own
    next_sequence: int = 0
    first_sequence: int = 0  # the first that this flow was told of: others of its source may have had more
    in_flight: dict[int, Probe] = field(default_factory=dict)  # by sequence, in the order of sending
    unlocated: dict[int, Probe] = field(default_factory=dict)  # those of them not known to be on the source
    arrived: dict[int, Probe] = field(default_factory=dict)  # arrived before their acknowledgement
    overdue: AbsentRanges = field(default_factory=AbsentRanges)  # outstanding
    absent: AbsentRanges = field(default_factory=AbsentRanges)  # ended, and never seen downstream
    covered: Sequences = field(default_factory=Sequences)
    newest_arrived: int = -1
    newest_source_seen: int = -1
    newest_located_offset: int = -1
    acked_ahead: dict[int, int] = field(default_factory=dict)  # source offset told before the tap read it
    source_from: int | None = None  # taken over: where its uncovered probes begin on the source, until read
    target_from: int | None = None  # the same on the target
    changed: bool = False  # since it was last told to be kept

    @property
    def adopted(self) -> bool:
        """Tell whether it was begun by a process that is gone."""
        return self.adopted_ns is not None

    def take_out(self, probe: Probe) -> None:
        """Have a probe in flight no more."""
        del self.in_flight[probe.sequence]
        self.unlocated.pop(probe.sequence, None)
        self.changed = True

    def knows(self, sequence: int) -> bool:
        """Tell whether there is such a probe, as far as is known: it is in flight or has its outcome."""
        return sequence in self.in_flight or sequence in self.covered

    @property
    def read_from(self) -> int:
        """Return a source offset at or before that of every probe which is not covered."""
        first = next(iter(self.in_flight.values()), None)
        found = self.newest_located_offset + 1 if first is None else first.after_offset + 1
        return found if self.source_from is None else min(found, self.source_from)


@dataclass(slots=True)
class PartitionState:
    """One partition of one topic id, for one flow."""

    topic_id: str
    partition: int
    warmup_until_ns: int
    carried: bool
    own: Run
    adopted: dict[str, Run] = field(default_factory=dict)  # by incarnation
    others: dict[str, Anchors] = field(default_factory=dict)  # of runs that are not ours to judge
    read: ReadThrough = field(default_factory=ReadThrough)
    chain: Chain = field(default_factory=Chain)
    source_read_to: int = -1  # the highest source offset that the tap has shown
    newest_present_ns: int | None = None  # scheduled instant of the newest probe seen downstream
    last_arrival_ns: int | None = None
    last_latency_ns: int | None = None
    last_late_ns: int | None = None  # when a probe last arrived past its threshold

    def run_of(self, incarnation: str) -> Run | None:
        """Return the run of this incarnation where it is ours to judge."""
        return self.own if incarnation == self.own.incarnation else self.adopted.get(incarnation)

    def begin_log_anew(self) -> None:
        """Take in that the source's log began anew, or lost its end: no offset compares with older ones."""
        self.read.begin_anew()
        self.others.clear()
        for run in self.runs():
            for probe in run.in_flight.values():
                probe.stale = probe.stale or probe.offset is not None
                probe.after_offset = -1
            for ranges in (run.overdue, run.absent):
                ranges.forget_offsets()

    def runs(self) -> Iterable[Run]:
        """Return our own run and those taken over."""
        return chain((self.own,), self.adopted.values()) if self.adopted else (self.own,)

    def present(self, scheduled_ns: int, at_ns: int, *, threshold_ns: int, trusted: bool = True) -> None:
        """Note the first copy downstream of a probe that was due at this instant.

        Not `trusted` is a latency that may be the prober's own.
        """
        self.last_arrival_ns = at_ns
        if trusted:
            self.last_latency_ns = at_ns - scheduled_ns
            if self.last_latency_ns > threshold_ns:
                self.last_late_ns = at_ns
        if self.newest_present_ns is None or scheduled_ns > self.newest_present_ns:
            self.newest_present_ns = scheduled_ns


@dataclass(frozen=True, slots=True)
class Standing:
    """How one partition stands, for the verdict. Instants are monotonic nanoseconds."""

    partition: int
    carried: bool
    oldest_pending_ns: int | None  # scheduled instant of the oldest probe on the source and not downstream
    oldest_pending_offset: int | None
    oldest_unacked_ns: int | None  # the same of the oldest probe not known to be on the source
    newest_present_ns: int | None
    last_arrival_ns: int | None
    last_latency_ns: int | None
    last_late_ns: int | None


def standing(state: PartitionState) -> Standing:
    """Return how this partition stands; warm-up probes are evidence of nothing."""
    oldest_ns = oldest_offset = None
    for run in state.runs():
        found_ns, offset = _oldest_pending(run)
        if found_ns is not None and (oldest_ns is None or found_ns < oldest_ns):
            oldest_ns, oldest_offset = found_ns, offset
    unacked = next((probe for probe in state.own.unlocated.values() if not probe.warm), None)
    return Standing(
        partition=state.partition,
        carried=state.carried,
        oldest_pending_ns=oldest_ns,
        oldest_pending_offset=oldest_offset,
        oldest_unacked_ns=unacked.scheduled_ns if unacked else None,
        newest_present_ns=state.newest_present_ns,
        last_arrival_ns=state.last_arrival_ns,
        last_latency_ns=state.last_latency_ns,
        last_late_ns=state.last_late_ns,
    )


def partition_evidence(one: Standing, now_ns: int) -> PartitionEvidence:
    """Return how a partition stands at this instant, as evidence for a verdict."""

    def age_s(instant_ns: int | None) -> float | None:
        return None if instant_ns is None else max(0.0, (now_ns - instant_ns) / 1e9)

    return PartitionEvidence(
        partition=one.partition,
        carried=one.carried,
        pending_age_s=age_s(one.oldest_pending_ns),
        pending_offset=one.oldest_pending_offset,
        unacked_age_s=age_s(one.oldest_unacked_ns),
        arrival_age_s=age_s(one.last_arrival_ns),
        latency_s=None if one.last_latency_ns is None else one.last_latency_ns / 1e9,
        present_age_s=age_s(one.newest_present_ns),
        late_age_s=age_s(one.last_late_ns),
    )


def _oldest_pending(run: Run) -> tuple[int | None, int | None]:
    """Return instant and source offset of a run's oldest probe that is on the source and not downstream."""
    overdue = run.overdue.oldest
    if overdue is not None:
        return overdue.first_ns, overdue.first_offset
    for probe in run.in_flight.values():
        if probe.offset is not None and not probe.warm:
            return probe.scheduled_ns, probe.offset
    return None, None
