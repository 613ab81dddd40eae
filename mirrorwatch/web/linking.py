"""Addresses of pages, runbooks and dashboards. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from fleet.verdicts.vocabulary import Verdict

if TYPE_CHECKING:
    from fleet.verdicts.vocabulary import Cause

_RUNBOOKS = {
    Verdict.LOSING: "MirrorwatchRecordsLost",
    Verdict.ALTERED: "MirrorwatchDataAltered",
    Verdict.STALLED: "MirrorwatchReplicationStalled",
    Verdict.REPEATING: "MirrorwatchRecordsRepeat",
    Verdict.LATE: "MirrorwatchReplicationLate",
    Verdict.UNKNOWN: "MirrorwatchFlowUnknown",
}


@dataclass(frozen=True, slots=True)
class PageLinks:
    """Base addresses of pages; `service` is empty for links within the service; None: no such pages."""

    service: str = ""
    grafana: str | None = None
    runbooks: str | None = None

    def flow(self, source: str, target: str) -> str:
        """Return the address of a flow's page."""
        return f"{self.service}/flows/{quote(f'{source}:{target}', safe=':')}"

    def incident(self, incident: str) -> str:
        """Return the address of an incident's page."""
        return f"{self.service}/incidents/{quote(incident, safe='')}"

    def runbook(self, name: str) -> str:
        """Return the address of a runbook."""
        return f"{self.runbooks}/{name}.md" if self.runbooks else f"{self.service}/runbooks/{name}"

    def dashboard(self, flow: str) -> str | None:
        """Return the address of a flow's dashboard."""
        if self.grafana is None:
            return None
        return f"{self.grafana}/d/mirrorwatch-flow?var-flow={quote(flow, safe='')}"


WITHIN = PageLinks()
"""Links within this service."""


def runbook_of(verdict: Verdict, cause: Cause | None) -> str | None:
    """Return the runbook of a cause, or of a verdict without a cause; None for healthy."""
    return _RUNBOOKS.get(verdict) if cause is None else cause.value
