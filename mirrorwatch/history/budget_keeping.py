"""Keeps the error budget of each objective for `/metrics`.

Reads the whole period at the start, once an hour and at the end of each day; each minute adds what is final.
Period and budget are those of a report.

The budget is that of the whole period: time that was not observed spends nothing, as for burn-rate alerts. So
a flow that is watched for half an hour has not missed an objective of 28 days by one bad minute.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from alerts.minutes.tables import exclusions
from alerts.reports import burn_of, expected_by_day, observed_of
from fleet.errors import UnavailableError
from fleet.probe_history import DAY_MINUTES, without
from mirrorwatch.history.tallying import first_minute_of, tallies_of
from mirrorwatch.service.view import ObjectiveView

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from alerts.objectives import Objective
    from alerts.reports import Tally
    from canary.report import Reporter
    from mirrorwatch.history.tallying import Span
    from mirrorwatch.service.view import FlowView
    from runtime.process.clock import WaitingClock
    from runtime.store.store import Store

WHERE = "error budgets"
ROUND_S = 60.0
WHOLE_MINUTES = 60


@dataclass(frozen=True, slots=True)
class _Sums:
    """Counts of an objective from the start of its period up to a minute; minutes of the last day apart."""

    until: int
    read_at: int  # the minute in which the whole period was read
    good: int = 0
    valid: int = 0
    earlier_observed: float = 0.0
    earlier_expected: int = 0
    last_minutes: float = 0.0
    last_expected: int = 0

    def and_then(self, tallies: Sequence[Tally], spans: Sequence[Span], until: int) -> _Sums:
        """Return the sums with new counts added, of these spans of minutes.

        Counts that follow others are of the day of these: a new day is read with the whole period.
        """
        expected = expected_by_day(spans)
        minutes = {one.day: one.minutes for one in tallies}
        last_day = expected.pop(until // DAY_MINUTES, 0)
        return _Sums(
            until,
            self.read_at,
            self.good + sum(one.good for one in tallies),
            self.valid + sum(one.valid for one in tallies),
            self.earlier_observed
            + sum(observed_of(minutes.get(day, 0.0), most) for day, most in expected.items()),
            self.earlier_expected + sum(expected.values()),
            self.last_minutes + minutes.get(until // DAY_MINUTES, 0.0),
            self.last_expected + last_day,
        )

    def burn(self, objective: Objective) -> float | None:
        """Return the share of the period's budget that is spent; None without data or budget."""
        return burn_of(
            objective,
            bad=self.valid - self.good,
            valid=self.valid,
            observed_minutes=self.earlier_observed + observed_of(self.last_minutes, self.last_expected),
            expected_minutes=self.earlier_expected + self.last_expected,
        )


class BudgetKeeping:
    """Keeps `objectives` with their remaining budgets, in the order of the configuration."""

    def __init__(
        self,
        store: Store,
        *,
        objectives: Sequence[Objective],
        until: Callable[[float], int],
        clock: WaitingClock,
        reporter: Reporter,
    ) -> None:
        """Create it; `until` returns the last final minute at a time (epoch s)."""
        self.objectives: tuple[ObjectiveView, ...] = ()
        self._by_flow: dict[str, list[ObjectiveView]] = {}
        self._store = store
        self._until = until
        self._clock = clock
        self._reporter = reporter
        self._sums: dict[Objective, _Sums] = {}
        self._never = asyncio.Event()  # waited for with a timeout, where nothing but time ends a wait
        self.use(objectives)

    def use(self, objectives: Sequence[Objective]) -> None:
        """Keep budgets of these objectives from now on."""
        self._objectives = tuple(objectives)
        self._sums = {one: held for one, held in self._sums.items() if one in self._objectives}
        self._show()

    async def keep(self) -> None:
        """Read new minutes every minute, until cancelled."""
        while True:
            await self.go_round()
            await self._clock.wait(self._never, timeout_s=ROUND_S)

    async def go_round(self) -> None:
        """Read the new minutes of each objective."""
        until = self._until(self._clock.wall_s())
        try:
            left_out = await self._store.read(exclusions)
            for (flow, since), wanted in self._due(until).items():
                excluded = [(each.first, each.until) for each in left_out if each.flow == flow]
                spans = without((since, until), excluded)
                tallies = await tallies_of(self._store, wanted, spans)
                for one, each in zip(wanted, tallies, strict=True):
                    self._sums[one] = self._held(one, until).and_then(each, spans, until)
        except UnavailableError as error:
            self._reporter.problem(WHERE, str(error))
        else:
            self._reporter.settled(WHERE)
        self._show()

    def _due(self, until: int) -> dict[tuple[str, int], list[Objective]]:
        """Return the objectives to read together: by flow and first minute."""
        found: dict[tuple[str, int], list[Objective]] = {}
        for one in self._objectives:
            found.setdefault((one.flow, self._held(one, until).until), []).append(one)
        return found

    def _held(self, objective: Objective, until: int) -> _Sums:
        """Return the counts of an objective to add to; None if the whole period is due."""
        held = self._sums.get(objective)
        new_day = held is not None and held.until // DAY_MINUTES != until // DAY_MINUTES
        if held is None or new_day or not held.until <= until < held.read_at + WHOLE_MINUTES:
            return _Sums(first_minute_of(until, objective.period_s), until)
        return held

    def shown(self, flow: FlowView) -> FlowView:
        """Return a flow's view with its objectives."""
        return replace(flow, objectives=tuple(self._by_flow.get(flow.flow, ())))

    def _show(self) -> None:
        self.objectives = tuple(_view(one, self._sums.get(one)) for one in self._objectives)
        self._by_flow = {}
        for one in self.objectives:
            self._by_flow.setdefault(one.objective.flow, []).append(one)


def _view(objective: Objective, sums: _Sums | None) -> ObjectiveView:
    burn = None if sums is None else sums.burn(objective)
    return ObjectiveView(objective, None if burn is None else 1.0 - burn)
