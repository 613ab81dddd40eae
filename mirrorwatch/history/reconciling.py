"""Queries Prometheus for the SLIs of a report."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from alerts.reports.reconciling import difference_text, queries_of, reconciled_of
from fleet.errors import MalformedError, UnavailableError
from fleet.probe_history import MINUTE_S
from runtime.http.client import get

if TYPE_CHECKING:
    from alerts.reports import Report


async def reconciled(report: Report, address: str) -> Report:
    """Return the report with notes about differences from Prometheus, or about a failed query."""
    period_s = (report.until - report.first) * MINUTE_S
    notes: list[str] = []
    for one in report.objectives:
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
