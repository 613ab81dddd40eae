"""Keeps the error budget of each objective for `/metrics`.

Reads the whole period at the start, once an hour and at the end of each day; each minute adds what is final.
The period starts with a day (UTC), so that whole days are one row.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from alerts.minutes.tables import exclusions
from alerts.reports import burn_of
from fleet.errors import UnavailableError
from fleet.probe_history import DAY_MINUTES, MINUTE_S, without
from mirrorwatch.history.tallying import tallies_of
from mirrorwatch.service.view import ObjectiveView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from alerts.objectives import Objective
    from alerts.reports import Tally
    from canary.report import Reporter
    from mirrorwatch.service.view import FlowView
    from runtime.process.clock import WaitingClock
    from runtime.store.store import Store

WHERE = "error budgets"
ROUND_S = 60.0
WHOLE_MINUTES = 60


@dataclass(frozen=True, slots=True)
class _Sums:
    """Counts of an objective from the start of its period up to a minute."""

    good: int
    valid: int
    until: int
    read_at: int  # the minute in which the whole period was read

    def and_then(self, tallies: Iterable[Tally], until: int) -> _Sums:
        """Return the sums with new counts added."""
        good, valid = self.good, self.valid
        for one in tallies:
            good, valid = good + one.good, valid + one.valid
        return _Sums(good, valid, until, self.read_at)


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
                spans = [(each.first, each.until) for each in left_out if each.flow == flow]
                tallies = await tallies_of(self._store, wanted, without((since, until), spans))
                for one, each in zip(wanted, tallies, strict=True):
                    self._sums[one] = self._held(one, until).and_then(each, until)
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
            first = (until - int(objective.period_s // MINUTE_S)) // DAY_MINUTES * DAY_MINUTES
            return _Sums(0, 0, first, until)
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
    burn = None if sums is None else burn_of(objective, sums.valid - sums.good, sums.valid)
    return ObjectiveView(objective, None if burn is None else 1.0 - burn)
