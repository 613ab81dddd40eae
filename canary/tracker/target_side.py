"""Rules for records read on the target: arrivals, changed records, how far was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from canary.tracker.counters import Flag, Outcome
from canary.tracker.events import MirrorPassed, SeenAtTarget, Stage, TwoWriters
from canary.tracker.proof import lose_proved
from canary.tracker.stamp import Compared, Corrupted, ForeignRecord, Identity, Intact, Stamp

if TYPE_CHECKING:
    from canary.tracker.partition import PartitionState, Probe, Run
    from canary.tracker.tracking import Tracking


# Outcomes that a later arrival contradicts.
GIVEN_UP = (Outcome.LOST, Outcome.OVERDUE)


def see(tracking: Tracking, event: SeenAtTarget) -> None:
    """Process one record of the canary's topic on the target.

    Its end offset serves the records before it. The record counts as read only after it was processed;
    otherwise a probe could be called absent by its own record. A record that is being compared with its
    original comes a second time with its final reading, and is not read until then.
    """
    tracking.now_ns = max(tracking.now_ns, event.at_ns)
    if isinstance(event.reading, Compared):
        tracking.compared[event.partition, event.offset] = event.at_ns
        return
    if tracking.compared:
        tracking.compared.pop((event.partition, event.offset), None)
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
        case ForeignRecord():
            pass
        case _:
            assert_never(event.reading)
    if state is not None and state.read.read_to(event.offset + 1):
        lose_proved(state, tracking.now_ns, tracking.ledger)


def read_to(tracking: Tracking, partition: int, position: int, end_offset: int) -> None:
    """Note how far the target's partition was read, and conclude what that proves.

    A record that is being compared with its original is not read yet, nor are those after it.
    """
    state = tracking.by_partition.get(partition)
    if state is None:
        return
    state.read.end_known(end_offset)
    if tracking.compared:
        held = (offset for where, offset in tracking.compared if where == partition)
        position = min([position, *held])
    if state.read.read_to(position):
        lose_proved(state, tracking.now_ns, tracking.ledger)


def pass_mirror(tracking: Tracking, event: MirrorPassed) -> None:
    """Note the mirror's commit, and conclude what it proves."""
    state = tracking.states.get((event.topic_id, event.partition))
    if state is not None and state.read.passed(event.source_offset, event.target_end_offset):
        lose_proved(state, tracking.now_ns, tracking.ledger)


def forget_target_offsets(tracking: Tracking) -> None:
    """Forget every offset of the target: its topic was re-created."""
    tracking.read_before.clear()
    for adoption in tracking.adoptions.values():
        adoption.forget_target_offsets()
    for state in tracking.states.values():
        state.read.forget_target_offsets()
        for run in state.adopted.values():
            run.target_from = 0
            run.changed = True


def _take_stamp(tracking: Tracking, stamp: Stamp, event: SeenAtTarget, *, again: bool) -> None:
    """Process an intact record; `again`: its offset was read before."""
    ledger = tracking.ledger
    identity = Identity(stamp.topic_id, stamp.incarnation, stamp.partition, stamp.sequence)
    if stamp.installation != tracking.policy.installation:
        if not again:
            sentence = f"a probe of another installation ({stamp.installation[:40]})"
            ledger.flag_record(Flag.FOREIGN, event, identity, sentence)
        return
    ours = tracking.is_ours(stamp.incarnation)
    elsewhere = _elsewhere(tracking, stamp, event)
    if elsewhere:
        if ours and not again:
            ledger.flag_record(Flag.MISROUTED, event, identity, elsewhere)
        _take_impaired(tracking, identity, event, "misrouted")
        return
    state = tracking.states.get((stamp.topic_id, stamp.partition))
    if state is not None:
        tracking.carry(state)
    if stamp.incarnation in tracking.adoptions:
        _take_adopted(tracking, state, stamp, event, again=again)
    elif state is None:
        return
    elif ours:
        _take_own(tracking, state, identity, event, again=again)
    elif (anchors := state.others.get(stamp.incarnation)) is not None:
        _note_offset_on_target(state, anchors.at_least(stamp.sequence))


def _elsewhere(tracking: Tracking, stamp: Stamp, event: SeenAtTarget) -> str:
    """Return where a misrouted stamp belongs or was found, or an empty text."""
    if tracking.source_topic not in (None, stamp.topic):
        return f"sent to the topic {stamp.topic[:249]}"
    if event.partition != stamp.partition:
        return f"found in partition {event.partition}"
    return ""


def _take_adopted(
    tracking: Tracking, state: PartitionState | None, stamp: Stamp, event: SeenAtTarget, *, again: bool
) -> None:
    """Process an intact record of a run that was taken over."""
    run = state.adopted.get(stamp.incarnation) if state is not None else None
    if state is None or run is None or not run.knows(stamp.sequence):
        tracking.adoptions[stamp.incarnation].note_early(stamp, event.offset)
        return
    identity = Identity(stamp.topic_id, stamp.incarnation, stamp.partition, stamp.sequence)
    _take_ours(tracking, state, run, identity, event, again=again)


def _take_own(
    tracking: Tracking, state: PartitionState, identity: Identity, event: SeenAtTarget, *, again: bool
) -> None:
    run = state.own
    if run.first_sequence <= identity.sequence < run.next_sequence:
        _take_ours(tracking, state, run, identity, event, again=again)
    elif not again and identity.sequence >= run.next_sequence:
        tracking.ledger.flag_record(Flag.FOREIGN, event, identity, "this incarnation never sent it")


def _take_ours(
    tracking: Tracking,
    state: PartitionState,
    run: Run,
    identity: Identity,
    event: SeenAtTarget,
    *,
    again: bool,
) -> None:
    """Process an intact record of a probe that this process judges, in its own partition."""
    ledger, sequence = tracking.ledger, identity.sequence
    probe = run.in_flight.get(sequence)
    if probe is not None and event.at_ns - probe.scheduled_ns > tracking.policy.horizon_ns:
        tracking.pass_horizon(state, run, probe, event.at_ns)
        probe = None
    if probe is not None:
        _note_on_target(state, probe)
        _arrive(tracking, state, run, probe, event)
        if probe.sent_ns is not None:
            state.chain.arrive(sequence, probe.sent_ns, event.at_ns)
    elif not _arrive_after_end(tracking, state, run, sequence, event):
        if not again:
            ledger.flag_record(Flag.DUPLICATED, event, identity, "arrived before")
            if not run.adopted and (probes := state.chain.repeat(sequence, event.at_ns)):
                ledger.emit(TwoWriters(event.partition, event.at_ns, event.offset, probes))
        return
    if sequence < run.newest_arrived:
        ledger.flag_record(Flag.REORDERED, event, identity, f"arrived after probe {run.newest_arrived}")
    run.newest_arrived = max(run.newest_arrived, sequence)


def _note_on_target(state: PartitionState, probe: Probe) -> None:
    """Note that a record of this probe, in any shape, is in its own partition."""
    probe.on_target = True
    # Until the source is read that far, an earlier record of it may precede the acknowledged one.
    if probe.stale:
        return
    known = probe.offset is not None and probe.offset <= state.source_read_to
    _note_offset_on_target(state, probe.offset if known else probe.after_offset + 1)


def _note_offset_on_target(state: PartitionState, offset: int | None) -> None:
    """Note that a record of this source offset, or a later one, is on the target."""
    if offset is not None:
        state.read.note_on_target(offset)


def _arrive(tracking: Tracking, state: PartitionState, run: Run, probe: Probe, event: SeenAtTarget) -> None:
    ledger, at_ns = tracking.ledger, event.at_ns
    latency_ns = at_ns - probe.scheduled_ns
    probe.arrived_ns = at_ns
    if run.adopted:
        state.last_arrival_ns = at_ns
        sentence = "arrived, but Mirrorwatch restarted while it was in flight, so it has no arrival time"
        ledger.conclude(
            state, run, probe, Outcome.UNKNOWN, at_ns, sentence, target_offset=event.offset, arrived=True
        )
        return
    _present(tracking, state, probe.scheduled_ns, at_ns)
    if probe.warm:
        run.take_out(probe)
        return
    asleep = tracking.impairments.slept_between(probe.scheduled_ns, at_ns)
    good = latency_ns <= tracking.policy.threshold_ns and not asleep
    if asleep or (not good and tracking.impairments.spoil_goodness(probe.scheduled_ns)):
        outcome = Outcome.UNKNOWN
        sentence = "arrived at an unknown time: the canary could not measure"
    else:
        outcome = Outcome.GOOD if good else Outcome.LATE
        sentence = f"arrived after {latency_ns / 1e9:.3f} s"
        ledger.settle(probe)
        if good or not tracking.impairments.between(probe.scheduled_ns, at_ns):
            ledger.time(Stage.END_TO_END, latency_ns, at_ns)
            if probe.on_source:
                ledger.time_replication(probe, at_ns)
        if probe.acked_ns is None:
            run.arrived[probe.sequence] = probe
            tracking.await_horizon(state, run, probe)
    ledger.conclude(state, run, probe, outcome, at_ns, sentence, target_offset=event.offset, arrived=True)


def _present(tracking: Tracking, state: PartitionState, scheduled_ns: int, at_ns: int) -> None:
    """Note the first arrival of a probe; its latency only if it is not the prober's own."""
    late = at_ns - scheduled_ns > tracking.policy.threshold_ns
    trusted = not (late and tracking.impairments.between(scheduled_ns, at_ns))
    state.present(scheduled_ns, at_ns, threshold_ns=tracking.policy.threshold_ns, trusted=trusted)


def _arrive_after_end(
    tracking: Tracking, state: PartitionState, run: Run, sequence: int, event: SeenAtTarget
) -> bool:
    """Process the first arrival of a probe that had ended; false if it had arrived before."""
    taken = run.overdue.take(sequence, sequence) or run.absent.take(sequence, sequence)
    if not taken:
        return False
    held, at_ns = taken[0], event.at_ns
    run.changed = True
    _note_offset_on_target(state, held.offset_at_least(sequence))
    if run.adopted:
        state.last_arrival_ns = at_ns
    else:
        _present(tracking, state, held.first_ns, at_ns)
    if held.outcome not in GIVEN_UP:
        return True
    if held.outstanding:
        flag, sentence = Flag.RECOVERED, "arrived after its horizon"
        if not run.adopted and not tracking.impairments.between(held.first_ns, at_ns):
            tracking.ledger.time(Stage.END_TO_END, at_ns - held.first_ns, at_ns)
    else:
        said = "confirmed as lost" if held.proved else held.outcome.value
        flag, sentence = Flag.RETURNED, f"arrived although reported as {said}: that report was wrong"
    tracking.ledger.flag(flag, state, run, held, at_ns=at_ns, sentence=sentence, target_offset=event.offset)
    return True


def _take_corrupted(tracking: Tracking, copy: Corrupted, event: SeenAtTarget, *, again: bool) -> None:
    if copy.installation not in ("", tracking.policy.installation):
        if not again:
            sentence = f"a changed probe of another installation ({copy.installation[:40]})"
            tracking.ledger.flag_record(Flag.FOREIGN, event, copy.identity, sentence)
        return
    if copy.identity is not None and copy.identity.incarnation not in tracking.minutes:
        return  # of another run, which counts it
    if copy.identity is not None and _never_sent(tracking, copy.identity):
        if not again:
            sentence = "a changed record that names a probe which this incarnation never sent"
            tracking.ledger.flag_record(Flag.FOREIGN, event, copy.identity, sentence)
        return
    if not again:
        tracking.ledger.flag_record(Flag.CORRUPTED, event, copy.identity, copy.sentence)
    if copy.identity is not None:
        _take_impaired(tracking, copy.identity, event, "corrupted")


def _never_sent(tracking: Tracking, identity: Identity) -> bool:
    """Return whether a key, which anyone may write, names a probe that was never sent."""
    if identity.incarnation != tracking.policy.incarnation or identity.topic_id in tracking.gone:
        return False
    state = tracking.states.get((identity.topic_id, identity.partition))
    return state is None or identity.sequence >= state.own.next_sequence


def _take_impaired(tracking: Tracking, identity: Identity, event: SeenAtTarget, how: str) -> None:
    """Process a changed or misrouted record; in its own partition it shows the mirror's progress."""
    state = tracking.states.get((identity.topic_id, identity.partition))
    run = state.run_of(identity.incarnation) if state is not None else None
    if state is None or run is None:
        return
    if not run.knows(identity.sequence):
        return
    probe = run.in_flight.get(identity.sequence)
    tracking.carry(state)
    if probe is not None:
        probe.copy_seen = how
    if event.partition != identity.partition:
        return
    if probe is not None:
        _note_on_target(state, probe)
    else:
        held = run.overdue.find(identity.sequence) or run.absent.find(identity.sequence)
        _note_offset_on_target(state, held.offset_at_least(identity.sequence) if held is not None else None)
