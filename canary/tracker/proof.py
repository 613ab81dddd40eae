"""Proof of loss: a probe is on the source, and the target was read past its place without it.

A mirror keeps the order of a partition. A record on the target therefore proves that all records before it
in the source's log are there too, or never will be. That holds only for a record in its own partition, since
a mirror's producer keeps no order between partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.tracker.counters import Flag, Outcome

if TYPE_CHECKING:
    from canary.tracker.ledger import Ledger
    from canary.tracker.partition import PartitionState, Probe, Run


def lose_proved(state: PartitionState, at_ns: int, ledger: Ledger) -> None:
    """Conclude as lost, or confirm, every probe of this partition whose absence is proved.

    Probes that were taken over wait for their horizon first.
    """
    proved = state.read.proved
    passed = []
    for probe in state.own.in_flight.values():
        if probe.offset is None or probe.stale:
            continue
        if probe.offset >= proved:
            break  # later ones are after it in the source's log, or are checked the next time
        passed.append(probe)
    for probe in passed:
        lose_if_proved(state, state.own, probe, at_ns, ledger)
    for run in state.runs():
        _confirm_proved(state, run, at_ns, ledger)


def _confirm_proved(state: PartitionState, run: Run, at_ns: int, ledger: Ledger) -> None:
    while (held := run.overdue.oldest) is not None:
        last = min(held.last, held.last_below(state.read.proved))
        if last < held.first:
            break
        for part in run.overdue.take(held.first, last):
            sentence = "overdue, then not found on the target"
            ledger.flag(Flag.CONFIRMED, state, run, part, at_ns=at_ns, sentence=sentence)
            part.proved = True
            run.absent.add(part)


def lose_if_proved(state: PartitionState, run: Run, probe: Probe, at_ns: int, ledger: Ledger) -> None:
    """Conclude this probe as lost if its absence is proved."""
    if probe.warm or probe.stale or probe.offset is None or probe.offset >= state.read.proved:
        return
    ledger.settle(probe)
    if probe.copy_seen:
        sentence = f"only a {probe.copy_seen} record of it is on the target"
    else:
        sentence = f"written to source at offset {probe.offset}; not found on the target"
    ledger.conclude(state, run, probe, Outcome.LOST, at_ns, sentence)
