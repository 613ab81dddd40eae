"""The tracker's rules for what happens at the source: due, sent, acknowledged, refused, seen in its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.books import Outcome
from canary.events import Acked, Refused, Scheduled, SeenAtSource, Sent, Skipped, Stage
from canary.ledger import absent
from canary.partition import PartitionState, Probe
from canary.proof import lose_if_proved
from canary.stamp import Intact

if TYPE_CHECKING:
    from canary.tracking import Tracking


def schedule(tracking: Tracking, event: Scheduled) -> None:
    """Begin a probe; for a topic that went away meanwhile it ends here."""
    state = tracking.state_of(event.topic_id, event.partition, event.at_ns)
    if state is None:
        tracking.ledger.conclude_gone(event.topic_id, event.partition, event.sequence, event.at_ns)
        return
    if event.sequence < state.next_sequence:
        raise ValueError(f"probe {event.sequence} of partition {event.partition} was scheduled before")
    state.next_sequence = event.sequence + 1
    state.in_flight[event.sequence] = Probe(event.sequence, event.at_ns)
    tracking.ledger.books.expected += 1
    tracking.ledger.books.in_flight += 1


def send(tracking: Tracking, event: Sent) -> None:
    """Note that a probe was handed to the producer; whether it is warm-up is fixed here."""
    found = _waiting(tracking, event)
    if found is None:
        return
    state, probe = found
    probe.sent_ns = event.at_ns
    tracking.await_threshold(state, probe)
    if not state.carried and event.at_ns < state.warmup_until_ns:
        tracking.ledger.warm_up(probe)
    else:
        tracking.ledger.time(Stage.QUEUEING, event.at_ns - probe.scheduled_ns, event.at_ns)


def skip(tracking: Tracking, event: Skipped) -> None:
    """End a probe that was not sent."""
    found = _waiting(tracking, event)
    if found is None:
        return
    state, probe = found
    tracking.ledger.conclude(state, probe, Outcome.SKIPPED, probe.scheduled_ns, "it was not sent")


def acknowledge(tracking: Tracking, event: Acked) -> None:
    """Note the offset that the source gave a probe."""
    state, probe = _open(tracking, event)
    if state is None or probe is None or probe.acked_ns is not None:
        return
    probe.acked_ns = event.at_ns
    if probe.sent_ns is not None and not probe.warm:
        tracking.ledger.time(Stage.ACK, event.at_ns - probe.sent_ns, event.at_ns)
    state.arrived.pop(probe.sequence, None)
    _locate(tracking, state, probe, event.offset, event.at_ns)


def refuse(tracking: Tracking, event: Refused) -> None:
    """End a probe that the source refused, unless it was seen all the same."""
    state, probe = _open(tracking, event)
    if state is None or probe is None or probe.on_source or probe.arrived_ns is not None:
        return
    if probe.warm:
        del state.in_flight[event.sequence]
        state.absent.add(absent(probe, Outcome.WARMUP))
        return
    sentence = f"the source refused it: {event.sentence}"
    tracking.ledger.conclude(state, probe, Outcome.PRODUCE_FAILED, tracking.now_ns, sentence)


def see(tracking: Tracking, event: SeenAtSource) -> None:
    """Note a probe of this incarnation in the source's log; further on a second time, it went round a loop.

    At an offset that was read before it is the same record again: a reader that started over.
    """
    if not isinstance(event.reading, Intact):
        return
    stamp = event.reading.stamp
    state = tracking.states.get((stamp.topic_id, stamp.partition))
    if state is None or stamp.incarnation != tracking.policy.incarnation:
        return
    if event.partition != stamp.partition or stamp.sequence >= state.next_sequence:
        return
    again = event.offset <= state.source_read_to
    state.source_read_to = max(state.source_read_to, event.offset)
    probe = state.in_flight.get(stamp.sequence) or state.arrived.get(stamp.sequence)
    if probe is not None and probe.seen_ns is None and probe.offset in (None, event.offset):
        probe.seen_ns = event.at_ns
        _locate(tracking, state, probe, event.offset, event.at_ns)
    elif not again and (probe is not None or stamp.sequence <= state.newest_source_seen):
        tracking.ledger.mark_loop(state, stamp.sequence, event.at_ns, event.offset)
    state.newest_source_seen = max(state.newest_source_seen, stamp.sequence)


def _locate(tracking: Tracking, state: PartitionState, probe: Probe, offset: int, at_ns: int) -> None:
    """Draw what follows from knowing for the first time that a probe is on the source."""
    if probe.offset is not None:
        return
    probe.offset = offset
    if probe.sequence > state.newest_located:
        state.newest_located, state.newest_located_offset = probe.sequence, offset
    elif offset > state.newest_located_offset:
        # An earlier producer's request came through after a later producer's: the order of the log counts.
        probe.behind = state.newest_located
    if probe.arrived_ns is not None:
        tracking.ledger.time_replication(probe, at_ns)
        return
    tracking.settle_if_due(probe)
    lose_if_proved(state, probe, at_ns, tracking.ledger)


def _waiting(tracking: Tracking, event: Sent | Skipped) -> tuple[PartitionState, Probe] | None:
    """Find the probe that waits to be sent; None where its topic went away, which has ended it."""
    if event.topic_id in tracking.gone:
        return None
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
    return state, state.in_flight.get(event.sequence) or state.arrived.get(event.sequence)
