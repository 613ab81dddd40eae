"""Comparison of a report with the same SLI in Prometheus. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from alerts.objectives.counters import AGES, COUNTERS
from alerts.reports.wording import covered_text, share_text
from alerts.rules.rule import number, quoted, selector

if TYPE_CHECKING:
    from collections.abc import Mapping

    from alerts.objectives.objective import Objective
    from alerts.reports.report import ObjectiveReport

_LITTLE = 0.95  # with a smaller share of the store's minutes, a comparison is of little value


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Prometheus' answer about an objective: its SLI, and its minutes as a share of the store's.

    `why_not` is the reason if it was not compared.
    """

    sli_ratio: float | None = None
    held_ratio: float | None = None
    why_not: str = ""


def queries_of(objective: Objective, period_s: float) -> Mapping[str, str]:
    """Return queries for `good`, `valid` and `minutes` at the end of the period; empty if there are none.

    `minutes` are those with a sample of any replica: each independent one counts its own probes.
    """
    matcher = f"flow={quoted(objective.flow)}"
    if objective.slice_ratio is not None:
        return {}
    span = f"[{period_s:.0f}s:1m]"
    if objective.kind in COUNTERS:
        good, valid = (selector(one.full_name, matcher) for one in COUNTERS[objective.kind])
        return {
            "good": f"sum(increase({good}[{period_s:.0f}s]))",
            "valid": f"sum(increase({valid}[{period_s:.0f}s]))",
            "minutes": f"count_over_time(max({valid}){span})",
        }
    if objective.kind in AGES:
        age = f"max({selector(AGES[objective.kind].full_name, matcher)})"
        limit = number(objective.limit_s or 0.0)
        return {
            "good": f"60 * sum_over_time(({age} <= bool {limit}){span})",
            "valid": f"60 * count_over_time({age}{span})",
            "minutes": f"count_over_time({age}{span})",
        }
    return {}


def reconciled_of(one: ObjectiveReport, values: Mapping[str, float | None]) -> Reconciled:
    """Return the comparison; a value is None if Prometheus has no data."""
    if not values:
        return Reconciled(why_not="it has no such series")
    good, valid = values.get("good"), values.get("valid")
    if not valid:
        return Reconciled(why_not="it has no data of this period")
    minutes, observed = values.get("minutes"), one.figures.observed_minutes
    return Reconciled((good or 0.0) / valid, minutes / observed if minutes and observed else None)


def difference_text(one: ObjectiveReport, found: Reconciled) -> str:
    """Write the difference between the report and Prometheus for an objective."""
    name = f"{one.objective.flow} {one.name}"
    if found.why_not:
        return f"{name}: not compared with Prometheus: {found.why_not}."
    if found.sli_ratio is None or one.figures.sli_ratio is None:
        return f"{name}: {share_text(found.sli_ratio)} in Prometheus, no data here."
    points = 100 * (found.sli_ratio - one.figures.sli_ratio)
    said = f"{name}: {share_text(found.sli_ratio)} in Prometheus, a difference of {points:+.4f} points"
    if found.held_ratio is not None and found.held_ratio < _LITTLE:
        said += f"; Prometheus holds only {covered_text(found.held_ratio)} of what the store counts"
    return said + "."
