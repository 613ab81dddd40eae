"""Read what objectives of one flow count, from the store."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from alerts.minutes.tables import FLOOR_S, read_days
from alerts.reports import Tally, probe_tally, value_tally
from canary import history
from fleet.probe_history import MINUTE_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alerts.objectives import Objective
    from fleet.probe_history import ValueRun
    from mirrorwatch.configuration import Configuration
    from runtime.store import Store

WRITTEN_S = 15.0  # what is known is in the store by then
Span = tuple[int, int]  # minutes: the first, and the one after the last


def last_final_minute(config: Configuration, now_at: float) -> int:
    """Return the minute up to which every probe has its outcome; it is not part of it."""
    thresholds = [one.threshold_s for one in config.canary_flows]
    return int((now_at - max(config.canary.horizon, *thresholds, 0.0) - WRITTEN_S) // MINUTE_S)


async def tallies_of(
    store: Store, objectives: Sequence[Objective], spans: Sequence[Span]
) -> tuple[int | None, list[list[Tally]]]:
    """Return the first minute that is known of a flow, and the tallies of each of its objectives by day.

    Raises UnavailableError where the store cannot be read.
    """
    flow = objectives[0].flow
    limits_s = [one.limit_s for one in objectives if one.limit_s is not None]
    oldest, probes = await store.read(partial(history.read_days, flow=flow, spans=spans))
    oldest_value: int | None = None
    values: list[tuple[int, list[ValueRun]]] = []
    if limits_s:
        exact = min(limits_s) < FLOOR_S
        oldest_value, values = await store.read(partial(read_days, flow=flow, spans=spans, exact=exact))
    tallies = [
        [probe_tally(one, day) for day in probes]
        if one.kind.counts_probes
        else [value_tally(one, day, runs) for day, runs in values]
        for one in objectives
    ]
    return min((one for one in (oldest, oldest_value) if one is not None), default=None), tallies
