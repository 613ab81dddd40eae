"""Burn rates of error budgets that fire alerts. Pure.

A window alerts while its error rate is above `factor` times the budget, in the window and in a short window
of a twelfth of its length, so that the alert ends soon after the fault (Google, The Site Reliability
Workbook, chapter 5). The factor follows from spending `budget_share` of the budget within the window.
"""

from __future__ import annotations

from dataclasses import dataclass

HOUR_S = 3600.0
LEAST_BAD_PROBES = 2.5  # minimum of bad ones in the long window, below the three that are required


@dataclass(frozen=True, slots=True)
class BurnWindow:
    """A pair of windows: `long_s` seconds may spend at most `budget_share` of the period's budget."""

    long_s: float
    budget_share: float
    severity: str  # critical pages, warning is a ticket

    @property
    def short_s(self) -> float:
        """Return the length of the short window in seconds."""
        return self.long_s / 12

    def factor(self, period_s: float) -> float:
        """Return the burn rate at the alert's threshold; 1 spends the budget evenly over the period.

        It is at least 1: a flow that never spends its budget faster than that meets its objective.
        """
        return max(1.0, self.budget_share * period_s / self.long_s)


BURN_WINDOWS = (
    BurnWindow(1 * HOUR_S, 0.02, "critical"),
    BurnWindow(6 * HOUR_S, 0.05, "critical"),
    BurnWindow(24 * HOUR_S, 0.10, "warning"),
    BurnWindow(72 * HOUR_S, 0.10, "warning"),
)
"""The usual four, shortest first."""


def longest_window_s() -> float:
    """Return the longest window; a period must be longer."""
    return max(window.long_s for window in BURN_WINDOWS)
