"""The tracker's rules for what is read at the target: arrivals, copies in every shape, how far was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from canary.books import Mark, Outcome
from canary.events import MirrorPassed, SeenAtTarget, Stage
from canary.proof import lose_proved
from canary.stamp import Corrupted, Identity, Intact, Stranger

if TYPE_CHECKING:
    from canary.partition import PartitionState, Probe
    from canary.tracking import Tracking


def see(tracking: Tracking, event: SeenAtTarget) -> None:
    """Take in one record of the canary's topic on the target."""
    read_to(tracking, event.partition, event.offset + 1, event.end_offset)
    match event.reading:
        case Intact(stamp):
            identity = Identity(stamp.incarnation, stamp.partition, stamp.sequence)
            if stamp.installation != tracking.policy.installation:
                sentence = f"a probe of another installation ({stamp.installation[:40]})"
                tracking.ledger.mark_record(Mark.FOREIGN, stamp.topic_id, event, identity, sentence)
                return
            state = tracking.states.get((stamp.topic_id, stamp.partition))
            if state is not None:
                _take_intact(tracking, state, identity, event)
        case Corrupted(found, sentence):
            if found is not None and found.incarnation != tracking.policy.incarnation:
                return  # of another run or installation, which has judged it or will
            present = tracking.by_partition.get(event.partition)
            topic_id = present.topic_id if present else ""
            tracking.ledger.mark_record(Mark.CORRUPTED, topic_id, event, found, sentence)
            if found is not None:
                _take_impaired(tracking, found, "corrupted")
        case Stranger():
            pass
        case _:
            assert_never(event.reading)


def read_to(tracking: Tracking, partition: int, position: int, end_offset: int) -> None:
    """Note how far the target's partition was read, and conclude what that proves."""
    state = tracking.by_partition.get(partition)
    if state is None:
        return
    before = (state.read.proved, state.read.passed_offset)
    state.read.read_to(position, end_offset)
    if (state.read.proved, state.read.passed_offset) != before:
        lose_proved(state, tracking.ledger)


def pass_mirror(tracking: Tracking, event: MirrorPassed) -> None:
    """Note the mirror's own position, and conclude what that proves."""
    state = tracking.states.get((event.topic_id, event.partition))
    if state is None:
        return
    before = state.read.passed_offset
    state.read.passed(event.source_offset, event.target_end_offset)
    if state.read.passed_offset != before:
        lose_proved(state, tracking.ledger)


def _take_intact(tracking: Tracking, state: PartitionState, identity: Identity, event: SeenAtTarget) -> None:
    """Take in an intact copy of a probe of our installation and of the present topic."""
    ledger, sequence = tracking.ledger, identity.sequence
    if event.partition != identity.partition:
        sentence = f"it stands in partition {event.partition}"
        ledger.mark_record(Mark.MISROUTED, state.topic_id, event, identity, sentence)
        _take_impaired(tracking, identity, "misrouted")
        return
    tracking.carry(state)
    if identity.incarnation != tracking.policy.incarnation:
        return
    if sequence >= state.next_sequence:
        ledger.mark_record(Mark.FOREIGN, state.topic_id, event, identity, "this incarnation never sent it")
        return
    state.read.sighted(sequence)
    probe = state.in_flight.get(sequence)
    if probe is not None and event.at_ns - probe.scheduled_ns > tracking.policy.horizon_ns:
        tracking.pass_horizon(state, probe, event.at_ns)
        probe = None
    if probe is not None:
        _arrive(tracking, state, probe, event)
    elif not _arrive_after_end(tracking, state, sequence, event):
        sentence = "a copy of it had arrived before"
        ledger.mark_record(Mark.DUPLICATED, state.topic_id, event, identity, sentence)
        return
    state.last_arrival_ns = event.at_ns
    if sequence < state.newest_arrived:
        sentence = f"probe {state.newest_arrived} arrived before it"
        ledger.mark_record(Mark.REORDERED, state.topic_id, event, identity, sentence)
    state.newest_arrived = max(state.newest_arrived, sequence)


def _arrive(tracking: Tracking, state: PartitionState, probe: Probe, event: SeenAtTarget) -> None:
    ledger, at_ns = tracking.ledger, event.at_ns
    latency_ns = at_ns - probe.scheduled_ns
    probe.arrived_ns = at_ns
    state.last_latency_ns = latency_ns
    if state.newest_present_ns is None or probe.scheduled_ns > state.newest_present_ns:
        state.newest_present_ns = probe.scheduled_ns
    if probe.warm:
        del state.in_flight[probe.sequence]
        return
    good = latency_ns <= tracking.policy.threshold_ns
    if not good and tracking.impaired_since(probe):
        outcome = Outcome.UNKNOWN
        sentence = "it arrived, but the prober was impaired: when it did is not known"
    else:
        outcome = Outcome.GOOD if good else Outcome.LATE
        sentence = f"it arrived after {latency_ns / 1e9:.3f} s"
        ledger.settle(probe)
        ledger.time(Stage.END_TO_END, latency_ns, at_ns)
        if probe.on_source:
            ledger.time_replication(probe, at_ns)
        else:
            state.unlocated[probe.sequence] = probe
            tracking.await_horizon(state, probe)
    ledger.conclude(state, probe, outcome, at_ns, sentence, target_offset=event.offset, arrived=True)


def _arrive_after_end(tracking: Tracking, state: PartitionState, sequence: int, event: SeenAtTarget) -> bool:
    """Take in the first copy of a probe that had ended without one; false if it had been seen before."""
    taken = state.absent.take(sequence, sequence)
    if not taken:
        return False
    held = taken[0]
    state.last_latency_ns = None
    if held.outstanding:
        mark, sentence = Mark.RECOVERED, "it arrived after its horizon"
    elif held.outcome in (Outcome.UNKNOWN, Outcome.WARMUP):
        return True
    else:
        said = "confirmed as lost" if held.proved else held.outcome.value
        mark, sentence = Mark.RETURNED, f"it arrived after it had been called {said}: that was wrong"
    tracking.ledger.mark(mark, state, held, at_ns=event.at_ns, sentence=sentence, target_offset=event.offset)
    return True


def _take_impaired(tracking: Tracking, identity: Identity, how: str) -> None:
    """Take in a copy that shows how far the mirror got, but delivers nothing."""
    state = tracking.by_partition.get(identity.partition)
    if state is None or identity.incarnation != tracking.policy.incarnation:
        return
    if identity.sequence >= state.next_sequence:
        return
    tracking.carry(state)
    state.read.sighted(identity.sequence)
    probe = state.in_flight.get(identity.sequence)
    if probe is not None:
        probe.copy_seen = how
