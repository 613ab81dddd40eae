"""Numbers over all partitions of a flow, for pages and series. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from canary.tracker.partition import PartitionState


@dataclass(frozen=True, slots=True)
class FlowSummary:
    """The known partitions, and numbers over all of them."""

    partitions: tuple[int, ...]
    last_arrival_ns: int | None  # newest arrival
    recovery_point_age_s: float | None


def flow_summary(states: Sequence[PartitionState], now_ns: int) -> FlowSummary:
    """Return the numbers over these partitions.

    The recovery point is the age of the newest probe on the target, in the partition where it is oldest.
    Partitions that the flow does not replicate yet are left out while it replicates others. It is None until
    every other partition has delivered a probe.
    """
    last_ns: int | None = None
    taken_up_ns: list[int | None] = []
    untaken_ns: list[int | None] = []
    for one in states:
        (taken_up_ns if one.carried else untaken_ns).append(one.newest_present_ns)
        arrival_ns = one.last_arrival_ns
        if arrival_ns is not None and (last_ns is None or arrival_ns > last_ns):
            last_ns = arrival_ns
    present = taken_up_ns or untaken_ns
    known = [ns for ns in present if ns is not None]
    whole = bool(known) and len(known) == len(present)
    return FlowSummary(
        partitions=tuple(one.partition for one in states),
        last_arrival_ns=last_ns,
        recovery_point_age_s=(now_ns - min(known)) / 1e9 if whole else None,
    )
