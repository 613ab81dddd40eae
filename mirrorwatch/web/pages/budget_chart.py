"""The remaining error budget over a period, as coordinates of an SVG. Pure.

The plot is 600 units wide and is stretched to the available width. The line starts at 100 % and falls with
each bad minute. A strip below it shows how much of each day was observed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from alerts.reports.wording import budget_text, coverage_text, day_text
from fleet.probe_history import DAY_MINUTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from alerts.reports import ObjectiveReport, Report

WIDTH = 600
HEIGHT = 120
_MARGIN = 8
_COLUMNS = 300
_APART = 14  # between two labels of the axis


@dataclass(frozen=True, slots=True)
class Cell:
    """A day of the strip, or the part of it within the period."""

    x: float
    width: float
    coverage_ratio: float
    title: str


@dataclass(frozen=True, slots=True)
class Tick:
    """One label of the axis at height `y`."""

    y: float
    text: str


@dataclass(frozen=True, slots=True)
class BudgetChart:
    """A chart ready to draw: `zero_y` is the height of a spent budget."""

    height: int
    line: str
    zero_y: float
    ticks: tuple[Tick, ...]
    cells: tuple[Cell, ...]
    first_day: str
    last_day: str
    summary: str  # text for screen readers


def budget_chart(report: Report, one: ObjectiveReport) -> BudgetChart | None:
    """Lay out the budget of an objective over the period; None without data or budget."""
    figures = one.figures
    if figures.budget_left_ratio is None:
        return None
    first = report.first_of(one)
    left = _left(report, one, first)
    lowest = min(0.0, *left)
    room = HEIGHT - 2 * _MARGIN

    def place(ratio: float) -> float:
        return round(HEIGHT - _MARGIN - room * (ratio - lowest) / (1.0 - lowest), 1)

    step = WIDTH / _COLUMNS
    points = [f"{step * number:.1f} {place(ratio):.1f}" for number, ratio in enumerate(left)]
    return BudgetChart(
        height=HEIGHT,
        line="M" + "L".join(points),
        zero_y=place(0.0),
        ticks=tuple(_ticks(lowest, place)),
        cells=tuple(_cells(report, one, first)),
        first_day=day_text(first // DAY_MINUTES),
        last_day=day_text((report.until - 1) // DAY_MINUTES),
        summary=(
            f"Error budget of {one.objective.flow} {one.name}:"
            f" {budget_text(figures.budget_left_ratio)} left at the end; coverage {coverage_text(figures)}."
        ),
    )


def _left(report: Report, one: ObjectiveReport, first: int) -> list[float]:
    """Return the remaining share after each column, 1 before the first."""
    figures = one.figures
    share = (figures.burn or 0.0) / figures.bad if figures.bad else 0.0
    spent = [0] * (_COLUMNS + 1)
    for bad in figures.bad_minutes:
        column = 1 + (bad.minute - first) * _COLUMNS // (report.until - first)
        spent[min(column, _COLUMNS)] += bad.bad
    total, left = 0, []
    for each in spent:
        total += each
        left.append(1.0 - total * share)
    return left


def _ticks(lowest: float, place: Callable[[float], float]) -> Iterator[Tick]:
    shown: list[float] = []
    for ratio in (0.0, 1.0, lowest):
        y = place(ratio)
        if all(abs(y - other) >= _APART for other in shown):
            shown.append(y)
            yield Tick(y, "spent" if ratio == 0 else f"{100 * ratio:,.0f} %")


def _cells(report: Report, one: ObjectiveReport, first: int) -> Iterator[Cell]:
    scale = WIDTH / (report.until - first)
    for day in one.figures.days:
        begins = max(first, day.day * DAY_MINUTES)
        until = min(report.until, (day.day + 1) * DAY_MINUTES)
        bad = f", {day.bad:,} of {day.valid:,} bad" if day.valid else ""
        yield Cell(
            round((begins - first) * scale, 2),
            round((until - begins) * scale, 2),
            day.coverage_ratio,
            f"{day_text(day.day)}: {100 * day.coverage_ratio:.0f} % observed{bad}",
        )
