"""Checks that probes are frequent enough: one failed probe must not page. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alerts.objectives.burn import BURN_WINDOWS, BurnWindow
from fleet.quantity import duration_text

if TYPE_CHECKING:
    from alerts.objectives.objective import Objective


def probes_needed(window: BurnWindow, objective: Objective) -> float:
    """Return the number of probes for which one bad one stays below the threshold of a window."""
    return 1.0 / (window.factor(objective.period_s) * objective.budget_ratio)


def rate_advice(objective: Objective, probes_per_s: float) -> str | None:
    """Return a warning if one failed probe exceeds the rate that pages, else None.

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
        f"{objective.kind} {objective.target_ratio:.6g} of {objective.flow}: one failed probe in"
        f" {duration_text(worst.long_s)} exceeds the rate that pages; send more than {needed:.0f} probes per"
        f" {duration_text(worst.long_s)} (now {probes_per_s * worst.long_s:.0f}), or lower the target"
    )
