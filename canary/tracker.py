"""The tracker of one flow: events in, outcomes out. No clock, no I/O.

Invariants: the books close after every event (books.py); a probe has exactly one outcome; nothing is
taken back. Rules in the order in which they are tried:

1. an intact copy within the threshold is good, later and before the horizon late; where the prober was
   impaired since the probe was due, late would be a guess and the probe is unknown;
2. a probe known to be on the source is lost once a newer one of its partition is on the target, or the
   mirror's own position has passed it, and the target was read to its end after that;
3. at the horizon: unknown where the prober was impaired; lost where a changed or misrouted copy is all that
   came; produce_unknown where it was never known to be on the source; else overdue, which later becomes
   recovered, confirmed or closed.

Order within a partition is the order of sequence numbers: the idempotent producer keeps it in the log, and
where a change of producers did not, the source offsets say so. A record is counted once by its offset: a
reader that starts over counts nothing twice. Beyond the memory of ranges.py a copy counts as duplicated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from canary import source_side, target_side
from canary.books import Books, Mark, Outcome
from canary.events import (
    Acked,
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
    Stopping,
    TargetRead,
    TargetReplaced,
    TopicReplaced,
    TrackerOutput,
)
from canary.partition import Standing, standing
from canary.tracking import TrackerPolicy, Tracking

if TYPE_CHECKING:
    from collections.abc import Iterable


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
        return self._tracking.impaired

    def standings(self) -> list[Standing]:
        """Return how each partition of the present topic stands."""
        states = self._tracking.by_partition
        return [standing(states[number]) for number in sorted(states)]

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
            case Skipped():
                source_side.skip(tracking, event)
            case Refused():
                source_side.refuse(tracking, event)
            case MirrorPassed():
                target_side.pass_mirror(tracking, event)
            case Impaired():
                tracking.impaired = event.sentence
            case Restored():
                tracking.impaired, tracking.restored_ns = None, event.at_ns
            case TopicReplaced():
                self._replace(event)
            case TargetReplaced():
                target_side.begin_again(tracking)
            case Stopping():
                self._abandon()
            case _:
                assert_never(event)
        return tracking.ledger.flush()

    def advance(self, now_ns: int) -> list[TrackerOutput]:
        """Let the thresholds and horizons pass that lie before now."""
        self._tracking.pass_deadlines(now_ns)
        return self._tracking.ledger.flush()

    def _replace(self, event: TopicReplaced) -> None:
        tracking, ledger = self._tracking, self._tracking.ledger
        for state in tracking.let_go(event.old_topic_id):
            for probe in [probe for probe in state.in_flight.values() if not probe.warm]:
                ledger.conclude(state, probe, Outcome.UNKNOWN, event.at_ns, "its topic was re-created")
            state.in_flight.clear()
            for held in state.overdue:
                sentence = "it was overdue when its topic was re-created"
                ledger.mark(Mark.CLOSED, state, held, at_ns=event.at_ns, sentence=sentence)

    def _abandon(self) -> None:
        ledger = self._tracking.ledger
        for state in self._tracking.states.values():
            unseen = [probe for probe in state.in_flight.values() if not probe.warm and not probe.on_source]
            for probe in unseen:
                sentence = "the service stopped before the source showed it"
                ledger.conclude(state, probe, Outcome.ABANDONED, self._tracking.now_ns, sentence)
