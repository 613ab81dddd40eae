"""Rules for a restart: take over the probes of a dead process, and save state for the next one.

An uncovered probe that is on the source is expected from then on. If it is on the target at the first read,
or arrives within a horizon, it is unknown, because its arrival was not timed. After the horizon it is lost if
its absence is proved, and overdue otherwise. Outstanding probes are awaited as before. A probe that is not on
the source died with its process and is not counted.

A probe may reach the source after its process died, because a stalled broker holds its request. The producer
gives up after half a horizon at most (probing.report_within_s). So no run is finished before the source was
read to a log end offset that is one horizon younger than the take-over.

If the flow is removed and added again before a run is finished, the new watch continues with that run. What
it finds is unknown: the former watch may have read a record of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from canary.tracker.adoption import DELETED_UNREAD, Adoption
from canary.tracker.counters import Outcome
from canary.tracker.events import Coverage
from canary.tracker.ledger import OVERDUE_AT_LOST_END, absent
from canary.tracker.minutes import Minutes
from canary.tracker.ranges import MINUTE_MS, Absent
from canary.tracker.sequences import Sequences
from canary.tracker.source_side import adopted_run

if TYPE_CHECKING:
    from canary.tracker.events import Adopted, SourceRead, TargetGap
    from canary.tracker.partition import PartitionState, Run
    from canary.tracker.ranges import AbsentRow
    from canary.tracker.tracking import Tracking

KEPT_RANGES = 50  # saved per partition; a later arrival of an older range counts as duplicated
LEAST_KEPT_NS = 600_000_000_000  # how long a run stays known, so that its late records are recognised


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Changes of one flow since the last snapshot, each as a whole value.

    `rows` are by (incarnation whose probes they count, minute since the epoch), in the order of
    minutes.COLUMNS. `finished` are the incarnations without open probes.
    """

    rows: dict[tuple[str, int], tuple[int, ...]]
    coverages: list[Coverage]
    finished: tuple[str, ...]


def adopt(tracking: Tracking, event: Adopted) -> None:
    """Take over the probes of a dead process; a second time changes nothing."""
    if event.incarnation in tracking.minutes:
        return
    tracking.minutes[event.incarnation] = Minutes(tracking.policy.first_minute)
    tracking.adoptions[event.incarnation] = Adoption(event.at_ns, event.since_ms, event.interrupted)
    for coverage in event.coverages:
        state = tracking.state_of(coverage.topic_id, coverage.partition, event.at_ns)
        if state is not None:
            _take_over(tracking, state, coverage, event.at_ns)
    for state in tracking.states.values():
        state.others.pop(event.incarnation, None)
        state.read.forget_target_offsets()  # the taps start over


def read_source(tracking: Tracking, event: SourceRead) -> None:
    """Note how far the source was read; after the end that counts, no probe of a dead process appears."""
    for incarnation, adoption in tracking.adoptions.items():
        adoption.partitions = event.partitions
        may_still_come = tracking.now_ns < adoption.at_ns + tracking.policy.horizon_ns
        if may_still_come or event.partition in adoption.read:
            continue
        end = adoption.ends.setdefault(event.partition, event.end_offset)
        if event.position >= end:
            adoption.read.add(event.partition)
            state = tracking.by_partition.get(event.partition)
            run = state.adopted.get(incarnation) if state is not None else None
            if run is not None:
                run.source_from = None
                run.changed = True


def pass_gap(tracking: Tracking, event: TargetGap) -> None:
    """Conclude probes as unknown whose records may be deleted unread."""
    for adoption in tracking.adoptions.values():
        adoption.gaps.add(event.partition)
    state = tracking.by_partition.get(event.partition)
    if state is None:
        return
    state.read.forget_target_offsets()
    for run in state.runs():
        for probe in [probe for probe in run.in_flight.values() if not probe.warm and probe.on_source]:
            tracking.ledger.conclude(state, run, probe, Outcome.UNKNOWN, event.at_ns, DELETED_UNREAD)
        tracking.ledger.close_overdue(state, run, event.at_ns, f"it was overdue, and {DELETED_UNREAD}")


def snapshot(tracking: Tracking, now_minute: int) -> Snapshot:
    """Return the changes to save, and drop state that is not needed."""
    rows = {
        (incarnation, minute): numbers
        for incarnation, minutes in tracking.minutes.items()
        for minute, numbers in minutes.changed().items()
    }
    coverages = tracking.removed_coverages
    tracking.removed_coverages = []
    for state in tracking.states.values():
        for run in state.runs():
            if run.changed:
                coverages.append(_coverage(tracking, state, run))
                run.changed = False
    for incarnation, minutes in tracking.minutes.items():
        adoption = tracking.adoptions.get(incarnation)
        if adoption is None or _is_read(adoption):
            minutes.tidy(now_minute, _open_since(tracking, incarnation))
    finished = []
    for incarnation, adoption in list(tracking.adoptions.items()):
        if not _is_finished(tracking, incarnation, adoption):
            continue
        if not adoption.finished:
            adoption.finished = True
            finished.append(incarnation)
        if tracking.now_ns >= adoption.at_ns + LEAST_KEPT_NS:
            _forget_incarnation(tracking, incarnation)
    return Snapshot(rows, coverages, tuple(finished))


def unfinished(tracking: Tracking) -> dict[str, tuple[Coverage, ...]]:
    """Return the coverages of incarnations that were taken over and are not finished."""
    return {
        incarnation: tuple(
            _coverage(tracking, state, state.adopted[incarnation])
            for state in tracking.states.values()
            if incarnation in state.adopted
        )
        for incarnation, adoption in tracking.adoptions.items()
        if not adoption.finished
    }


def keep_removed(tracking: Tracking, state: PartitionState) -> None:
    """Keep the coverage of a partition that is removed, for the next snapshot."""
    tracking.removed_coverages += [_coverage(tracking, state, run) for run in state.runs()]


def _take_over(tracking: Tracking, state: PartitionState, coverage: Coverage, at_ns: int) -> None:
    run = adopted_run(tracking, state, coverage.incarnation)
    run.covered = Sequences(coverage.covered)
    run.source_from, run.target_from = coverage.source_from, coverage.target_from
    run.newest_located_offset = coverage.source_from - 1
    before = tracking.read_before.get(coverage.partition, 0)
    tracking.read_before[coverage.partition] = max(before, coverage.target_from, coverage.target_read)
    # Their age on this process's clock is unknown: at least a horizon.
    due_ns = at_ns - tracking.policy.horizon_ns
    for row in coverage.absent:
        mine = Absent.of_row(row, due_ns=due_ns)
        if not mine.outstanding:
            run.absent.add(mine)
            continue
        tracking.ledger.inherit(mine)
        if None in {mine.first_offset, mine.last_offset}:
            tracking.ledger.close(state, run, mine, at_ns, OVERDUE_AT_LOST_END)
        else:
            run.overdue.add(mine)


def _coverage(tracking: Tracking, state: PartitionState, run: Run) -> Coverage:
    target_from = tracking.read_before.get(state.partition, 0)
    adoption = tracking.adoptions.get(run.incarnation)
    found = adoption is None or state.partition in adoption.read
    early_from = adoption.early_from(state.partition) if adoption is not None else None
    if run.target_from is not None and adoption is not None and adoption.interrupted and not found:
        target_from = run.target_from  # what the former watch had read early is not known any more
    elif run.target_from is not None:
        # Taken over: until the tap that started over is past where we had read before, it counts.
        position = state.read.position
        if position < target_from:
            target_from = max(position, run.target_from) if position >= 0 else run.target_from
        else:
            run.target_from = None
    if early_from is not None:
        target_from = min(target_from, early_from)
    return Coverage(
        run.incarnation,
        state.topic_id,
        state.partition,
        run.covered.ranges(),
        (*(held.row() for held in run.overdue), *_kept_absent(run)),
        max(0, run.read_from),
        target_from,
        tracking.read_before.get(state.partition, 0),
    )


def _kept_absent(run: Run) -> list[AbsentRow]:
    """Return the newest absent ranges, and the warm-up probes in flight."""
    kept = [held.row() for held in list(run.absent)[-KEPT_RANGES:]]
    kept += [absent(probe, Outcome.WARMUP).row() for probe in run.in_flight.values() if probe.warm]
    return kept


def _open_since(tracking: Tracking, incarnation: str) -> int | None:
    """Return the minute of the oldest probe of this incarnation that is in flight or outstanding."""
    dues_ms: list[int] = []
    for state in tracking.states.values():
        run = state.run_of(incarnation)
        if run is None:
            continue
        dues_ms += [probe.due_at_ms for probe in islice(run.in_flight.values(), 1)]
        dues_ms += [held.first_due_ms for held in islice(run.overdue, 1)]
    return min(dues_ms) // MINUTE_MS if dues_ms else None


def _is_read(adoption: Adoption) -> bool:
    return adoption.partitions is not None and adoption.read.issuperset(range(adoption.partitions))


def _forget_incarnation(tracking: Tracking, incarnation: str) -> None:
    del tracking.adoptions[incarnation], tracking.minutes[incarnation]
    for state in tracking.states.values():
        state.adopted.pop(incarnation, None)


def _is_finished(tracking: Tracking, incarnation: str, adoption: Adoption) -> bool:
    if not _is_read(adoption):
        return False
    runs = [state.adopted.get(incarnation) for state in tracking.states.values()]
    return not any(run.in_flight or len(run.overdue) for run in runs if run is not None)
