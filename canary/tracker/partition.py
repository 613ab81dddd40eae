"""State of one partition: its runs, how far it was read, and its status.

A run is the probes of one incarnation: this process, or a dead one that was taken over.
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

    In a run that was taken over, the instant is when the probe was found on the source.
    """

    sequence: int
    scheduled_ns: int
    due_at_ms: int
    after_offset: int = -1  # its offset is larger than this
    sent_ns: int | None = None
    acked_ns: int | None = None
    seen_ns: int | None = None  # on the source tap
    offset: int | None = None  # in the source partition; known once it is acknowledged or read there
    arrived_ns: int | None = None
    settled: bool = False
    due: bool = False  # its threshold has passed
    warm: bool = False
    on_target: bool = False  # a record of it, in any shape, is in its own partition of the target
    copy_seen: str = ""  # 'corrupted' or 'misrouted', if such a record of it arrived
    stale: bool = False  # its offset is of a log that was reset since

    @property
    def on_source(self) -> bool:
        """Return whether it is known to be in the source's log."""
        return self.offset is not None

    @property
    def located_ns(self) -> int | None:
        """Return the earliest instant at which it was known to be in the source's log."""
        if self.acked_ns is None or self.seen_ns is None:
            return self.seen_ns if self.acked_ns is None else self.acked_ns
        return min(self.acked_ns, self.seen_ns)


@dataclass(slots=True)
class ReadThrough:
    """Source offset up to which absence on the target is proved.

    A newer record on the target proves that every earlier probe of the source's log that was not read is
    absent. The proof waits for a log end offset read after that record, and for the tap to reach it. One
    proof waits at a time and the newest later one is queued, so a steady stream is proved in steps.
    """

    proved: int = -1  # a probe below this source offset that was not read is absent
    position: int = -1  # the target offset to read next
    _waiting: int | None = None
    _end: int | None = None
    _queued: int | None = None
    _passing: tuple[int, int] | None = None
    _passed_next: tuple[int, int] | None = None  # the newest that arrived while that one waits

    @property
    def newest_on_target(self) -> int:
        """Return the highest source offset that was read on the target, proof or not."""
        return max(one for one in (self.proved, self._waiting, self._queued) if one is not None)

    def note_on_target(self, source_offset: int) -> None:
        """Note that the record of this source offset, in any shape, is on the target."""
        if source_offset <= max(self.proved, -1 if self._waiting is None else self._waiting):
            return
        if self._waiting is None:
            self._waiting = source_offset
        else:
            self._queued = max(source_offset, -1 if self._queued is None else self._queued)

    def passed(self, source_offset: int, target_end_offset: int) -> bool:
        """Note the mirror's commit and the target's log end after it; return whether it proves something."""
        if source_offset >= self.proved:
            place = (source_offset + 1, target_end_offset)
            if self._passing is None:
                self._passing = place
            else:
                self._passed_next = place
        return self._settle_passing()

    def end_known(self, end_offset: int) -> None:
        """Note the log end offset, for the records read before."""
        if self._waiting is not None and self._end is None:
            self._end = end_offset

    def read_to(self, position: int) -> bool:
        """Note that all before `position` is read; return whether it proves something.

        The position goes back if the log was reset or the reader restarted.
        """
        self.position = position
        proves = self._settle_passing()
        if self._waiting is None or self._end is None or position < self._end:
            return proves
        self.proved = max(self.proved, self._waiting)
        self._waiting, self._end, self._queued = self._queued, None, None
        return True

    def forget_target_offsets(self) -> None:
        """Forget offsets of the target; proofs stay."""
        self.position = -1
        self._waiting = self._end = self._queued = self._passing = self._passed_next = None

    def reset(self) -> None:
        """Forget proofs too: the source's offsets have another meaning from now on."""
        self.forget_target_offsets()
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

    `covered` are those with an outcome. A covered probe in none of the ranges
    was read on the target.
    """

    incarnation: str
    minutes: Minutes
    adopted_ns: int | None = None  # when it was taken over; None: this process's
    next_sequence: int = 0
    first_sequence: int = 0  # the first of this flow; other flows of its source may have earlier ones
    in_flight: dict[int, Probe] = field(default_factory=dict)  # by sequence, in the order of sending
    unlocated: dict[int, Probe] = field(default_factory=dict)  # those of them not known to be on the source
    arrived: dict[int, Probe] = field(default_factory=dict)  # arrived before their acknowledgement
    overdue: AbsentRanges = field(default_factory=AbsentRanges)  # outstanding
    absent: AbsentRanges = field(default_factory=AbsentRanges)  # ended, and never read on the target
    covered: Sequences = field(default_factory=Sequences)
    newest_arrived: int = -1
    newest_source_seen: int = -1
    newest_located: int = -1  # sequence of the newest probe that is on the source
    newest_located_offset: int = -1
    acked_ahead: dict[int, int] = field(
        default_factory=dict
    )  # source offset, if acknowledged before the tap read it
    source_from: int | None = None  # taken over: source offset of its first uncovered probe, until read
    target_from: int | None = None  # the same on the target
    changed: bool = False  # since it was last saved

    @property
    def adopted(self) -> bool:
        """Return whether it was started by a dead process."""
        return self.adopted_ns is not None

    def take_out(self, probe: Probe) -> None:
        """Remove a probe from those in flight."""
        del self.in_flight[probe.sequence]
        self.unlocated.pop(probe.sequence, None)
        self.changed = True

    def knows(self, sequence: int) -> bool:
        """Return whether such a probe is known: in flight, or with an outcome."""
        return sequence in self.in_flight or sequence in self.covered

    @property
    def read_from(self) -> int:
        """Return a source offset at or before every uncovered probe."""
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
    others: dict[str, Anchors] = field(default_factory=dict)  # of runs of other living processes
    read: ReadThrough = field(default_factory=ReadThrough)
    chain: Chain = field(default_factory=Chain)
    source_read_to: int = -1  # the highest source offset that the tap has read
    newest_present_ns: int | None = None  # scheduled instant of the newest probe on the target
    last_arrival_ns: int | None = None
    last_latency_ns: int | None = None
    last_late_ns: int | None = None  # when a probe last arrived late

    def run_of(self, incarnation: str) -> Run | None:
        """Return the run of this incarnation, if this process judges it."""
        return self.own if incarnation == self.own.incarnation else self.adopted.get(incarnation)

    def reset_log(self) -> None:
        """Reset offsets: the source's log restarted or lost its end. No probe is outstanding then."""
        self.read.reset()
        self.others.clear()
        for run in self.runs():
            for probe in run.in_flight.values():
                probe.stale = probe.stale or probe.offset is not None
                probe.after_offset = -1
            run.absent.forget_offsets()

    def runs(self) -> Iterable[Run]:
        """Return this process's run and those taken over."""
        return chain((self.own,), self.adopted.values()) if self.adopted else (self.own,)

    def present(self, scheduled_ns: int, at_ns: int, *, threshold_ns: int, trusted: bool = True) -> None:
        """Note the first arrival of a probe that was due at this instant.

        A latency that may be the prober's own is not `trusted`.
        """
        self.last_arrival_ns = at_ns
        if trusted:
            self.last_latency_ns = at_ns - scheduled_ns
            if self.last_latency_ns > threshold_ns:
                self.last_late_ns = at_ns
        if self.newest_present_ns is None or scheduled_ns > self.newest_present_ns:
            self.newest_present_ns = scheduled_ns


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """Status of one partition, for the verdict. Instants are monotonic nanoseconds."""

    partition: int
    carried: bool
    oldest_pending_ns: int | None  # scheduled instant of the oldest probe on the source and not on the target
    oldest_pending_offset: int | None
    oldest_unacked_ns: int | None  # the same of the oldest that is not on the source, nor is a newer one
    newest_present_ns: int | None
    last_arrival_ns: int | None
    last_latency_ns: int | None
    last_late_ns: int | None


def standing(state: PartitionState) -> PartitionStatus:
    """Return the status of this partition; warm-up probes do not count."""
    oldest_ns = oldest_offset = None
    for run in state.runs():
        found_ns, offset = _oldest_pending(run)
        if found_ns is not None and (oldest_ns is None or found_ns < oldest_ns):
            oldest_ns, oldest_offset = found_ns, offset
    # A probe that failed in an outage stays in flight until its horizon. Newer ones show that it is over.
    since, unlocated = state.own.newest_located, state.own.unlocated.values()
    unacked = next((probe for probe in unlocated if probe.sequence > since and not probe.warm), None)
    return PartitionStatus(
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


def partition_evidence(one: PartitionStatus, now_ns: int) -> PartitionEvidence:
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
        if probe.offset is not None and not probe.warm and not probe.stale:
            return probe.scheduled_ns, probe.offset
    return None, None
