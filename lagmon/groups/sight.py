"""Every verdict on the groups of one cluster at one instant. Pure."""

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
class GroupSight:
    """The verdicts as of `now_ms`; rows are slots, groups by number.

    Both are given out anew while it is held: `knows_group` and `knows_slot` tell whether they stand for the
    same as then.
    """

    now_ms: int
    rows: Verdicts
    lag_s: NDArray[np.float64]
    lag_kind: NDArray[np.uint8]
    groups: GroupSweep
    # As the verdicts were made from: what is read later would contradict their lags.
    end: Packed
    start: Packed
    readable_from: Packed
    begun: int  # how many groups had begun
    turns: NDArray[np.int32]  # of each slot
    carried: Carried = field(default_factory=dict)  # by number of a group that mirrors carry, their flows
    falling: Mapping[int, Falling] = field(default_factory=dict)  # groups that are WARN for what all lag by
    silent: Silent = field(default_factory=dict)  # by number, places that a group has and never committed on

    def knows_group(self, slots: Slots, number: int) -> bool:
        """Tell whether the group that has this number now is the one that these verdicts are on."""
        return slots.begun_as(number) <= self.begun

    def knows_slot(self, slots: Slots, slot: int) -> bool:
        """Tell whether what is at this slot now is what these verdicts are on."""
        return slot < len(self.turns) and bool(self.turns[slot] == slots.turns[slot])
