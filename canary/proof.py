"""Proof of loss: what is on the source, has been passed on the target, and is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from canary.books import Mark, Outcome

if TYPE_CHECKING:
    from canary.ledger import Ledger
    from canary.partition import PartitionState, Probe


def lose_proved(state: PartitionState, ledger: Ledger) -> None:
    """Conclude as lost, or confirm, every probe of this partition whose absence is proved by now."""
    at_ns = state.last_arrival_ns or 0
    for probe in list(state.in_flight.values()):
        if probe.sequence >= state.read.proved and state.read.passed_offset < 0:
            break
        lose_if_proved(state, probe, at_ns, ledger)
    if not state.outstanding:
        return
    for held in [held for held in state.absent if held.outstanding]:
        last = held.last
        while last >= held.first and not _proved(state, last, held.offset_at_most(last)):
            last -= 1
        for part in state.absent.take(held.first, last) if last >= held.first else ():
            sentence = "it was overdue, and the target was read past it without it"
            ledger.mark(Mark.CONFIRMED, state, part, at_ns=at_ns, sentence=sentence)
            part.proved = True
            state.absent.add(part)


def lose_if_proved(state: PartitionState, probe: Probe, at_ns: int, ledger: Ledger) -> None:
    """Conclude this probe as lost if its absence is proved."""
    if probe.warm or not probe.on_source or not _proved(state, probe.sequence, probe.offset):
        return
    ledger.settle(probe)
    if probe.copy_seen:
        sentence = f"only a {probe.copy_seen} copy of it is on the target"
    else:
        sentence = f"it is on the source at offset {probe.offset}; the target was read past it without it"
    ledger.conclude(state, probe, Outcome.LOST, at_ns, sentence)


def _proved(state: PartitionState, sequence: int, offset: int | None) -> bool:
    read = state.read
    return sequence < read.proved or (offset is not None and offset <= read.passed_offset)
