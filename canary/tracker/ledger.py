"""The only writer of a flow's counters: outcomes, flags, settlement, and the output for each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from canary.tracker.counters import Counters, Flag, Outcome
from canary.tracker.events import Concluded, Flagged, Scheduled, SeenAtTarget, Stage, Timed, TrackerOutput
from canary.tracker.minutes import COUNTED_FLAGS
from canary.tracker.ranges import MINUTE_MS, Absent

if TYPE_CHECKING:
    from canary.tracker.minutes import Minutes
    from canary.tracker.partition import PartitionState, Probe, Run
    from canary.tracker.stamp import Identity

OVERDUE_AT_LOST_END = "overdue when the source log lost its end"


def absent(probe: Probe, outcome: Outcome) -> Absent:
    """Return the range of this one probe; without its offset if the log was reset since."""
    offset = None if probe.stale else probe.offset
    return Absent(
        first=probe.sequence,
        last=probe.sequence,
        outcome=outcome,
        first_offset=offset,
        last_offset=offset,
        first_ns=probe.scheduled_ns,
        last_ns=probe.scheduled_ns,
        first_due_ms=probe.due_at_ms,
        last_due_ms=probe.due_at_ms,
    )


class Ledger:
    """Counts each event once and queues the output."""

    __slots__ = ("_out", "counters")

    def __init__(self) -> None:
        self.counters = Counters()
        self._out: list[TrackerOutput] = []

    def flush(self) -> list[TrackerOutput]:
        """Return the output since the last call."""
        out, self._out = self._out, []
        return out

    def emit(self, output: TrackerOutput) -> None:
        """Queue an output without a counter."""
        self._out.append(output)

    def conclude(  # noqa: PLR0917 - where, who, how and why, in this order everywhere
        self,
        state: PartitionState,
        run: Run,
        probe: Probe,
        outcome: Outcome,
        at_ns: int,
        sentence: str,
        *,
        target_offset: int | None = None,
        arrived: bool = False,
    ) -> None:
        """Give a probe its outcome; one that did not arrive becomes absent."""
        run.take_out(probe)
        self.counters.in_flight -= 1
        self.counters.count(outcome)
        self._cover(run, probe, outcome)
        if not arrived:
            ranges = run.overdue if outcome is Outcome.OVERDUE else run.absent
            ranges.add(absent(probe, outcome))
        if outcome is Outcome.OVERDUE:
            self.counters.outstanding += 1
        self._out.append(
            Concluded(
                outcome,
                state.topic_id,
                state.partition,
                probe.sequence,
                at_ns,
                probe.offset,
                target_offset,
                sentence,
                probe.copy_seen,
            )
        )

    def conclude_gone(self, minutes: Minutes, event: Scheduled) -> None:
        """Count a probe that was due for a deleted topic."""
        self.counters.expected += 1
        self.counters.count(Outcome.UNKNOWN)
        minutes.conclude(event.due_at_ms // MINUTE_MS, Outcome.UNKNOWN, settled=False)
        sentence = "its topic was re-created before it was sent"
        place = (event.topic_id, event.partition, event.sequence)
        self._out.append(Concluded(Outcome.UNKNOWN, *place, event.at_ns, None, None, sentence))

    def warm_up(self, run: Run, probe: Probe) -> None:
        """Count a sent probe as warm-up; it is still tracked, but not in flight."""
        probe.warm = True
        self.counters.in_flight -= 1
        self.counters.count(Outcome.WARMUP)
        self._cover(run, probe, Outcome.WARMUP)

    def settle(self, probe: Probe) -> None:
        """Count this probe as settled, once."""
        if not probe.settled:
            probe.settled = True
            self.counters.settled += 1

    def flag(
        self,
        flag: Flag,
        state: PartitionState,
        run: Run,
        held: Absent,
        *,
        at_ns: int,
        sentence: str,
        target_offset: int | None = None,
    ) -> None:
        """Count a flag for each probe of a range; they are no longer outstanding.

        The caller has removed the range from the partition's absent ranges.
        """
        count = held.count
        self.counters.count(flag, count)
        if held.outstanding:
            self.counters.outstanding -= count
        run.changed = True
        if flag.value in COUNTED_FLAGS:
            for minute, probes in held.by_minute():
                run.minutes.flag(minute, flag, probes)
        self._out.append(
            Flagged(
                flag,
                state.topic_id,
                state.partition,
                held.first,
                at_ns,
                held.first_offset,
                target_offset,
                sentence,
                count,
            )
        )

    def close(self, state: PartitionState, run: Run, held: Absent, at_ns: int, sentence: str) -> None:
        """Close a range of outstanding probes: their end will never be known.

        The caller has removed the range from the outstanding ones.
        """
        self.flag(Flag.CLOSED, state, run, held, at_ns=at_ns, sentence=sentence)
        run.absent.add(replace(held, outcome=Outcome.UNKNOWN))  # a record that arrives is its first

    def close_overdue(self, state: PartitionState, run: Run, at_ns: int, sentence: str) -> None:
        """Close all outstanding probes of a run."""
        for held in list(run.overdue):
            run.overdue.take(held.first, held.last)
            self.close(state, run, held, at_ns, sentence)

    def inherit(self, held: Absent) -> None:
        """Wait for outstanding probes of a dead process."""
        self.counters.inherited += held.count
        self.counters.outstanding += held.count

    def flag_record(self, flag: Flag, event: SeenAtTarget, identity: Identity | None, sentence: str) -> None:
        """Count a flag for a record on the target, by the partition of the record."""
        self.counters.count(flag)
        topic_id, sequence = (identity.topic_id, identity.sequence) if identity else ("", -1)
        self._out.append(
            Flagged(flag, topic_id, event.partition, sequence, event.at_ns, None, event.offset, sentence)
        )

    def flag_loop(self, state: PartitionState, sequence: int, at_ns: int, offset: int) -> None:
        """Count a probe that came back into its own source partition."""
        self.counters.count(Flag.LOOPED)
        sentence = f"written to the source again, at offset {offset}"
        self._out.append(
            Flagged(Flag.LOOPED, state.topic_id, state.partition, sequence, at_ns, offset, None, sentence)
        )

    def time(self, stage: Stage, duration_ns: int, at_ns: int) -> None:
        """Emit the duration of a stage, at least 0."""
        self._out.append(Timed(stage, max(0, duration_ns), at_ns))

    def time_replication(self, probe: Probe, at_ns: int) -> None:
        """Emit the replication stage of a probe that arrived and is located on the source."""
        if probe.arrived_ns is not None and probe.located_ns is not None:
            self.time(Stage.REPLICATION, probe.arrived_ns - probe.located_ns, at_ns)

    def _cover(self, run: Run, probe: Probe, outcome: Outcome) -> None:
        run.covered.add(probe.sequence)
        run.minutes.conclude(probe.due_at_ms // MINUTE_MS, outcome, settled=probe.settled)
        run.changed = True
