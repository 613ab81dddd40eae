"""All verdicts on the groups of one cluster at one instant. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from lagmon.arrays.packed import Packed
    from lagmon.cluster.names import Slots
    from lagmon.groups.carried import Carried
    from lagmon.groups.growth import Falling
    from lagmon.groups.rules.groups import GroupSweep
    from lagmon.groups.silences import Silent
    from lagmon.groups.verdicts import Verdicts


@dataclass(frozen=True, slots=True)
class GroupView:
    """The verdicts as of `now_ms`; rows are slots, groups are by number.

    Slots and numbers are reused meanwhile: `knows_group` and `knows_slot` return whether they still mean the
    same.
    """

    now_ms: int
    rows: Verdicts
    lag_s: NDArray[np.float64]
    lag_kind: NDArray[np.uint8]
    groups: GroupSweep
    # As of the verdicts: newer values would contradict their lags.
    end: Packed
    start: Packed
    readable_from: Packed
    begun: int  # how many groups had begun
    generations: NDArray[np.int32]  # of each slot
    carried: Carried = field(default_factory=dict)  # by number of a carried group, the flows that sync it
    # groups that are WARN for the sum of their lags
    falling: Mapping[int, Falling] = field(default_factory=dict)
    silent: Silent = field(default_factory=dict)  # by number of a group, assigned partitions without a commit

    def knows_group(self, slots: Slots, number: int) -> bool:
        """Return whether the group with this number now is the one of these verdicts."""
        return slots.begun_as(number) <= self.begun

    def knows_slot(self, slots: Slots, slot: int) -> bool:
        """Return whether this slot means the same now as in these verdicts."""
        return slot < len(self.generations) and bool(self.generations[slot] == slots.generations[slot])
