"""The tracker's rules for what happens at the source: due, sent, acknowledged, refused, seen in its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.books import Outcome
from canary.events import Acked, Refused, Scheduled, SeenAtSource, Sent, Skipped, Stage
from canary.partition import PartitionState, Probe
from canary.proof import lose_if_proved
from canary.ranges import Absent
from canary.stamp import Intact

if TYPE_CHECKING:
    from canary.tracking import Tracking


def schedule(tracking: Tracking, event: Scheduled) -> None:
    """Begin a probe."""
    state = tracking.state_of(event.topic_id, event.partition, event.at_ns)
    if event.sequence < state.next_sequence:
        raise ValueError(f"probe {event.sequence} of partition {event.partition} was scheduled before")
    state.next_sequence = event.sequence + 1
    probe = state.in_flight[event.sequence] = Probe(event.sequence, event.at_ns)
    tracking.await_threshold(state, probe)
    tracking.ledger.books.expected += 1
    tracking.ledger.books.in_flight += 1


def send(tracking: Tracking, event: Sent) -> None:
    """Note that a probe was handed to the producer; whether it is warm-up is fixed here."""
    state, probe = _waiting(tracking, event)
    probe.sent_ns = event.at_ns
    if not state.carried and event.at_ns < state.warmup_until_ns:
        tracking.ledger.warm_up(probe)
    else:
        tracking.ledger.time(Stage.QUEUEING, event.at_ns - probe.scheduled_ns, event.at_ns)


def skip(tracking: Tracking, event: Skipped) -> None:
    """End a probe that was not sent."""
    state, probe = _waiting(tracking, event)
    tracking.ledger.conclude(state, probe, Outcome.SKIPPED, probe.scheduled_ns, "it was not sent")


def acknowledge(tracking: Tracking, event: Acked) -> None:
    """Note the offset that the source gave a probe."""
    state, probe = _open(tracking, event)
    if state is None or probe is None or probe.acked_ns is not None:
        return
    probe.acked_ns = event.at_ns
    if probe.sent_ns is not None and not probe.warm:
        tracking.ledger.time(Stage.ACK, event.at_ns - probe.sent_ns, event.at_ns)
    _locate(tracking, state, probe, event.offset, event.at_ns)


def refuse(tracking: Tracking, event: Refused) -> None:
    """End a probe that the source refused, unless it was seen all the same."""
    state, probe = _open(tracking, event)
    if state is None or probe is None or probe.on_source or probe.arrived_ns is not None:
        return
    if probe.warm:
        del state.in_flight[event.sequence]
        state.absent.add(Absent(event.sequence, event.sequence, Outcome.WARMUP))
        return
    sentence = f"the source refused it: {event.sentence}"
    tracking.ledger.conclude(state, probe, Outcome.PRODUCE_FAILED, probe.scheduled_ns, sentence)


def see(tracking: Tracking, event: SeenAtSource) -> None:
    """Note a probe of this incarnation in the source's log; a second time, it went round a loop."""
    if not isinstance(event.reading, Intact):
        return
    stamp = event.reading.stamp
    state = tracking.states.get((stamp.topic_id, stamp.partition))
    if state is None or stamp.incarnation != tracking.policy.incarnation:
        return
    if event.partition != stamp.partition or stamp.sequence >= state.next_sequence:
        return
    if stamp.sequence <= state.newest_source_seen:
        tracking.ledger.mark_loop(state, stamp.sequence, event.at_ns, event.offset)
        return
    state.newest_source_seen = stamp.sequence
    probe = state.in_flight.get(stamp.sequence) or state.unlocated.get(stamp.sequence)
    if probe is not None:
        probe.seen_ns = event.at_ns
        _locate(tracking, state, probe, event.offset, event.at_ns)


def _locate(tracking: Tracking, state: PartitionState, probe: Probe, offset: int, at_ns: int) -> None:
    """Draw what follows from knowing for the first time that a probe is on the source."""
    if probe.offset is not None:
        return
    probe.offset = offset
    if state.unlocated.pop(probe.sequence, None) is not None:
        tracking.ledger.time_replication(probe, at_ns)
        return
    tracking.settle_if_due(probe)
    lose_if_proved(state, probe, at_ns, tracking.ledger)


def _waiting(tracking: Tracking, event: Sent | Skipped) -> tuple[PartitionState, Probe]:
    state = tracking.states.get((event.topic_id, event.partition))
    probe = state.in_flight.get(event.sequence) if state else None
    if state is None or probe is None or probe.sent_ns is not None:
        raise ValueError(f"probe {event.sequence} of partition {event.partition} does not wait to be sent")
    return state, probe


def _open(tracking: Tracking, event: Acked | Refused) -> tuple[PartitionState | None, Probe | None]:
    """Find the probe of a report that may come after its outcome, or after its topic went away."""
    state = tracking.states.get((event.topic_id, event.partition))
    if state is None:
        return None, None
    return state, state.in_flight.get(event.sequence) or state.unlocated.get(event.sequence)
