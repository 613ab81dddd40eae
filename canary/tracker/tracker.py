"""Tracker of one flow: events in, outcomes out. No clock, no I/O.

Invariants: the counters agree after every event (tracker/counters.py); a probe has exactly one outcome;
nothing is taken back. Rules, in order:

1. An intact record within the threshold is good; after it and before the horizon, late. If the prober was
   impaired between the scheduled instant and the threshold, late would be a guess and the probe is unknown.
   So it is if the machine slept meanwhile, which makes durations too short (tracker/impairment.py).
2. A probe on the source is lost once a newer one of its partition is on the target, or the mirror's committed
   offset has passed it, and the target was read to its end after that.
3. At the horizon a probe is unknown if the prober was impaired before the threshold or shortly before the
   horizon, or if the source was not read, which would have shown it. It is lost if only a changed or
   misrouted record arrived. It is produce_unknown if it was never known to be on the source. Otherwise it is
   overdue, which later becomes recovered, confirmed or closed.

Order within a partition is the order of the source's log, whoever wrote to it. A record is counted once by
its offset, so a reader that restarts counts nothing twice. Beyond the memory of tracker/ranges.py a record
counts as duplicated. tracker/inheritance.py has the rules for probes of dead processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from canary.tracker import inheritance, source_side, target_side
from canary.tracker.counters import Counters, Outcome
from canary.tracker.events import (
    Acked,
    Adopted,
    Dropped,
    Event,
    Impaired,
    MirrorPassed,
    Refused,
    Restored,
    Scheduled,
    SeenAtSource,
    SeenAtTarget,
    Sent,
    Skipped,
    Slept,
    SourceRead,
    SourceUnseen,
    Stopping,
    TargetGap,
    TargetRead,
    TargetReplaced,
    TopicReplaced,
    TrackerOutput,
)
from canary.tracker.partition import PartitionState, PartitionStatus, standing
from canary.tracker.tracking import TrackerPolicy, Tracking

if TYPE_CHECKING:
    from collections.abc import Iterable

    from canary.tracker.events import Coverage
    from canary.tracker.inheritance import Snapshot


class Tracker:
    """Judges every probe of one flow.

    Feed it with `handle` in the order in which things were seen, and call `advance` after each batch. Out
    of order (a probe sent that was never scheduled) raises ValueError and changes nothing.
    """

    def __init__(
        self,
        policy: TrackerPolicy,
        *,
        carried: Iterable[tuple[str, int]] = (),
        source_topic: str | None = None,
    ) -> None:
        """Start with empty counters; `carried` are the (topic id, partition) replicated before.

        A stamp of another topic than `source_topic` is misrouted; None accepts any.
        """
        self._tracking = Tracking(policy, carried, source_topic)

    @property
    def counters(self) -> Counters:
        """Return the flow's counters, read-only."""
        return self._tracking.ledger.counters

    @property
    def impaired(self) -> str | None:
        """Return why the prober is impaired now, or None."""
        return self._tracking.impairments.sentence

    def partitions(self) -> list[PartitionState]:
        """Return the state of each partition of the current topic, read-only."""
        states = self._tracking.by_partition
        return [states[number] for number in sorted(states)]

    def partition_statuses(self) -> list[PartitionStatus]:
        """Return the status of each partition of the current topic."""
        return [standing(state) for state in self.partitions()]

    def handle(self, event: Event) -> list[TrackerOutput]:  # noqa: C901, PLR0912 - one case for each event
        """Process one event and return the output."""
        tracking = self._tracking
        match event:
            case SeenAtTarget():
                target_side.see(tracking, event)
            case SeenAtSource():
                source_side.see(tracking, event)
            case Scheduled():
                source_side.schedule(tracking, event)
            case Sent():
                source_side.send(tracking, event)
            case Acked():
                source_side.acknowledge(tracking, event)
            case TargetRead():
                target_side.read_to(tracking, event.partition, event.position, event.end_offset)
            case SourceRead():
                if tracking.adoptions:
                    inheritance.read_source(tracking, event)
            case Skipped():
                source_side.skip(tracking, event)
            case Refused():
                source_side.refuse(tracking, event)
            case MirrorPassed():
                target_side.pass_mirror(tracking, event)
            case Impaired():
                since_ns = event.at_ns if event.since_ns is None else event.since_ns
                tracking.impairments.begin(event.sentence, since_ns)
            case Restored():
                tracking.impairments.end(event.at_ns)
            case Slept():
                tracking.impairments.sleep(event.before_ns, event.at_ns)
            case SourceUnseen():
                tracking.note_source_seen(event.sentence, event.at_ns)
            case TopicReplaced():
                self._replace(event)
            case TargetReplaced():
                target_side.forget_target_offsets(tracking)
            case Adopted():
                inheritance.adopt(tracking, event)
            case TargetGap():
                inheritance.pass_gap(tracking, event)
            case Stopping():
                self._abandon("Mirrorwatch stopped before it read the probe on the source")
            case Dropped():
                self._drop()
            case _:
                assert_never(event)
        return tracking.ledger.flush()

    def advance(self, now_ns: int) -> list[TrackerOutput]:
        """Apply thresholds and horizons up to now."""
        self._tracking.pass_deadlines(now_ns)
        return self._tracking.ledger.flush()

    def snapshot(self, now_minute: int) -> Snapshot:
        """Return the changes to save since the last call; minutes count from the epoch."""
        return inheritance.snapshot(self._tracking, now_minute)

    def unfinished(self) -> dict[str, tuple[Coverage, ...]]:
        """Return the coverages of incarnations that were taken over and are not finished."""
        return inheritance.unfinished(self._tracking)

    def _replace(self, event: TopicReplaced) -> None:
        tracking, ledger = self._tracking, self._tracking.ledger
        tracking.gone.pop(event.new_topic_id, None)
        for state in tracking.remove(event.old_topic_id, event.new_topic_id):
            for run in state.runs():
                for probe in [probe for probe in run.in_flight.values() if not probe.warm]:
                    ledger.conclude(
                        state, run, probe, Outcome.UNKNOWN, event.at_ns, "its topic was re-created"
                    )
                run.in_flight.clear()
                sentence = "overdue when its topic was re-created"
                ledger.close_overdue(state, run, event.at_ns, sentence)
            inheritance.keep_removed(tracking, state)

    def _drop(self) -> None:
        self._abandon("the flow was removed before the canary read the probe on the source")
        ledger = self._tracking.ledger
        for state in self._tracking.states.values():
            for run in state.runs():
                sentence = "overdue when its flow was removed"
                ledger.close_overdue(state, run, self._tracking.now_ns, sentence)
                for probe in [probe for probe in run.in_flight.values() if not probe.warm]:
                    sentence = "its flow was removed before it arrived"
                    ledger.conclude(state, run, probe, Outcome.UNKNOWN, self._tracking.now_ns, sentence)

    def _abandon(self, sentence: str) -> None:
        ledger = self._tracking.ledger
        for state in self._tracking.states.values():
            run = state.own
            for probe in [probe for probe in run.unlocated.values() if not probe.warm]:
                ledger.conclude(state, run, probe, Outcome.ABANDONED, self._tracking.now_ns, sentence)
