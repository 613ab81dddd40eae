"""The report as JSON: shares from 0 to 1, durations in seconds, times in RFC 3339. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from alerts.reports.report import MAX_STRETCHES, POLICY
from alerts.reports.wording import day_text, minute_time
from fleet.dialect import moment_text

if TYPE_CHECKING:
    from alerts.reports.arithmetic import Figures
    from alerts.reports.report import ObjectiveReport, Report


def document(report: Report) -> dict[str, Any]:
    """Return the report as a document for JSON."""
    return {
        "summary": report.first_line,
        "from": _time(report.first),
        "to": _time(report.until),
        "unknown_policy": POLICY,
        "objectives": [_objective(report, one) for one in report.objectives],
        "exclusions": [
            {
                "number": one.number,
                "flow": one.flow,
                "from": _time(one.first),
                "to": _time(one.until),
                "author": one.author,
                "reason": one.reason,
            }
            for one in report.exclusions
        ],
        "rehearsals": [
            {
                "flow": one.flow,
                "from": moment_text(one.began_at),
                "to": moment_text(one.ended_at),
                "groups": one.groups,
                "complete": one.complete,
                "steps": [
                    {"step": step.step, "at": moment_text(step.at), "sentence": step.sentence}
                    for step in one.steps
                ],
            }
            for one in report.rehearsals
        ],
        "notes": list(report.notes),
    }


def _objective(report: Report, one: ObjectiveReport) -> dict[str, Any]:
    objective = one.objective
    unit = "seconds" if objective.kind.has_limit else "probes"
    return {
        "flow": objective.flow,
        "source": objective.source,
        "target": objective.target,
        "objective": objective.kind.value,
        "unit": unit if objective.slice_ratio is None else "minutes",
        "target_ratio": objective.target_ratio,
        "limit_s": objective.limit_s,
        "slice_ratio": objective.slice_ratio,
        "from": _time(report.first_of(one)),
        "met": one.met,
        "excluded": one.excluded,
        **_figures(one.figures),
        "before": None if one.before is None else _figures(one.before),
        "stretches": [
            {
                "from": _time(stretch.first),
                "to": _time(stretch.last + 1),
                "bad": stretch.bad,
                "budget_spent_ratio": stretch.budget_ratio,
                "cause": one.cause_of(stretch),
            }
            for stretch in one.figures.stretches[:MAX_STRETCHES]
        ],
        "stretch_count": len(one.figures.stretches),
        "days": [
            {
                "day": day_text(day.day),
                "coverage_ratio": day.coverage_ratio,
                "bad": day.bad,
                "valid": day.valid,
            }
            for day in one.figures.days
        ],
    }


def _figures(figures: Figures) -> dict[str, Any]:
    return {
        "sli_ratio": figures.sli_ratio,
        "sli_ratio_if_unobserved_was_bad": figures.worst_sli_ratio,
        "good": figures.good,
        "valid": figures.valid,
        "unknown_probes": figures.unknown,
        "budget_left_ratio": figures.budget_left_ratio,
        "burn": figures.burn,
        "recent_burn": figures.recent_burn,
        "exhausted_in_s": figures.exhausted_in_s,
        "coverage_ratio": figures.coverage_ratio,
        "observed_minutes": figures.observed_minutes,
        "expected_minutes": figures.expected_minutes,
    }


def _time(minute: int) -> str:
    return minute_time(minute).strftime("%Y-%m-%dT%H:%M:%SZ")
