"""Rules for the source: due, sent, acknowledged, refused, read in its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.tracker.counters import Outcome
from canary.tracker.events import Acked, Refused, Scheduled, SeenAtSource, Sent, Skipped, Stage
from canary.tracker.ledger import OVERDUE_AT_LOST_END, absent
from canary.tracker.partition import PartitionState, Probe, Run
from canary.tracker.proof import lose_if_proved
from canary.tracker.ranges import Absent
from canary.tracker.sequences import Anchors
from canary.tracker.stamp import Intact

if TYPE_CHECKING:
    from canary.tracker.stamp import Stamp
    from canary.tracker.tracking import Tracking


MAX_AHEAD = 1000  # acknowledged in a partition and not read there yet
MAX_OTHERS = 32  # incarnations of other living processes per partition


def schedule(tracking: Tracking, event: Scheduled) -> None:
    """Start a probe; it ends here if its topic was deleted."""
    state = tracking.state_of(event.topic_id, event.partition, event.at_ns)
    ledger = tracking.ledger
    if state is None:
        ledger.conclude_gone(tracking.minutes[tracking.policy.incarnation], event)
        return
    tracking.make_current(state)
    run = state.own
    if event.sequence < run.next_sequence:
        raise ValueError(f"probe {event.sequence} of partition {event.partition} was scheduled before")
    if not run.next_sequence and event.sequence:
        # Probes sent before this watch started are not its concern, nor of its successor: a record of one
        # that arrives later is the first, and no duplicate.
        run.first_sequence = event.sequence
        run.covered.add_range(0, event.sequence - 1)
        due_ms = event.due_at_ms
        run.absent.add(
            Absent(0, event.sequence - 1, Outcome.UNKNOWN, first_due_ms=due_ms, last_due_ms=due_ms)
        )
    run.next_sequence = event.sequence + 1
    probe = Probe(event.sequence, event.at_ns, event.due_at_ms, run.newest_located_offset)
    run.in_flight[event.sequence] = run.unlocated[event.sequence] = probe
    ledger.counters.expected += 1
    ledger.counters.in_flight += 1


def send(tracking: Tracking, event: Sent) -> None:
    """Note that a probe was passed to the producer; this decides whether it is warm-up."""
    found = _waiting(tracking, event)
    if found is None:
        return
    state, probe = found
    probe.sent_ns = event.at_ns
    tracking.await_threshold(state, probe)
    if not state.carried and event.at_ns < state.warmup_until_ns:
        tracking.ledger.warm_up(state.own, probe)
    else:
        tracking.ledger.time(Stage.QUEUEING, event.at_ns - probe.scheduled_ns, event.at_ns)


def skip(tracking: Tracking, event: Skipped) -> None:
    """End a probe that was not sent."""
    found = _waiting(tracking, event)
    if found is None:
        return
    state, probe = found
    tracking.ledger.conclude(state, state.own, probe, Outcome.SKIPPED, probe.scheduled_ns, "not sent")


def acknowledge(tracking: Tracking, event: Acked) -> None:
    """Note a probe's offset on the source."""
    state, probe = _open(tracking, event)
    if state is None or probe is None or probe.acked_ns is not None:
        return
    probe.acked_ns = event.at_ns
    slept = tracking.impairments.slept_between(probe.scheduled_ns, event.at_ns)
    if probe.sent_ns is not None and not probe.warm and not slept:
        tracking.ledger.time(Stage.ACK, event.at_ns - probe.sent_ns, event.at_ns)
    state.own.arrived.pop(probe.sequence, None)
    if event.offset > state.source_read_to:
        _note_ahead(state.own, probe.sequence, event.offset)
    _locate(tracking, state, probe, event.offset, event.at_ns)


def refuse(tracking: Tracking, event: Refused) -> None:
    """End a probe that the source refused, unless it was read anyway."""
    state, probe = _open(tracking, event)
    if state is None or probe is None or probe.on_source or probe.arrived_ns is not None:
        return
    run = state.own
    if probe.warm:
        run.take_out(probe)
        run.absent.add(absent(probe, Outcome.WARMUP))
        return
    sentence = f"the source refused it: {event.sentence}"
    tracking.ledger.conclude(state, run, probe, Outcome.PRODUCE_FAILED, tracking.now_ns, sentence)


def see(tracking: Tracking, event: SeenAtSource) -> None:
    """Note a probe in the source's log; a second one at a larger offset came round a loop.

    At an offset that was read before it is the same record: the reader restarted.
    """
    if not isinstance(event.reading, Intact):
        return
    stamp = event.reading.stamp
    state = tracking.states.get((stamp.topic_id, stamp.partition))
    if stamp.installation != tracking.policy.installation or event.partition != stamp.partition:
        return
    ours = tracking.is_ours(stamp.incarnation)
    if (
        state is None
        and stamp.incarnation in tracking.adoptions
        and stamp.partition not in tracking.by_partition
    ):
        state = tracking.state_of(stamp.topic_id, stamp.partition, event.at_ns)
    if state is None:
        return
    again = event.offset <= state.source_read_to
    state.source_read_to = max(state.source_read_to, event.offset)
    if not ours:
        _note_other(state, stamp, event.offset)
    elif stamp.incarnation == tracking.policy.incarnation:
        _see_own(tracking, state, stamp.sequence, event, again=again)
    else:
        _see_adopted(tracking, state, stamp, event)


def adopted_run(tracking: Tracking, state: PartitionState, incarnation: str) -> Run:
    """Return the run of an incarnation that was taken over; create it if missing."""
    run = state.adopted.get(incarnation)
    if run is None:
        adoption = tracking.adoptions[incarnation]
        run = Run(incarnation, tracking.minutes[incarnation], adoption.at_ns)
        run.target_from = 0 if adoption.interrupted else None
        state.adopted[incarnation] = run
    return run


def _see_own(
    tracking: Tracking, state: PartitionState, sequence: int, event: SeenAtSource, *, again: bool
) -> None:
    run = state.own
    if sequence >= run.next_sequence:
        return
    probe = run.in_flight.get(sequence) or run.arrived.get(sequence)
    acked = run.acked_ahead.get(sequence)
    if acked is not None and event.offset >= acked:
        del run.acked_ahead[sequence]
    if probe is not None and probe.seen_ns is None and (probe.offset is None or event.offset <= probe.offset):
        probe.seen_ns = event.at_ns
        _locate(tracking, state, probe, event.offset, event.at_ns)
        probe.offset = event.offset  # the first one; the acknowledgement may be of a second
        if probe.on_target:
            state.read.note_on_target(event.offset)
    elif not again and _came_back(run, probe, sequence, event.offset, acked):
        tracking.ledger.flag_loop(state, sequence, event.at_ns, event.offset)
    elif acked == event.offset and sequence > run.newest_source_seen and _was_seen(run, sequence):
        state.read.note_on_target(event.offset)  # nothing is before it, so its proof is known now
    run.newest_source_seen = max(run.newest_source_seen, sequence)


def _came_back(run: Run, probe: Probe | None, sequence: int, offset: int, acked: int | None) -> bool:
    """Return whether a second record of a probe was written by another producer than this one.

    An idempotent producer writes a probe again if the first request had no answer and another record's
    time ran out. The acknowledgement is then of the second record, or never arrives.
    """
    if acked is not None:
        return offset > acked
    if probe is not None:
        return probe.acked_ns is not None
    if sequence > run.newest_source_seen:
        return False
    return _was_seen(run, sequence)


def _was_seen(run: Run, sequence: int) -> bool:
    """Return whether a probe was read on the target; one in flight was not."""
    gone = sequence in run.covered and sequence not in run.in_flight
    return gone and run.overdue.find(sequence) is None and run.absent.find(sequence) is None


def _note_ahead(run: Run, sequence: int, offset: int) -> None:
    if len(run.acked_ahead) >= MAX_AHEAD:
        del run.acked_ahead[next(iter(run.acked_ahead))]
    run.acked_ahead[sequence] = offset


def _see_adopted(tracking: Tracking, state: PartitionState, stamp: Stamp, event: SeenAtSource) -> None:
    """Take over an uncovered probe: it is in flight, and its arrival is not timed."""
    run, sequence, ledger = adopted_run(tracking, state, stamp.incarnation), stamp.sequence, tracking.ledger
    adoption = tracking.adoptions[stamp.incarnation]
    if stamp.due_at_ms < adoption.since_ms:
        return
    if run.knows(sequence):
        # Not a loop: its process may have written it twice. A loop would repeat this process's probes too.
        run.newest_source_seen = max(run.newest_source_seen, sequence)
        return
    run.newest_source_seen = max(run.newest_source_seen, sequence)
    run.newest_located_offset = max(run.newest_located_offset, event.offset)
    probe = Probe(sequence, event.at_ns, stamp.due_at_ms, event.offset - 1)
    probe.offset, probe.seen_ns = event.offset, event.at_ns
    run.in_flight[sequence] = probe
    ledger.counters.expected += 1
    ledger.counters.in_flight += 1
    if adoption.was_early(stamp):
        state.read.note_on_target(event.offset)
        sentence = "already on the target when Mirrorwatch restarted, so it has no arrival time"
        ledger.conclude(state, run, probe, Outcome.UNKNOWN, event.at_ns, sentence, arrived=True)
    elif why := adoption.why_unknown(state.partition):
        ledger.conclude(state, run, probe, Outcome.UNKNOWN, event.at_ns, why)
    else:
        tracking.await_horizon(state, run, probe)


def _note_other(state: PartitionState, stamp: Stamp, offset: int) -> None:
    anchors = state.others.get(stamp.incarnation)
    if anchors is None:
        if len(state.others) >= MAX_OTHERS:
            del state.others[next(iter(state.others))]
        anchors = state.others[stamp.incarnation] = Anchors()
    anchors.note(stamp.sequence, offset)


def _locate(tracking: Tracking, state: PartitionState, probe: Probe, offset: int, at_ns: int) -> None:
    """Note that a probe is on the source, for the first time, and conclude."""
    if probe.offset is not None:
        return
    run = state.own
    if offset <= probe.after_offset:
        for held in state.runs():
            tracking.ledger.close_overdue(state, held, at_ns, OVERDUE_AT_LOST_END)
        state.reset_log()
        run.newest_located_offset, probe.after_offset = offset, offset - 1
    probe.offset = offset
    run.newest_located = max(run.newest_located, probe.sequence)
    run.unlocated.pop(probe.sequence, None)
    run.newest_located_offset = max(run.newest_located_offset, offset)
    if probe.on_target:
        state.read.note_on_target(offset)
    if probe.arrived_ns is not None:
        tracking.ledger.time_replication(probe, at_ns)
        return
    tracking.settle_if_due(probe)
    lose_if_proved(state, run, probe, at_ns, tracking.ledger)


def _waiting(tracking: Tracking, event: Sent | Skipped) -> tuple[PartitionState, Probe] | None:
    """Return the probe that waits to be sent; None if its topic was deleted, which ended it."""
    if event.topic_id in tracking.gone:
        return None
    state = tracking.states.get((event.topic_id, event.partition))
    probe = state.own.in_flight.get(event.sequence) if state else None
    if state is None or probe is None or probe.sent_ns is not None:
        raise ValueError(f"probe {event.sequence} of partition {event.partition} does not wait to be sent")
    return state, probe


def _open(tracking: Tracking, event: Acked | Refused) -> tuple[PartitionState | None, Probe | None]:
    """Return the probe of a report, which may arrive after its outcome or after its topic is deleted."""
    state = tracking.states.get((event.topic_id, event.partition))
    if state is None:
        return None, None
    run = state.own
    return state, run.in_flight.get(event.sequence) or run.arrived.get(event.sequence)
