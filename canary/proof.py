"""Proof of loss: what is on the source, has been passed on the target, and is not there.

A mirror keeps the order of a partition, so a record on the target says that all before it in the source's
log are there as well or never will be. Only a copy in its own partition says that: between partitions a
mirror's producer keeps no order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.books import Mark, Outcome

if TYPE_CHECKING:
    from canary.ledger import Ledger
    from canary.partition import PartitionState, Probe


def lose_proved(state: PartitionState, at_ns: int, ledger: Ledger) -> None:
    """Conclude as lost, or confirm, every probe of this partition whose absence is proved by now."""
    read, passed = state.read, []
    for probe in state.in_flight.values():
        if probe.sequence >= read.proved and (probe.offset is None or probe.offset > read.passed_offset):
            if probe.offset is not None or read.passed_offset < 0:
                break  # later ones stand after it in the source's log
        else:
            passed.append(probe)
    for probe in passed:
        lose_if_proved(state, probe, at_ns, ledger)
    while (held := state.overdue.oldest) is not None:
        last = min(held.last, max(read.proved - 1, held.last_up_to(read.passed_offset)))
        if last < held.first:
            break
        for part in state.overdue.take(held.first, last):
            sentence = "it was overdue, and the target was read past it without it"
            ledger.mark(Mark.CONFIRMED, state, part, at_ns=at_ns, sentence=sentence)
            part.proved = True
            state.absent.add(part)


def lose_if_proved(state: PartitionState, probe: Probe, at_ns: int, ledger: Ledger) -> None:
    """Conclude this probe as lost if its absence is proved."""
    if probe.warm or probe.offset is None:
        return
    by_order = max(probe.sequence, probe.behind) < state.read.proved
    if not by_order and probe.offset > state.read.passed_offset:
        return
    ledger.settle(probe)
    if probe.copy_seen:
        sentence = f"only a {probe.copy_seen} copy of it is on the target"
    else:
        sentence = f"it is on the source at offset {probe.offset}; the target was read past it without it"
    ledger.conclude(state, probe, Outcome.LOST, at_ns, sentence)
