"""Which fault comes when. The same seed and length give the same plan. Pure.

After each window comes a quiet period that is at least as long, so at least half of the time is quiet. Faults
that restart a process of the service come in the first third and the last sixth only: one process lives for
most of the run, and its memory can be judged.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from bench.soak.faults import FAULTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.soak.faults import Fault

FIRST_QUIET_S = 30.0
LEAST_QUIET_S = 40.0
RESTARTS_UNTIL = 1 / 3  # share of the run
RESTARTS_FROM = 5 / 6


class Planned(NamedTuple):
    """A fault with the seconds from the start of the run to its order, and how long it is held."""

    at_s: float
    fault: Fault
    hold_s: float

    @property
    def window_s(self) -> float:
        """Return how long its window is, as planned."""
        return self.hold_s + self.fault.restore_s + self.fault.settle_s

    @property
    def until_s(self) -> float:
        """Return when its window ends, as planned."""
        return self.at_s + self.window_s


class _Bag:
    """Faults drawn in random order, each as often as the others."""

    def __init__(self, faults: Sequence[Fault], dice: random.Random) -> None:
        self._faults = faults
        self._dice = dice
        self._left: list[Fault] = []

    def draw(self, *, at_s: float, until_s: float) -> Planned | None:
        """Return the next fault whose window ends before `until_s`; None if none does."""
        for refilled in (False, True):
            if refilled:  # nothing left fits: the end of the run is near, or the bag is empty
                self._left += self._dice.sample(self._faults, len(self._faults))
            for fault in self._left:
                one = Planned(at_s, fault, fault.hold_s[1])
                if one.until_s <= until_s:
                    self._left.remove(fault)
                    return one._replace(hold_s=round(self._dice.uniform(*fault.hold_s), 1))
        return None


def plan(*, minutes: float, seed: int, faults: Sequence[Fault] = FAULTS) -> list[Planned]:
    """Return the faults of a run in order; if all of `faults` restart the service, they come at any time."""
    dice = random.Random(seed)  # noqa: S311 - reproducible, not secret
    total_s = minutes * 60
    restarting = _Bag([one for one in faults if one.restarts], dice)
    others = _Bag([one for one in faults if not one.restarts], dice)
    planned: list[Planned] = []
    now_s = FIRST_QUIET_S
    while True:
        middle = total_s * RESTARTS_UNTIL <= now_s < total_s * RESTARTS_FROM
        # On the edges two of three restart the service: there are about as many kinds of them as of others.
        bags = (others,) if middle or len(planned) % 3 == 2 else (restarting, others)
        if all(one.restarts for one in faults):
            bags = (restarting,)
        found = None
        for bag in bags:
            found = found or bag.draw(at_s=now_s, until_s=total_s - LEAST_QUIET_S)
        if found is None:
            return planned
        planned.append(found)
        now_s = round(found.until_s + max(LEAST_QUIET_S, found.window_s), 1)


def quiet_share(planned: Sequence[Planned], *, minutes: float) -> float:
    """Return the share of the run that is in no window, as planned."""
    return 1 - sum(one.window_s for one in planned) / (minutes * 60)
