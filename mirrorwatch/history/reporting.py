"""Makes a report from the store of a configuration, and compares it with Prometheus."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from alerts.incident_tables import incidents_between
from alerts.minutes.tables import exclusions
from alerts.rehearsals.tables import rehearsals_between
from alerts.reports import (
    ObjectiveReport,
    Report,
    causes_of,
    document,
    figures_of,
    markdown,
)
from alerts.reports.reconciling import difference_text, queries_of, reconciled_of
from fleet.errors import MalformedError, UnavailableError
from fleet.probe_history import MINUTE_S, without
from mirrorwatch.history.made_store import made_store
from mirrorwatch.history.tallying import first_minute, first_minute_of, last_final_minute, tallies_of
from mirrorwatch.service.store_parts import opened
from mirrorwatch.web.pages.page import Page
from runtime.http.client import get
from runtime.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractAsyncContextManager

    from alerts.objectives import Objective
    from alerts.reports import Figures
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.history.tallying import Span

LIMIT_S = 120.0  # of reading one flow


async def make_report(config: Configuration, *, period_s: float | None, now_at: float) -> Report:
    """Return the report over a period (s) that ends now; by default over that of each objective.

    Raises ConfigurationError without objectives, UnavailableError if the store is not made or cannot be read.
    """
    objectives = config.objectives_to("report")
    until = last_final_minute(config, now_at)
    first = first_minute_of(until, period_s or period_of(objectives))
    found: dict[Objective, ObjectiveReport] = {}
    async with reading_made(config) as store:
        excluded = await store.read(exclusions)
        for flow, wanted in flows_of(config).items():
            left_out = [(one.first, one.until) for one in excluded if one.flow == flow]
            starts = [first_minute_of(until, period_s or one.period_s) for one in wanted]
            for start in dict.fromkeys(starts):
                some = [one for one, begins in zip(wanted, starts, strict=True) if begins == start]
                for made in await _flow(store, some, (start, until), left_out):
                    found[made.objective] = made if start == first else replace(made, first=start)
        wanted_rehearsals = partial(
            rehearsals_between,
            flows=list(flows_of(config)),
            since_at=first * MINUTE_S,
            until_at=until * MINUTE_S,
        )
        rehearsals = await store.read(wanted_rehearsals)
    shown = tuple(one for one in excluded if one.first < until and one.until > first)
    reports = tuple(found[one] for wanted in flows_of(config).values() for one in wanted)
    return Report(first, until, reports, shown, rehearsals=tuple(rehearsals))


def reading(config: Configuration) -> AbstractAsyncContextManager[Store | None]:
    """Open the store of a configuration for reading; None if it does not exist."""
    return opened(config, Store.open_to_read, limit_s=LIMIT_S)


def reading_made(config: Configuration) -> AbstractAsyncContextManager[Store]:
    """Open the store of a configuration for reading; raises UnavailableError if it is not made yet."""
    return made_store(config, Store.open_to_read, limit_s=LIMIT_S)


def flows_of(config: Configuration) -> dict[str, list[Objective]]:
    """Return the objectives by flow."""
    found: dict[str, list[Objective]] = {}
    for one in config.objectives:
        found.setdefault(one.flow, []).append(one)
    return found


def period_of(objectives: Sequence[Objective]) -> float:
    """Return the longest period of these objectives in seconds."""
    return max(one.period_s for one in objectives)


def texts_of(report: Report, formats: Iterable[str]) -> dict[str, str]:
    """Return the text of the report by format."""
    makers = {
        "html": lambda: Page().report(report),
        "md": lambda: markdown(report),
        "json": lambda: json.dumps(document(report)) + "\n",
    }
    return {form: makers[form]() for form in formats}


async def _flow(
    store: Store, objectives: Sequence[Objective], period: Span, left_out: Sequence[Span]
) -> list[ObjectiveReport]:
    """Return the reports of one flow's objectives, and those of the period before if it has data."""
    spans = without(period, left_out)
    first, until = period
    figures = await figures_by_flow(store, objectives, spans)
    before: Sequence[Figures | None] = [None] * len(objectives)
    oldest = await first_minute(store, objectives)
    if oldest is not None and oldest < first:
        before = await figures_by_flow(store, objectives, without((2 * first - until, first), left_out))
    flow, between = objectives[0].flow, (first * MINUTE_S, until * MINUTE_S)
    incidents = await store.read(lambda held: incidents_between(held, *between, flow=flow))
    return [
        ObjectiveReport(one, here, then, causes_of(here.stretches, incidents))
        for one, here, then in zip(objectives, figures, before, strict=True)
    ]


async def figures_by_flow(
    store: Store, objectives: Sequence[Objective], spans: Sequence[Span]
) -> list[Figures]:
    """Return the figures of one flow's objectives within spans."""
    tallies = await tallies_of(store, objectives, spans)
    return [figures_of(one, each, spans) for one, each in zip(objectives, tallies, strict=True)]


async def reconciled(report: Report, address: str) -> Report:
    """Return the report with notes about differences from Prometheus, or about a failed query."""
    notes: list[str] = []
    for one in report.objectives:
        period_s = (report.until - report.first_of(one)) * MINUTE_S
        values: dict[str, float | None] = {}
        try:
            for name, query in queries_of(one.objective, period_s).items():
                values[name] = await _value(address, query, report.until * MINUTE_S)
        except (UnavailableError, MalformedError) as error:
            why = f"{address}: {error}" if isinstance(error, MalformedError) else str(error)
            note = f"Nothing more was compared with Prometheus: {why}"
            return replace(report, notes=(*report.notes, *notes, note))
        notes.append(difference_text(one, reconciled_of(one, values)))
    if report.exclusions:
        notes.append("Prometheus counts excluded time too.")
    return replace(report, notes=(*report.notes, *notes))


async def _value(address: str, query: str, at: float) -> float | None:
    """Return the single sample of a query at a time; None if there is none."""
    parameters = {"query": [query], "time": [f"{at:.0f}"]}
    answer = await get(f"{address}/api/v1/query", parameters=parameters)
    try:
        document: Any = json.loads(answer.body)
        if document["status"] != "success":
            raise MalformedError(f"it refuses the query: {str(document.get('error'))[:200]}")
        result = document["data"]["result"]
        found = float(result[0]["value"][1]) if result else None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise MalformedError(f"it does not answer as Prometheus does (status {answer.status})") from error
    return found if found is not None and math.isfinite(found) else None
