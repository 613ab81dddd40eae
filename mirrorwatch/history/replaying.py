"""Replays the alerts of a configuration over the minutes in its store."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from alerts.minutes.tables import read_days
from alerts.objectives.objective import ObjectiveKind
from alerts.reports.replay import (
    LEAST_OF_INCIDENT,
    Replayed,
    counts_of,
    missed,
    replay_burn,
    replay_symptoms,
)
from alerts.reports.wording import bad_text, objective_text, period_text, stretch_text
from canary.persistence.history import read_minutes
from fleet.probe_history import MINUTE_S
from fleet.quantity import count_text, duration_text
from mirrorwatch.history.reporting import figures_by_flow, flows_of, period_of, reading_made
from mirrorwatch.history.tallying import first_minute_of, last_final_minute

if TYPE_CHECKING:
    from alerts.objectives import Objective
    from alerts.reports.arithmetic import Stretch
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.history.tallying import Span
    from runtime.store.store import Store

_NOTE = (
    "Probes count in the minute in which they were due: an alert may start or end some minutes apart from"
    " Prometheus. A symptom that was over within a minute is not seen. Excluded time counts."
)


async def replay(config: Configuration, *, now_at: float) -> list[str]:
    """Return lines: what each alert would have done, and bad periods without an alert.

    Raises UnavailableError if the store is not made or cannot be read.
    """
    until = last_final_minute(config, now_at)
    span = (first_minute_of(until, period_of(config.objectives_to("replay"))), until)
    alerts: list[Replayed] = []
    unseen: list[tuple[Objective, Stretch]] = []
    incidents = observed = 0
    async with reading_made(config) as store:
        for flow, wanted in flows_of(config).items():
            found, minutes = await _flow(store, flow, wanted, span)
            alerts += found
            observed += minutes
            for one, figures in zip(wanted, await figures_by_flow(store, wanted, [span]), strict=True):
                if one.kind in (ObjectiveKind.AVAILABILITY, ObjectiveKind.FRESHNESS):
                    incidents += sum(each.bad >= LEAST_OF_INCIDENT for each in figures.stretches)
                    unseen += [(one, each) for each in missed(figures.stretches, found)]
    if not observed:
        return [f"No data: the store holds nothing of {period_text(*span)}."]
    announced = f"{incidents - len(unseen)} of {incidents} bad times of {LEAST_OF_INCIDENT} probes or more"
    return [
        f"{period_text(*span)}; {count_text(observed, 'minute')} observed over all flows.",
        "",
        *_table([_row(one) for one in alerts]),
        "",
        f"{announced} were announced.",
        *(
            f"missed: {one.flow} {objective_text(one)}, {stretch_text(each)},"
            f" {bad_text(one, each.bad)} {each.what}"
            for one, each in unseen
        ),
        "",
        _NOTE,
    ]


async def _flow(
    store: Store, flow: str, objectives: list[Objective], span: Span
) -> tuple[list[Replayed], int]:
    """Return what the alerts of a flow would have done, and the number of observed minutes."""
    minutes = {one.minute: one for one in await store.read(partial(read_minutes, flow=flow, span=span))}
    days = await store.read(partial(read_days, flow=flow, spans=[span], exact=True))
    values = {run.first: run for _, runs in days for run in runs}
    limits_s = [one.limit_s for one in objectives if one.kind is ObjectiveKind.RECOVERY_POINT]
    alerts = replay_symptoms(flow, minutes, values, limit_s=limits_s[0] if limits_s else None)
    for one in objectives:
        if one.kind is not ObjectiveKind.LOSS:
            alerts += replay_burn(one, counts_of(one, minutes, values, span))
    return alerts, len(minutes.keys() | values.keys())


def _row(one: Replayed) -> tuple[str, ...]:
    longest = max((last - first + 1 for first, last in one.firings), default=0)
    return (
        one.flow,
        one.name,
        one.detail,
        one.severity,
        str(len(one.firings)),
        duration_text(one.total_minutes * MINUTE_S) if one.firings else "",
        duration_text(longest * MINUTE_S) if one.firings else "",
    )


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    table = [("flow", "alert", "of", "severity", "fired", "in all", "longest"), *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
