"""How old the oldest record is that a target may lack, by the canary and by offsets. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecoveryPoint:
    """An age (s) and its worth: `exact`, at least that (`bound`), about that (`estimate`), or `none`."""

    age_s: float | None
    kind: str


NO_POINT = RecoveryPoint(None, "none")


def older(canary_s: float | None, by_offsets: RecoveryPoint = NO_POINT) -> RecoveryPoint:
    """Return the larger of the age of the newest probe downstream and the worst partition's lag.

    A canary that is fresh may hide a topic that is hours behind.
    """
    if by_offsets.age_s is None or (canary_s is not None and canary_s >= by_offsets.age_s):
        return NO_POINT if canary_s is None else RecoveryPoint(canary_s, "exact")
    return by_offsets
