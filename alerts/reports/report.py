"""The report of all objectives over one period, with its summary. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alerts.objectives.burn import longest_window_s
from alerts.objectives.objective import Objective, ObjectiveKind
from alerts.reports.wording import (
    COVERED_RATIO,
    budget_text,
    covered_text,
    objective_text,
    period_text,
    time_text,
)
from alerts.rules.rule import promql_duration
from fleet.probe_history import DAY_MINUTES, MINUTE_S
from fleet.quantity import count_text, duration_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alerts.incidents import Incident
    from alerts.objectives import Exclusion
    from alerts.rehearsals.rehearsal import Rehearsal
    from alerts.reports.arithmetic import Figures, Stretch

POLICY = (
    "Probes whose outcome is unknown, and time that was not observed, are neither good nor bad: they leave"
    " the SLI as it is, lower the coverage and spend no budget."
)
MAX_STRETCHES = 10


@dataclass(frozen=True, slots=True)
class ObjectiveReport:
    """One objective with its figures, and those of the period before.

    `first` is the first minute of its own period, None if that is the report's.
    """

    objective: Objective
    figures: Figures
    before: Figures | None = None
    causes: dict[int, str] = field(default_factory=dict)  # by the first minute of a stretch
    first: int | None = None

    @property
    def name(self) -> str:
        """Name the objective and what is good in it, with its period unless that is the report's."""
        period = "" if self.first is None else f" over {duration_text(self.objective.period_s)}"
        return objective_text(self.objective) + period

    @property
    def met(self) -> bool | None:
        """Return whether the objective is met, so that its budget is not overspent; None without data."""
        if self.figures.sli_ratio is None:
            return None
        if self.objective.kind is ObjectiveKind.LOSS:
            return self.figures.bad == 0
        return (self.figures.budget_left_ratio or 0.0) >= 0

    @property
    def excluded(self) -> bool:
        """Return whether all of its period is excluded."""
        return self.figures.expected_minutes == 0

    @property
    def result(self) -> str:
        """Return the result as a word or two."""
        if self.excluded:
            return "excluded"
        return {True: "met", False: "MISSED", None: "no data"}[self.met]

    @property
    def covered(self) -> bool:
        """Return whether nearly all of the period was observed."""
        return self.figures.coverage_ratio >= COVERED_RATIO

    def cause_of(self, stretch: Stretch) -> str:
        """Return the cause of a stretch, if known."""
        return self.causes.get(stretch.first, stretch.what)


@dataclass(frozen=True, slots=True)
class Report:
    """All objectives between two minutes, without the second; some may start later."""

    first: int
    until: int
    objectives: tuple[ObjectiveReport, ...]
    exclusions: tuple[Exclusion, ...] = ()
    notes: tuple[str, ...] = ()
    rehearsals: tuple[Rehearsal, ...] = ()

    def first_of(self, one: ObjectiveReport) -> int:
        """Return the first minute of an objective's period."""
        return self.first if one.first is None else one.first

    @property
    def period(self) -> str:
        """Return the period as text."""
        return period_text(self.first, self.until)

    @property
    def first_line(self) -> str:
        """Return the first line: whether there is data, how much, and what was missed."""
        due = [one for one in self.objectives if not one.excluded]
        if not due:
            return f"Excluded: the whole period of {_all_of(len(self.objectives))}."
        return " ".join(filter(None, (self._first_sentences(due), self._excluded)))

    @property
    def _excluded(self) -> str:
        """Name the objectives whose whole period is excluded; empty if there is none."""
        names = [f"{one.objective.flow} {one.name}" for one in self.objectives if one.excluded]
        if not names:
            return ""
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        return f"Excluded: the whole period of {names[0]}{more}."

    def _first_sentences(self, due: Sequence[ObjectiveReport]) -> str:
        """Return what is known of the objectives whose period is not excluded."""
        empty = [one for one in due if one.figures.sli_ratio is None]
        partly = [one for one in due if one.figures.sli_ratio is not None and not one.covered]
        count = len(due)
        if len(empty) == count:
            return f"No data: the store holds nothing of this period for {_all_of(count)}."
        if empty or partly:
            least = min(due, key=lambda one: one.figures.coverage_ratio)
            where = f"{least.objective.flow} {least.name}"
            share = covered_text(least.figures.coverage_ratio)
            return (
                f"Partly covered: {len(empty) + len(partly)} of {count_text(count, 'objective')} lack data,"
                f" most of all {where} ({share} covered). {self.result}"
            )
        return self.result

    @property
    def result(self) -> str:
        """Return how many objectives are met, of those with data."""
        judged = [one for one in self.objectives if one.met is not None]
        missed = [one for one in judged if not one.met]
        if not missed:
            return f"Met: {_all_of(len(judged))}."
        worst = min(missed, key=lambda one: one.figures.budget_left_ratio or 0.0)
        left = worst.figures.budget_left_ratio
        budget = "" if left is None else f", budget left {budget_text(left)}"
        named = f"{worst.objective.flow} {worst.name}"
        return f"Missed: {len(missed)} of {count_text(len(judged), 'objective')}, worst {named}{budget}."

    def worst_stretches(self) -> list[tuple[ObjectiveReport, Stretch]]:
        """Return the bad stretches that spent most of a budget; losses, which have none, come first."""
        every = [(one, stretch) for one in self.objectives for stretch in one.figures.stretches]
        return sorted(
            every,
            key=lambda each: (each[1].budget_ratio is not None, -(each[1].budget_ratio or each[1].bad)),
        )[:MAX_STRETCHES]


def causes_of(stretches: Sequence[Stretch], incidents: Sequence[Incident]) -> dict[int, str]:
    """Return conditions and causes of incidents, by the first minute of each stretch."""
    found = {}
    for one in stretches[:MAX_STRETCHES]:
        begins, ends = (one.first - 1) * MINUTE_S, (one.last + 2) * MINUTE_S
        then = [each for each in incidents if each.started_at < ends and each.bad_until_at >= begins]
        causes = dict.fromkeys(cause.value for each in then for cause in each.causes)
        if causes:
            found[one.first] = f"{one.what}: {', '.join(causes)}"
    return found


def file_name(report: Report, form: str) -> str:
    """Return the file name of a report: its last day, its period and the format."""
    minutes = report.until - report.first
    if minutes * MINUTE_S > longest_window_s():  # it starts with a day, so it also has a part of one
        minutes = minutes // DAY_MINUTES * DAY_MINUTES
    length = promql_duration(minutes * MINUTE_S)
    return f"mirrorwatch-{time_text(report.until)[:10]}-{length}.{form}"


def _all_of(count: int) -> str:
    return {1: "the only objective", 2: "both objectives"}.get(count, f"all {count} objectives")
