"""How old the oldest record is that a target may lack, by the canary and by offsets. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecoveryPoint:
    """An age (s) and its worth: `exact`, at least that (`at_least`), about that (`estimate`), or `none`."""

    age_s: float | None
    kind: str


NO_POINT = RecoveryPoint(None, "none")


def older(canary_s: float | None, by_offsets: RecoveryPoint = NO_POINT) -> RecoveryPoint:
    """Return the larger of the age of the newest probe downstream and the worst partition's lag.

    A canary that is fresh may hide a topic that is hours behind. Beside a lag of which only a bound is known,
    the larger one is a bound too.
    """
    if canary_s is None:
        return by_offsets if by_offsets.age_s is not None else NO_POINT
    if by_offsets.age_s is None:
        return RecoveryPoint(canary_s, "exact")
    if canary_s < by_offsets.age_s:
        return by_offsets
    return RecoveryPoint(canary_s, "at_least" if by_offsets.kind == "at_least" else "exact")
