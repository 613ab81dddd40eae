"""The tracker's rules for what is read at the target: arrivals, copies in every shape, how far was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from canary.books import Mark, Outcome
from canary.events import MirrorPassed, SeenAtTarget, Stage
from canary.proof import lose_proved
from canary.stamp import Corrupted, Identity, Intact, Stamp, Stranger

if TYPE_CHECKING:
    from canary.partition import PartitionState, Probe
    from canary.tracking import Tracking


def see(tracking: Tracking, event: SeenAtTarget) -> None:
    """Take in one record of the canary's topic on the target.

    Its end offset serves the sightings before it; it is read only after it was taken in, or a probe could
    be called absent by the very record that brings it.
    """
    tracking.now_ns = max(tracking.now_ns, event.at_ns)
    state = tracking.by_partition.get(event.partition)
    if state is not None:
        state.read.end_known(event.end_offset)
    again = event.offset < tracking.read_before.get(event.partition, 0)
    if not again:
        tracking.read_before[event.partition] = event.offset + 1
    match event.reading:
        case Intact(stamp):
            _take_stamp(tracking, stamp, event, again=again)
        case Corrupted():
            _take_corrupted(tracking, event.reading, event, again=again)
        case Stranger():
            pass
        case _:
            assert_never(event.reading)
    if state is not None and state.read.read_to(event.offset + 1):
        lose_proved(state, tracking.now_ns, tracking.ledger)


def read_to(tracking: Tracking, partition: int, position: int, end_offset: int) -> None:
    """Note how far the target's partition was read, and conclude what that proves."""
    state = tracking.by_partition.get(partition)
    if state is None:
        return
    state.read.end_known(end_offset)
    if state.read.read_to(position):
        lose_proved(state, tracking.now_ns, tracking.ledger)


def pass_mirror(tracking: Tracking, event: MirrorPassed) -> None:
    """Note the mirror's own position, and conclude what that proves."""
    state = tracking.states.get((event.topic_id, event.partition))
    if state is not None and state.read.passed(event.source_offset, event.target_end_offset):
        lose_proved(state, tracking.now_ns, tracking.ledger)


def begin_again(tracking: Tracking) -> None:
    """Forget every offset of the target: its topic was made anew."""
    tracking.read_before.clear()
    for state in tracking.states.values():
        state.read.begin_again()


def _take_stamp(tracking: Tracking, stamp: Stamp, event: SeenAtTarget, *, again: bool) -> None:
    """Take in an intact copy; `again` says that its offset was read before."""
    ledger = tracking.ledger
    identity = Identity(stamp.topic_id, stamp.incarnation, stamp.partition, stamp.sequence)
    if stamp.installation != tracking.policy.installation:
        if not again:
            sentence = f"a probe of another installation ({stamp.installation[:40]})"
            ledger.mark_record(Mark.FOREIGN, event, identity, sentence)
        return
    elsewhere = None
    if tracking.source_topic not in (None, stamp.topic):
        elsewhere = f"it was sent to the topic {stamp.topic[:249]}"
    elif event.partition != stamp.partition:
        elsewhere = f"it stands in partition {event.partition}"
    if elsewhere is not None:
        if not again:
            ledger.mark_record(Mark.MISROUTED, event, identity, elsewhere)
        _take_impaired(tracking, identity, event, "misrouted")
        return
    state = tracking.states.get((stamp.topic_id, stamp.partition))
    if state is None:
        return
    tracking.carry(state)
    if stamp.incarnation == tracking.policy.incarnation:
        _take_ours(tracking, state, identity, event, again=again)


def _take_ours(
    tracking: Tracking, state: PartitionState, identity: Identity, event: SeenAtTarget, *, again: bool
) -> None:
    """Take in an intact copy of a probe of this incarnation, in its own partition."""
    ledger, sequence = tracking.ledger, identity.sequence
    if sequence >= state.next_sequence:
        if not again:
            ledger.mark_record(Mark.FOREIGN, event, identity, "this incarnation never sent it")
        return
    state.read.sighted(sequence)
    probe = state.in_flight.get(sequence)
    if probe is not None and event.at_ns - probe.scheduled_ns > tracking.policy.horizon_ns:
        tracking.pass_horizon(state, probe, event.at_ns)
        probe = None
    if probe is not None:
        _arrive(tracking, state, probe, event)
    elif not _arrive_after_end(tracking, state, sequence, event):
        if not again:
            ledger.mark_record(Mark.DUPLICATED, event, identity, "a copy of it had arrived before")
        return
    if sequence < state.newest_arrived:
        ledger.mark_record(Mark.REORDERED, event, identity, f"probe {state.newest_arrived} arrived before it")
    state.newest_arrived = max(state.newest_arrived, sequence)


def _arrive(tracking: Tracking, state: PartitionState, probe: Probe, event: SeenAtTarget) -> None:
    ledger, at_ns = tracking.ledger, event.at_ns
    latency_ns = at_ns - probe.scheduled_ns
    probe.arrived_ns = at_ns
    state.present(probe.scheduled_ns, at_ns, threshold_ns=tracking.policy.threshold_ns)
    if probe.warm:
        del state.in_flight[probe.sequence]
        return
    good = latency_ns <= tracking.policy.threshold_ns
    if not good and tracking.impaired_since(probe.scheduled_ns):
        outcome = Outcome.UNKNOWN
        sentence = "it arrived, but the prober was impaired: when it did is not known"
    else:
        outcome = Outcome.GOOD if good else Outcome.LATE
        sentence = f"it arrived after {latency_ns / 1e9:.3f} s"
        ledger.settle(probe)
        ledger.time(Stage.END_TO_END, latency_ns, at_ns)
        if probe.on_source:
            ledger.time_replication(probe, at_ns)
        if probe.acked_ns is None:
            state.arrived[probe.sequence] = probe
            tracking.await_horizon(state, probe)
    ledger.conclude(state, probe, outcome, at_ns, sentence, target_offset=event.offset, arrived=True)


def _arrive_after_end(tracking: Tracking, state: PartitionState, sequence: int, event: SeenAtTarget) -> bool:
    """Take in the first copy of a probe that had ended without one; false if it had been seen before."""
    taken = state.overdue.take(sequence, sequence) or state.absent.take(sequence, sequence)
    if not taken:
        return False
    held, at_ns = taken[0], event.at_ns
    state.present(held.first_ns, at_ns, threshold_ns=tracking.policy.threshold_ns)
    if held.outcome in (Outcome.UNKNOWN, Outcome.WARMUP):
        return True
    if held.outstanding:
        mark, sentence = Mark.RECOVERED, "it arrived after its horizon"
        if not tracking.impaired_since(held.first_ns):
            tracking.ledger.time(Stage.END_TO_END, at_ns - held.first_ns, at_ns)
    else:
        said = "confirmed as lost" if held.proved else held.outcome.value
        mark, sentence = Mark.RETURNED, f"it arrived after it had been called {said}: that was wrong"
    tracking.ledger.mark(mark, state, held, at_ns=at_ns, sentence=sentence, target_offset=event.offset)
    return True


def _take_corrupted(tracking: Tracking, copy: Corrupted, event: SeenAtTarget, *, again: bool) -> None:
    if copy.installation not in ("", tracking.policy.installation):
        if not again:
            sentence = f"a changed probe of another installation ({copy.installation[:40]})"
            tracking.ledger.mark_record(Mark.FOREIGN, event, copy.identity, sentence)
        return
    if copy.identity is not None and copy.identity.incarnation != tracking.policy.incarnation:
        return  # of another run, whose books have it
    if not again:
        tracking.ledger.mark_record(Mark.CORRUPTED, event, copy.identity, copy.sentence)
    if copy.identity is not None:
        _take_impaired(tracking, copy.identity, event, "corrupted")


def _take_impaired(tracking: Tracking, identity: Identity, event: SeenAtTarget, how: str) -> None:
    """Take in a copy that delivers nothing; in its own partition it shows how far the mirror got."""
    state = tracking.states.get((identity.topic_id, identity.partition))
    if state is None or identity.incarnation != tracking.policy.incarnation:
        return
    if identity.sequence >= state.next_sequence:
        return
    tracking.carry(state)
    if event.partition == identity.partition:
        state.read.sighted(identity.sequence)
    probe = state.in_flight.get(identity.sequence)
    if probe is not None:
        probe.copy_seen = how
