"""What page and series tell of all partitions of a flow together, drawn from one walk over them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from canary.tracker.partition import PartitionState


@dataclass(frozen=True, slots=True)
class Glance:
    """The partitions that are known, and what holds of all of them."""

    partitions: tuple[int, ...]
    last_arrival_ns: int | None  # when something last arrived
    recovery_point_age_s: float | None


def glance_at(states: Sequence[PartitionState], now_ns: int) -> Glance:
    """Return what these partitions come to.

    The recovery point is the age of the newest probe that is downstream, of the partition where it is oldest.
    Partitions that the flow has not taken up yet are left out while it carries others; it is None until every
    other one has delivered a probe.
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
    return Glance(
        partitions=tuple(one.partition for one in states),
        last_arrival_ns=last_ns,
        recovery_point_age_s=(now_ns - min(known)) / 1e9 if whole else None,
    )
