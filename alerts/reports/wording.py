"""Shares, times and sentences of reports. Pure. Times are UTC; minutes are numbered from the epoch."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from alerts.objectives.objective import Objective, ObjectiveKind
from fleet.probe_history import DAY_MINUTES, MINUTE_S
from fleet.quantity import count_text, duration_text

if TYPE_CHECKING:
    from alerts.reports.arithmetic import Figures, Stretch

NOTHING = "\N{EN DASH}"
COVERED_RATIO = 0.99
"""Below this coverage a report starts with the coverage."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def share_text(ratio: float | None, *, digits: int = 4) -> str:
    """Write a share in percent, rounded down: 99.99999 % is not 100 %."""
    if ratio is None:
        return NOTHING
    scale = 10**digits
    percent = math.floor(round(ratio * 100 * scale, 3)) / scale
    return f"{percent:.{digits}f}".rstrip("0").rstrip(".") + " %"


def covered_text(ratio: float) -> str:
    """Write a coverage in percent."""
    return share_text(min(1.0, ratio), digits=1)


def budget_text(ratio: float | None) -> str:
    """Write a share of a budget, rounded to a tenth of a percent."""
    if ratio is None:
        return NOTHING
    return "< 0.1 %" if 0 < ratio < 0.0005 else f"{100 * ratio:,.1f} %"


def burn_text(burn: float | None) -> str:
    """Write a burn rate."""
    return NOTHING if burn is None else f"{burn:,.2f}"


def minute_time(minute: int) -> datetime:
    """Return when a minute starts."""
    return _EPOCH + timedelta(minutes=minute)


def time_text(minute: int) -> str:
    """Write when a minute starts: `2026-11-27 17:02`."""
    return minute_time(minute).strftime("%Y-%m-%d %H:%M")


def when_text(at: float) -> str:
    """Write the minute of an epoch time (s): `2026-11-27 17:02`."""
    return time_text(int(at // MINUTE_S))


def day_text(day: int) -> str:
    """Write a day: `2026-11-27`."""
    return minute_time(day * DAY_MINUTES).strftime("%Y-%m-%d")


def objective_text(objective: Objective) -> str:
    """Name an objective and what is good in it."""
    name = objective.kind.value.replace("_", " ")
    if objective.limit_s is not None:
        return f"{name} within {duration_text(objective.limit_s)}"
    if objective.slice_ratio is not None:
        return f"{name}, minutes with at least {share_text(objective.slice_ratio)} good"
    return name


def bad_text(objective: Objective, bad: int) -> str:
    """Write how much was bad, in the objective's unit."""
    if objective.slice_ratio is not None:
        return count_text(bad, "minute")
    return count_text(bad, "probe") if objective.kind.counts_probes else duration_text(bad)


def stretch_text(stretch: Stretch) -> str:
    """Write when a stretch was: `2026-11-27 17:02 to 17:09`."""
    first, until = time_text(stretch.first), time_text(stretch.last + 1)
    return f"{first} to {until[11:] if until[:10] == first[:10] else until}"


def trend_text(figures: Figures, before: Figures | None) -> str:
    """Compare with the period before, in points of a percent."""
    if before is None or before.sli_ratio is None or figures.sli_ratio is None:
        return "no data before"
    change = 100 * (figures.sli_ratio - before.sli_ratio)
    covered = covered_text(before.coverage_ratio)
    partly = "" if before.coverage_ratio >= COVERED_RATIO else f" (before: {covered} covered)"
    if abs(change) < 0.00005:
        return f"as before{partly}"
    return f"{change:+.4f}".rstrip("0").rstrip(".") + f" points{partly}"


def outlook_text(objective: Objective, figures: Figures) -> str:
    """Write when the budget will be spent."""
    if figures.sli_ratio is None:
        return "no data" if figures.expected_minutes else NOTHING
    if objective.kind is ObjectiveKind.LOSS:
        return "no record lost" if figures.bad == 0 else f"{count_text(figures.bad, 'record')} lost"
    if figures.exhausted_in_s is None:
        return "not at the recent rate"
    if figures.exhausted_in_s == 0:
        return "spent"
    return f"in {duration_text(figures.exhausted_in_s)} at the recent rate"


def coverage_text(figures: Figures) -> str:
    """Write the coverage with its numbers."""
    if figures.expected_minutes == 0:
        return "nothing expected"
    return (
        f"{covered_text(figures.coverage_ratio)} ({figures.observed_minutes:,} of"
        f" {count_text(figures.expected_minutes, 'minute')})"
    )


def period_text(first: int, until: int) -> str:
    """Write a period with its length."""
    return f"{time_text(first)} to {time_text(until)} UTC ({duration_text((until - first) * MINUTE_S)})"
