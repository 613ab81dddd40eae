"""How fast an error budget may burn before an alert fires. Pure.

A window alerts while its error rate is above `factor` times the budget, over itself and over a short window
of a twelfth of its length, so that the alert ends soon after the fault does (Google, The Site Reliability
Workbook, chapter 5). The factor is derived: spending `budget_share` of the budget within the window.
"""

from __future__ import annotations

from dataclasses import dataclass

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class BurnWindow:
    """One pair of windows: in `long_s` seconds at most `budget_share` of the period's budget may be spent."""

    long_s: float
    budget_share: float
    severity: str  # critical pages, warning is a ticket

    @property
    def short_s(self) -> float:
        """Return the length of the short window in seconds."""
        return self.long_s / 12

    def factor(self, period_s: float) -> float:
        """Return how many times faster than evenly the budget is spent at the alert's threshold."""
        return self.budget_share * period_s / self.long_s


BURN_WINDOWS = (
    BurnWindow(1 * HOUR_S, 0.02, "critical"),
    BurnWindow(6 * HOUR_S, 0.05, "critical"),
    BurnWindow(24 * HOUR_S, 0.10, "warning"),
    BurnWindow(72 * HOUR_S, 0.10, "warning"),
)
"""The usual four, shortest first."""


def longest_window_s() -> float:
    """Return the length of the longest window: a period has to be longer."""
    return max(window.long_s for window in BURN_WINDOWS)
