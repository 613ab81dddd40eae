"""Groups of rules as the document for Prometheus, with links for the operator. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alerts.rules.rule import Alert, Record, promql_duration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from alerts.rules.rule import Group

# `>` may not stand in an address as it is, and Prometheus' templates cannot quote it by themselves.
_FLOW_IN_QUERY = '{{ reReplaceAll "->" "-%3E" $labels.flow }}'
_FLOW_IN_PATH = '{{ reReplaceAll "->" ":" $labels.flow }}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Base addresses of linked pages, without a final slash; None: no such pages."""

    service: str
    runbooks: str | None = None
    grafana: str | None = None

    def runbook(self, name: str) -> str:
        """Return the address of an alert's runbook."""
        return f"{self.runbooks}/{name}.md" if self.runbooks else f"{self.service}/runbooks/{name}"

    def dashboard(self, alert: Alert) -> str:
        """Return the address of the alert's dashboard."""
        if self.grafana is None:
            return f"{self.service}/flows/{_FLOW_IN_PATH}" if alert.of_flow else f"{self.service}/"
        if alert.of_flow:
            return f"{self.grafana}/d/mirrorwatch-flow?var-flow={_FLOW_IN_QUERY}"
        return f"{self.grafana}/d/mirrorwatch-service"


def rules_document(groups: Iterable[Group], links: Links) -> dict[str, Any]:
    """Return the contents of a rule file."""
    return {
        "groups": [
            {
                "name": group.name,
                "interval": promql_duration(group.interval_s),
                "rules": [
                    _alert(rule, links) if isinstance(rule, Alert) else _record(rule) for rule in group.rules
                ],
            }
            for group in groups
        ]
    }


def _record(rule: Record) -> dict[str, Any]:
    document: dict[str, Any] = {"record": rule.name, "expr": rule.expression}
    if rule.labels:
        document["labels"] = dict(rule.labels)
    return document


def _alert(rule: Alert, links: Links) -> dict[str, Any]:
    document: dict[str, Any] = {"alert": rule.name, "expr": rule.expression}
    if rule.for_s and not rule.within_s:
        document["for"] = promql_duration(rule.for_s)
    if rule.keep_s:
        document["keep_firing_for"] = promql_duration(rule.keep_s)
    document["labels"] = {"severity": rule.severity, **rule.labels}
    document["annotations"] = {
        "summary": rule.summary,
        "description": rule.description,
        "runbook_url": links.runbook(rule.name),
        "dashboard_url": links.dashboard(rule),
    }
    return document
