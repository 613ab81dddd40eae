"""SLI, budget, burn, coverage, exhaustion and the worst stretches of one objective, from tallies. Pure.

    SLI        = sum of good / sum of valid, never a mean of ratios
    coverage   = observed minutes / expected minutes
    burn       = (1 - SLI) / (1 - target) * coverage; 1 spends the budget of the period evenly and exactly
    budget left = 1 - burn, below zero where the objective is missed

What was not observed is neither good nor bad: the budget is that of the whole period, and unobserved time
spends none of it. `worst_sli_ratio` is the SLI if all of it had been bad.

A probe may stand for more than a minute (tally.py), by the fewest partitions. With more of them a day would
have more observed minutes than it has minutes: it has at most those. Each day counts alone, because the
interval may have changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from alerts.reports.tally import Tally
from fleet.probe_history import MINUTE_S, by_day

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from alerts.objectives.objective import Objective
    from alerts.reports.tally import BadMinute

RECENT_SHARE = 0.25  # of the period, for the projected burn
_DIGITS = 12  # of a burn: an SLI just at its target spends 1, not 1.0000000000000009
APART_MINUTES = 3  # a larger gap between bad minutes separates two stretches


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of bad minutes of the epoch, what was bad, and the share of the budget that it spent.

    `budget_ratio` is None without a budget.
    """

    first: int
    last: int
    bad: int
    what: str
    budget_ratio: float | None


@dataclass(frozen=True, slots=True)
class Day:
    """One day for charts: its coverage and bad share."""

    day: int
    expected_minutes: int
    observed_minutes: float
    bad: int
    valid: int

    @property
    def coverage_ratio(self) -> float:
        """Return the observed share."""
        return self.observed_minutes / self.expected_minutes


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of an objective in a period of `expected_minutes`; ratios are None without valid events.

    `exhausted_in_s` is the time until the budget is spent at the recent burn: 0 if it is spent, None if it
    will not be.
    """

    expected_minutes: int
    observed_minutes: int
    good: int
    valid: int
    unknown: int
    sli_ratio: float | None
    worst_sli_ratio: float | None
    burn: float | None
    recent_burn: float | None
    budget_left_ratio: float | None
    exhausted_in_s: float | None
    stretches: tuple[Stretch, ...]
    days: tuple[Day, ...]
    bad_minutes: tuple[BadMinute, ...]

    @property
    def bad(self) -> int:
        """Return valid minus good."""
        return self.valid - self.good

    @property
    def coverage_ratio(self) -> float:
        """Return the observed share of the expected minutes; 1 if none was expected."""
        return self.observed_minutes / self.expected_minutes if self.expected_minutes else 1.0


def figures_of(objective: Objective, tallies: Sequence[Tally], spans: Sequence[tuple[int, int]]) -> Figures:
    """Return the figures of an objective; `spans` are the expected minutes, without exclusions.

    The period lasts from the first of them to the last.
    """
    period_s = (spans[-1][1] - spans[0][0]) * MINUTE_S if spans else 0
    days = _days(tallies, spans)
    expected = _minutes_of(spans)
    observed = sum(one.observed_minutes for one in days)
    good, valid = sum(one.good for one in tallies), sum(one.valid for one in tallies)
    bad_minutes = tuple(bad for one in tallies for bad in one.bad)
    sli = good / valid if valid else None

    def spent(bad: int) -> float | None:
        return burn_of(objective, bad=bad, valid=valid, observed_minutes=observed, expected_minutes=expected)

    burn = spent(valid - good)
    left = 1.0 - burn if burn is not None else None
    recent = _recent_burn(bad_minutes, spans, spent)
    return Figures(
        expected_minutes=expected,
        observed_minutes=round(observed),
        good=good,
        valid=valid,
        unknown=sum(one.unknown for one in tallies),
        sli_ratio=sli,
        worst_sli_ratio=None if sli is None else sli * min(1.0, observed / expected if expected else 1.0),
        burn=burn,
        recent_burn=recent,
        budget_left_ratio=left,
        exhausted_in_s=_exhausted_in_s(left, recent, period_s),
        stretches=tuple(_stretches(bad_minutes, spent)),
        days=tuple(days),
        bad_minutes=bad_minutes,
    )


def _stretches(bad: Iterable[BadMinute], spent: Callable[[int], float | None]) -> list[Stretch]:
    """Return the stretches of bad minutes, the one that spent most first."""
    joined: list[list[BadMinute]] = []
    for one in bad:
        if joined and one.minute - joined[-1][-1].minute <= APART_MINUTES:
            joined[-1].append(one)
        else:
            joined.append([one])
    found = []
    for each in joined:
        count = sum(one.bad for one in each)
        what = max(each, key=lambda one: one.bad).what
        found.append(Stretch(each[0].minute, each[-1].minute, count, what, spent(count)))
    return sorted(found, key=lambda one: (-one.bad, one.first))


def burn_of(
    objective: Objective, *, bad: int, valid: int, observed_minutes: float, expected_minutes: int
) -> float | None:
    """Return the share of the period's budget that `bad` events spent; None without data or budget."""
    if valid == 0 or expected_minutes == 0 or objective.budget_ratio <= 0:
        return None
    observed_ratio = min(1.0, observed_minutes / expected_minutes)
    return round(bad / valid / objective.budget_ratio * observed_ratio, _DIGITS)


def expected_by_day(spans: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return how many minutes of each day are within spans."""
    found: dict[int, int] = {}
    for day, first, until in by_day(spans):
        found[day] = found.get(day, 0) + until - first
    return found


def observed_of(minutes: float, expected_minutes: int) -> float:
    """Return the observed minutes of one day, or of a part of it, from those of its tally."""
    return min(minutes, float(expected_minutes))


def _recent_burn(
    bad: Iterable[BadMinute], spans: Sequence[tuple[int, int]], spent: Callable[[int], float | None]
) -> float | None:
    """Return the burn of the newest quarter of the period; None without data."""
    if not spans:
        return None
    first, until = spans[0][0], spans[-1][1]
    since = until - int((until - first) * RECENT_SHARE)
    expected = _minutes_of(spans)
    recent = sum(max(0, last - max(begins, since)) for begins, last in spans)
    burn = spent(sum(one.bad for one in bad if one.minute >= since))
    return None if burn is None or recent == 0 else round(burn * expected / recent, _DIGITS)


def _exhausted_in_s(left: float | None, recent: float | None, period_s: float) -> float | None:
    if left is None or recent is None:
        return None
    if left < 0:
        return 0.0
    return left * period_s / recent if recent > 1 else None


def _days(tallies: Sequence[Tally], spans: Sequence[tuple[int, int]]) -> list[Day]:
    counted = {one.day: one for one in tallies}
    found = []
    for day, minutes in expected_by_day(spans).items():
        one = counted.get(day, Tally(day, 0, 0, 0, 0, ()))
        found.append(Day(day, minutes, observed_of(one.minutes, minutes), one.valid - one.good, one.valid))
    return found


def _minutes_of(spans: Iterable[tuple[int, int]]) -> int:
    return sum(until - first for first, until in spans)
