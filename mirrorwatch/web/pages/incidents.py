"""Contents of the pages about flows and incidents. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from alerts.incidents import GAP_S
from checksum.compare.verdicts import FINDING
from fleet.quantity import duration_text
from fleet.verdicts.vocabulary import Verdict
from mirrorwatch.web import texts
from mirrorwatch.web.linking import runbook_of
from mirrorwatch.web.pages.groups import page_of
from mirrorwatch.web.pages.mirrors import has_offsets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alerts.incidents import Bar, Incident
    from mirrorwatch.service.flow_status import FlowState
    from mirrorwatch.service.view import FlowView, ObjectiveView, ServiceView
    from mirrorwatch.web.documents import Budgets

OF_FLOW = 20  # incidents on a flow's page
_NARROWEST = 150  # a bad column is at least this fraction of a bar wide

# Top of a bar's run, of 20 units: the height shows how bad it was.
BAR_TOPS: Mapping[Verdict, int] = {
    Verdict.LOSING: 0,
    Verdict.ALTERED: 0,
    Verdict.STALLED: 0,
    Verdict.REPEATING: 3,
    Verdict.LATE: 5,
    Verdict.HEALTHY: 9,
    Verdict.UNKNOWN: 15,
}


def bar_paths(bar: Bar) -> list[tuple[str, str]]:
    """Return an SVG path for each state, first for all observed time; 20 units high."""
    paths = {"watched": ""}
    for run in bar.runs:
        if run.state is None:
            continue
        top, width = BAR_TOPS[run.state], run.count
        if run.state.is_bad:  # a fault of one minute must be visible
            width = min(max(run.count, round(bar.columns / _NARROWEST)), bar.columns - run.first)
        paths["watched"] += f"M{run.first} 0h{run.count}v20h-{run.count}z"
        paths[run.state] = paths.get(run.state, "") + f"M{run.first} {top}h{width}V20h-{width}z"
    return list(paths.items())


def bar_text(bar: Bar) -> str:
    """Write the time in each state: `healthy 23 h 10 min, stalled 12 min, not watched 38 min`."""
    if not bar.watched_minutes:
        return "not watched"
    return ", ".join(
        f"{'not watched' if state is None else state} {duration_text(60.0 * minutes)}"
        for state, minutes in sorted(bar.minutes, key=lambda one: -one[1])
    )


def incidents_names(
    incidents: Sequence[Incident],
    *,
    count: int,
    offset: int,
    opened: Sequence[Incident],
    flow: FlowView | None,
    view: ServiceView,
) -> dict[str, Any]:
    """Return what the list of incidents needs; `opened` are those that are open, on this page or another."""
    asked = {} if flow is None else {"flow": flow.flow}

    def address(at: int) -> str:
        query = urlencode({**asked, **({"offset": at} if at else {})})
        return f"/incidents?{query}" if query else "/incidents"

    worst = [one.worst.condition for one in opened if one.worst is not None]
    of_flow = "" if flow is None else f" of {flow.flow}"
    return {
        "incidents": incidents,
        "opened": len(opened),
        "headline": f"{texts.counted(len(opened), 'incident')}{of_flow} open"
        if opened
        else f"No open incidents{of_flow}",
        "verdict": min(worst, key=lambda one: one.severity, default=Verdict.UNKNOWN),
        "gap": duration_text(GAP_S).replace(" min", " minutes"),
        "flow": flow,
        "links": view.links,
        "place": page_of(offset, len(incidents), count, address, order="newest first"),
        "json_address": "/api/v1" + address(offset),
    }


def incident_names(incident: Incident, view: ServiceView, spent: Budgets) -> dict[str, Any]:
    """Return what the page of one incident needs."""
    worst = incident.worst
    verdict = worst.condition if worst is not None else Verdict.UNKNOWN
    present = worst if incident.ended else incident.present
    return {
        "incident": incident,
        "verdict": verdict,
        "links": view.links,
        "by_offsets": all(has_offsets(flow) for flow in view.flows if flow.flow == incident.flow),
        "dashboard": view.links.dashboard(incident.flow),
        "runbook": None if present is None else runbook_of(present.condition, present.cause),
        "calm_s": view.now_at - incident.bad_until_at,
        "budgets": [(kind.replace("_", " "), texts.part_text(ratio)) for kind, ratio in spent],
    }


def flow_names(
    flow: FlowView,
    view: ServiceView,
    *,
    incidents: Sequence[Incident],
    count: int,
    sentence: str,
) -> dict[str, Any]:
    """Return what the page of one flow needs; `sentence` is why its incidents cannot be read, or empty."""
    status = flow.status
    return {
        "flow": flow,
        "status": status,
        "verdict": status.worst,
        "links": view.links,
        "dashboard": view.links.dashboard(flow.flow),
        "incidents": incidents,
        "count": count,
        "sentence": sentence,
        "objectives": [
            {"name": one.objective.kind.replace("_", " "), "sentence": _objective(one)}
            for one in flow.objectives
        ],
    }


def flows_names(view: ServiceView) -> dict[str, Any]:
    """Return what the list of flows needs."""
    return {
        "flows": view.flows,
        "headline": texts.headline(view),
        "verdict": texts.worst(view),
        "links": view.links,
        "notes": missing_notes(view),
    }


def checksums_names(view: ServiceView) -> dict[str, Any]:
    """Return what the page about all checksums needs."""
    checksums = [flow.checksum for flow in view.flows if flow.checksum is not None]
    found = sum(_has_differences(flow) for flow in view.flows)
    empty = sum(not one.newest.source_records for one in checksums)
    hidden, total = view.hidden_flows, len(view.flows) + view.hidden_flows
    if not total:
        headline, verdict = "No flows configured", Verdict.UNKNOWN
    elif found:
        flows = texts.counted(found, "flow")
        headline, verdict = f"Checksums found differences on {flows}", Verdict.LOSING
    elif hidden:
        verb = "is" if hidden == 1 else "are"
        headline, verdict = f"{hidden} of {total} flows {verb} not known", Verdict.UNKNOWN
    elif len(checksums) < len(view.flows):
        missing = len(view.flows) - len(checksums)
        flows = "The flow has" if len(view.flows) == 1 else f"{missing} of {len(view.flows)} flows have"
        headline, verdict = f"{flows} no checksum yet", Verdict.UNKNOWN
    elif any(one.newest.status for one in checksums):
        headline, verdict = "Checksums incomplete: not all records were verified", Verdict.UNKNOWN
    elif empty:
        flows = texts.counted(empty, "flow")
        headline, verdict = f"The newest checksum of {flows} compared no records", Verdict.UNKNOWN
    else:
        oldest = texts.moment_text(min(one.newest.ended_at for one in checksums), view.now_at)
        text = f"the newest checksum of every flow is OK, the oldest of {oldest}"
        earlier = any(one.earlier for one in checksums)
        headline = f"T{text[1:]}; earlier ones found differences" if earlier else f"No differences: {text}"
        verdict = Verdict.HEALTHY
    return {
        "flows": view.flows,
        "headline": headline,
        "verdict": verdict,
        "links": view.links,
        "notes": missing_notes(view),
    }


def _has_differences(flow: FlowView) -> bool:
    """Return whether the newest checksum of a flow found differences, or an earlier finding holds."""
    newest = None if flow.checksum is None else flow.checksum.newest
    holds = any(one.part == "checksum" for one in flow.verdict.evidence)
    return holds or (newest is not None and (newest.findings > 0 or newest.status == FINDING))


def missing_notes(view: ServiceView) -> tuple[str, ...]:
    """Write which flows are not shown, and why."""
    return tuple(f"{one.shard[:1].upper()}{one.shard[1:]}: {one.sentence}." for one in view.missing)


def runbook_name(told: FlowState) -> str | None:
    """Return the runbook for what is said of a flow."""
    return runbook_of(told.verdict, told.cause)


def _objective(shown: ObjectiveView) -> str:
    one, left = shown.objective, shown.budget_left_ratio
    limit = "" if one.limit_s is None else f", limit {duration_text(one.limit_s)}"
    minutes = "" if one.slice_ratio is None else f" of minutes with {100 * one.slice_ratio:g} % good"
    target = "every record" if one.target_ratio == 1 else f"{100 * one.target_ratio:g} %{minutes}"
    text = f"{target}, over {duration_text(one.period_s)}{limit}"
    if not one.budget_ratio:
        return text
    if left is None:
        return f"{text}; error budget unknown: not enough data"
    return f"{text}; {texts.budget_left_text(left)}"
