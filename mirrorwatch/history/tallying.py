"""Reads the counts of one flow's objectives from the store."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from alerts.minutes.tables import DAY_ROWS as AGE_DAYS
from alerts.minutes.tables import FLOOR_S, read_days
from alerts.objectives import longest_window_s
from alerts.reports import Tally, probe_tally, value_tally
from canary.persistence import history
from canary.persistence.tables import DAY_ROWS as PROBE_DAYS
from fleet.probe_history import DAY_MINUTES, MINUTE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alerts.objectives import Objective
    from fleet.probe_history import ProbeDay, ValueRun
    from mirrorwatch.configuration.configuration import Configuration
    from runtime.store.store import Store

WRITTEN_S = 15.0  # after this, the store has everything
Span = tuple[int, int]  # minutes: the first, and the one after the last


def last_final_minute(config: Configuration, now_at: float) -> int:
    """Return the minute before which every probe has its outcome."""
    thresholds = [one.threshold_s for one in config.canary_flows]
    return int((now_at - max(config.canary.horizon, *thresholds, 0.0) - WRITTEN_S) // MINUTE_S)


def first_minute_of(until: int, period_s: float) -> int:
    """Return the start of a period that ends before `until`; of a day (UTC) if it is longer than 3 days.

    A finished day is one row of the store, and the period of every objective is longer.
    """
    first = until - int(period_s // MINUTE_S)
    return first // DAY_MINUTES * DAY_MINUTES if period_s > longest_window_s() else first


async def tallies_of(
    store: Store, objectives: Sequence[Objective], spans: Sequence[Span]
) -> list[list[Tally]]:
    """Return the tallies of each objective of a flow, by day.

    Raises UnavailableError if the store cannot be read.
    """
    flow = objectives[0].flow
    limits_s = _limits_s(objectives)
    probes: list[ProbeDay] = []
    values: list[tuple[int, list[ValueRun]]] = []
    if any(one.kind.counts_probes for one in objectives):
        probes = await store.read(partial(history.read_days, flow=flow, spans=spans))
    if limits_s:
        exact = min(limits_s) < FLOOR_S
        values = await store.read(partial(read_days, flow=flow, spans=spans, exact=exact))

    def tallies() -> list[list[Tally]]:
        return [
            [probe_tally(one, day) for day in probes]
            if one.kind.counts_probes
            else [value_tally(one, day, runs) for day, runs in values]
            for one in objectives
        ]

    return await asyncio.to_thread(tallies)  # a month of bad minutes takes a quarter of a second


async def first_minute(store: Store, objectives: Sequence[Objective]) -> int | None:
    """Return the first minute with data of a flow for its objectives, or None."""
    kept = [PROBE_DAYS, AGE_DAYS] if _limits_s(objectives) else [PROBE_DAYS]
    found = [await store.read(partial(one.first_minute, flow=objectives[0].flow)) for one in kept]
    return min((one for one in found if one is not None), default=None)


def _limits_s(objectives: Sequence[Objective]) -> list[float]:
    return [one.limit_s for one in objectives if one.limit_s is not None]
