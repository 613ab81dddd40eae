"""Targets that history supports. Pure.

A target is suggested if the flow would have spent at most half of its budget, so that an ordinary month does
not miss it, and if as few failed probes as an alert requires do not page at it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from alerts.objectives.advice import rate_advice
from alerts.objectives.objective import ObjectiveKind

if TYPE_CHECKING:
    from alerts.objectives.objective import Objective
    from alerts.reports.arithmetic import Figures

LADDER = (0.9999, 0.9995, 0.999, 0.998, 0.995, 0.99, 0.98, 0.95, 0.9, 0.8, 0.5)
SPENT_AT_MOST = 0.5
LEAST_MINUTES = 7 * 1440


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The history of an objective: observed minutes and SLI; and a target, or the reason for none."""

    objective: Objective
    observed_minutes: int
    sli_ratio: float | None
    target_ratio: float | None
    why_none: str = ""


def suggestion_of(objective: Objective, figures: Figures, probes_per_s: float) -> Suggestion:
    """Return the strictest target that history supports; `probes_per_s` is over all partitions."""
    observed, sli = figures.observed_minutes, figures.sli_ratio

    def refused(why: str) -> Suggestion:
        return Suggestion(objective, observed, sli, None, why)

    if objective.kind is ObjectiveKind.LOSS:
        return refused("loss has no target: every lost record breaks it")
    if sli is None or observed < LEAST_MINUTES:
        return refused(f"too little history: {observed / 1440:.1f} of {LEAST_MINUTES // 1440} days observed")
    for ratio in LADDER:
        spent = (1.0 - sli) / (1.0 - ratio)
        if (
            spent <= SPENT_AT_MOST
            and rate_advice(replace(objective, target_ratio=ratio), probes_per_s) is None
        ):
            return Suggestion(objective, observed, sli, ratio)
    return refused("no target fits: most of this time was bad; fix the flow first")
