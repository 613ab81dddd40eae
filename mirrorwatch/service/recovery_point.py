"""The recovery point: age of the oldest record that a target may lack, by canary and offsets. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecoveryPoint:
    """An age (s) and its kind: `exact`, `at_least`, `estimate` or `none`."""

    age_s: float | None
    kind: str


NO_POINT = RecoveryPoint(None, "none")


def older(canary_s: float | None, by_offsets: RecoveryPoint = NO_POINT) -> RecoveryPoint:
    """Return the larger of the age of the newest arrived probe and the lag of the worst partition.

    A fresh canary may hide a topic that is hours behind. With a lag that is a bound, the larger age is a
    bound too.
    """
    if canary_s is None:
        return by_offsets if by_offsets.age_s is not None else NO_POINT
    if by_offsets.age_s is None:
        return RecoveryPoint(canary_s, "exact")
    if canary_s < by_offsets.age_s:
        return by_offsets
    return RecoveryPoint(canary_s, "at_least" if by_offsets.kind == "at_least" else "exact")
