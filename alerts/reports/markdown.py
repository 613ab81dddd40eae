"""The report as Markdown. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alerts.reports.report import POLICY
from alerts.reports.wording import (
    NOTHING,
    bad_text,
    budget_text,
    burn_text,
    coverage_text,
    outlook_text,
    share_text,
    stretch_text,
    time_text,
    trend_text,
    when_text,
)
from fleet.quantity import duration_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from alerts.reports.report import ObjectiveReport, Report

_HEAD = (
    "flow",
    "objective",
    "result",
    "target",
    "SLI",
    "budget left",
    "burn",
    "coverage",
    "trend",
    "runs out",
)
_SPECIAL = str.maketrans({character: f"\\{character}" for character in r"\`*_[]<|~"} | {"\n": " "})


def markdown(report: Report) -> str:
    """Return the report as Markdown."""
    return "\n".join(
        (
            "# Mirrorwatch report",
            "",
            f"**{_escaped(report.first_line)}**",
            "",
            f"{report.period}.",
            "",
            *_table(_HEAD, (_row(one) for one in report.objectives)),
            "",
            f"{POLICY} Burn 1 spends a budget evenly over the period.",
            *_stretches(report),
            *_exclusions(report),
            *_rehearsals(report),
            *(line for note in report.notes for line in ("", _escaped(note))),
            "",
        )
    )


def _row(one: ObjectiveReport) -> tuple[str, ...]:
    figures = one.figures
    return (
        one.objective.flow,
        one.name,
        one.result,
        share_text(one.objective.target_ratio),
        share_text(figures.sli_ratio),
        budget_text(figures.budget_left_ratio),
        burn_text(figures.burn),
        coverage_text(figures),
        trend_text(figures, one.before),
        outlook_text(one.objective, figures),
    )


def _stretches(report: Report) -> Iterator[str]:
    yield from ("", "## Worst bad periods", "")
    rows = [
        (
            one.objective.flow,
            one.name,
            stretch_text(stretch),
            bad_text(one.objective, stretch.bad),
            budget_text(stretch.budget_ratio),
            one.cause_of(stretch),
        )
        for one, stretch in report.worst_stretches()
    ]
    if not rows:
        yield "None: no bad minutes observed."
        return
    yield from _table(("flow", "objective", "when (UTC)", "bad", "budget spent", "cause"), rows)


def _exclusions(report: Report) -> Iterator[str]:
    yield from ("", "## Excluded time", "")
    rows = [
        (one.flow, f"{time_text(one.first)} to {time_text(one.until)}", one.author, one.reason)
        for one in report.exclusions
    ]
    if not rows:
        yield "None."
        return
    yield from _table(("flow", "when (UTC)", "author", "reason"), rows)


def _rehearsals(report: Report) -> Iterator[str]:
    yield from ("", "## Rehearsed failovers", "")
    rows = [
        (one.flow, when_text(one.began_at), duration_text(round(one.took_s)), one.outcome, one.sentence)
        for one in report.rehearsals
    ]
    if not rows:
        yield "None."
        return
    yield from _table(("flow", "when (UTC)", "took", "outcome", "last step"), rows)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(_escaped(cell) or NOTHING for cell in row)} |"


def _escaped(text: str) -> str:
    return text.translate(_SPECIAL)
