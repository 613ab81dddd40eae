"""The tracker of one flow: events in, outcomes out. No clock, no I/O.

Invariants: the books close after every event (tracker/books.py); a probe has exactly one outcome; nothing is
taken back. Rules in the order in which they are tried:

1. an intact copy within the threshold is good, later and before the horizon late; where the prober was
   impaired between the scheduled instant and the threshold, late would be a guess and the probe is unknown,
   as it is where the machine slept meanwhile, which makes every duration look short (tracker/impairment.py);
2. a probe known to be on the source is lost once a newer one of its partition is on the target, or the
   mirror's own position has passed it, and the target was read to its end after that;
3. at the horizon: unknown where the prober was impaired before the threshold, or shortly before the horizon,
   and where the source was not seen, which would have shown it; lost where a changed or misrouted copy is all
   that came; produce_unknown where it was never known to be on the source; else overdue, which later becomes
   recovered, confirmed or closed.

Order within a partition is the order of the source's log, whoever wrote into it. A record is counted once by
its offset: a reader that starts over counts nothing twice. Beyond the memory of tracker/ranges.py a copy
counts as duplicated. What processes that died have left is taken over by the rules of
tracker/inheritance.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from canary.tracker import inheritance, source_side, target_side
from canary.tracker.books import Books, Outcome
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
from canary.tracker.partition import PartitionState, Standing, standing
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
        """Begin with empty books; `carried` are the (topic id, partition) once seen downstream.

        A stamp that names another topic than `source_topic` is misrouted; None takes any.
        """
        self._tracking = Tracking(policy, carried, source_topic)

    @property
    def books(self) -> Books:
        """Return the flow's counters; they are the tracker's own, to be read only."""
        return self._tracking.ledger.books

    @property
    def impaired(self) -> str | None:
        """Return why the prober cannot judge at present, if it cannot."""
        return self._tracking.impairments.sentence

    def partitions(self) -> list[PartitionState]:
        """Return each partition of the present topic as it is kept, to be read only."""
        states = self._tracking.by_partition
        return [states[number] for number in sorted(states)]

    def standings(self) -> list[Standing]:
        """Return how each partition of the present topic stands."""
        return [standing(state) for state in self.partitions()]

    def handle(self, event: Event) -> list[TrackerOutput]:  # noqa: C901, PLR0912 - one case for each event
        """Take in one event and return what follows from it."""
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
                target_side.begin_again(tracking)
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
        """Let the thresholds and horizons pass that lie before now."""
        self._tracking.pass_deadlines(now_ns)
        return self._tracking.ledger.flush()

    def snapshot(self, now_minute: int) -> Snapshot:
        """Return what has changed since the last time and is to be kept; minutes are those of the epoch."""
        return inheritance.snapshot(self._tracking, now_minute)

    def unfinished(self) -> dict[str, tuple[Coverage, ...]]:
        """Return by incarnation what is covered of those that were taken over and are not finished."""
        return inheritance.unfinished(self._tracking)

    def _replace(self, event: TopicReplaced) -> None:
        tracking, ledger = self._tracking, self._tracking.ledger
        tracking.gone.pop(event.new_topic_id, None)
        for state in tracking.let_go(event.old_topic_id, event.new_topic_id):
            for run in state.runs():
                for probe in [probe for probe in run.in_flight.values() if not probe.warm]:
                    ledger.conclude(
                        state, run, probe, Outcome.UNKNOWN, event.at_ns, "its topic was re-created"
                    )
                run.in_flight.clear()
                sentence = "overdue when its topic was re-created"
                inheritance.close_overdue(tracking, state, run, event.at_ns, sentence)
            inheritance.bid_farewell(tracking, state)

    def _drop(self) -> None:
        self._abandon("the flow was removed before the canary read the probe on the source")
        ledger = self._tracking.ledger
        for state in self._tracking.states.values():
            for run in state.runs():
                sentence = "overdue when its flow was removed"
                inheritance.close_overdue(self._tracking, state, run, self._tracking.now_ns, sentence)
                for probe in [probe for probe in run.in_flight.values() if not probe.warm]:
                    sentence = "its flow was removed before it arrived"
                    ledger.conclude(state, run, probe, Outcome.UNKNOWN, self._tracking.now_ns, sentence)

    def _abandon(self, sentence: str) -> None:
        ledger = self._tracking.ledger
        for state in self._tracking.states.values():
            run = state.own
            for probe in [probe for probe in run.unlocated.values() if not probe.warm]:
                ledger.conclude(state, run, probe, Outcome.ABANDONED, self._tracking.now_ns, sentence)
