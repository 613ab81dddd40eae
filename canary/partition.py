"""What a flow's tracker knows of one partition: probes in flight, those that never came, what is read."""

from __future__ import annotations

from dataclasses import dataclass, field

from canary.ranges import AbsentRanges


@dataclass(slots=True)
class Probe:
    """A probe between its scheduled instant and its outcome."""

    sequence: int
    scheduled_ns: int
    sent_ns: int | None = None
    acked_ns: int | None = None
    seen_ns: int | None = None  # on the source tap
    offset: int | None = None  # in the source partition; known once it is acked or seen there
    behind: int = -1  # a higher sequence number that stands before it in the source's log, where one does
    arrived_ns: int | None = None
    settled: bool = False
    due: bool = False  # its threshold has passed
    warm: bool = False
    copy_seen: str = ""  # 'corrupted' or 'misrouted', where such a copy of it came

    @property
    def on_source(self) -> bool:
        """Tell whether it is known to be in the source's log."""
        return self.offset is not None

    @property
    def located_ns(self) -> int | None:
        """Return the earliest instant at which it was known to be in the source's log."""
        instants = [instant for instant in (self.acked_ns, self.seen_ns) if instant is not None]
        return min(instants, default=None)


@dataclass(slots=True)
class ReadThrough:
    """Up to where absence downstream is proved: a newer record was there, and all up to the end was read.

    A sighting waits for an end offset that was known after it, and for the tap to get there. One sighting
    waits at a time and the newest later one is queued, so a steady stream is proved in steps.
    """

    proved: int = -1  # sequence numbers below this, if not seen, are absent
    passed_offset: int = -1  # the same by the mirror's own position, as a source offset, itself included
    position: int = -1  # the target offset that is read next; what an end is compared with
    _waiting: int | None = None
    _end: int | None = None
    _queued: int | None = None
    _passing: tuple[int, int] | None = None

    @property
    def newest_sighted(self) -> int:
        """Return the highest sequence number that was sighted, whether or not it proves anything yet."""
        return max(self.proved, -1 if self._waiting is None else self._waiting, self._queued or -1)

    def sighted(self, sequence: int) -> None:
        """Note that this probe, in whatever shape, is on the target."""
        if sequence <= max(self.proved, -1 if self._waiting is None else self._waiting):
            return
        if self._waiting is None:
            self._waiting = sequence
        else:
            self._queued = max(sequence, -1 if self._queued is None else self._queued)

    def passed(self, source_offset: int, target_end_offset: int) -> bool:
        """Note the mirror's position, and where the target ended after that; true if it proves something."""
        if self._passing is None and source_offset > self.passed_offset:
            self._passing = (source_offset, target_end_offset)
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
        self._waiting = self._end = self._queued = self._passing = None

    def _settle_passing(self) -> bool:
        if self._passing is None or self.position < self._passing[1]:
            return False
        self.passed_offset = max(self.passed_offset, self._passing[0])
        self._passing = None
        return True


@dataclass(slots=True)
class PartitionState:
    """One partition of one topic id, for one flow."""

    topic_id: str
    partition: int
    warmup_until_ns: int
    carried: bool
    next_sequence: int = 0
    in_flight: dict[int, Probe] = field(default_factory=dict)  # by sequence, in the order of sending
    arrived: dict[int, Probe] = field(default_factory=dict)  # arrived before their acknowledgement
    overdue: AbsentRanges = field(default_factory=AbsentRanges)  # outstanding
    absent: AbsentRanges = field(default_factory=AbsentRanges)  # ended, and never seen downstream
    read: ReadThrough = field(default_factory=ReadThrough)
    newest_arrived: int = -1
    newest_source_seen: int = -1
    source_read_to: int = -1  # the highest source offset that the tap has shown
    newest_located: int = -1
    newest_located_offset: int = -1
    newest_present_ns: int | None = None  # scheduled instant of the newest probe seen downstream
    last_arrival_ns: int | None = None
    last_latency_ns: int | None = None
    last_late_ns: int | None = None  # when a probe last arrived past its threshold

    def present(self, scheduled_ns: int, at_ns: int, *, threshold_ns: int) -> None:
        """Note the first copy downstream of a probe that was due at this instant."""
        self.last_arrival_ns = at_ns
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
    pending = unacked = None
    for probe in state.in_flight.values():
        if probe.warm:
            continue
        if probe.on_source:
            pending = pending or probe
        else:
            unacked = unacked or probe
        if pending and unacked:
            break
    oldest_ns = pending.scheduled_ns if pending else None
    oldest_offset = pending.offset if pending else None
    overdue = state.overdue.oldest
    if overdue is not None:
        oldest_ns, oldest_offset = overdue.first_ns, overdue.first_offset
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
