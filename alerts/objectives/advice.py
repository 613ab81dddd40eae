"""Checks that probes are frequent enough: as few failed probes as an alert requires must not page. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from alerts.objectives.burn import BURN_WINDOWS, LEAST_BAD_PROBES, BurnWindow
from fleet.quantity import duration_text

if TYPE_CHECKING:
    from alerts.objectives.objective import Objective

FEW = math.ceil(LEAST_BAD_PROBES)


def probes_needed(window: BurnWindow, objective: Objective) -> float:
    """Return the number of probes of which `FEW` bad ones are just at the threshold of a window."""
    return FEW / (window.factor(objective.period_s) * objective.budget_ratio)


def rate_advice(objective: Objective, probes_per_s: float) -> str | None:
    """Return a warning if `FEW` failed probes exceed the rate that pages, else None.

    `probes_per_s` is over all partitions of the flow.
    """
    if not objective.kind.counts_probes or objective.budget_ratio <= 0:
        return None
    paging = [window for window in BURN_WINDOWS if window.severity == "critical"]
    worst = max(paging, key=lambda window: probes_needed(window, objective) / window.long_s)
    needed = probes_needed(worst, objective)
    if probes_per_s * worst.long_s > needed:
        return None
    return (
        f"{objective.kind} {objective.target_ratio:.6g} of {objective.flow}: {FEW} failed probes in"
        f" {duration_text(worst.long_s)} exceed the rate that pages; send more than {needed:.0f} probes per"
        f" {duration_text(worst.long_s)} (now {probes_per_s * worst.long_s:.0f}), or lower the target"
    )
