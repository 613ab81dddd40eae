"""The documents of /api/v1/incidents. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.dialect import cause_document, chosen, moment_text, page
from fleet.quantity import bounds_kind
from mirrorwatch.web.documents import evidence_document
from mirrorwatch.web.linking import runbook_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from alerts.incidents import Incident, Symptom
    from alerts.objectives import FlowFacts, Objective
    from mirrorwatch.web.linking import PageLinks

    Budgets = tuple[
        tuple[str, float], ...
    ]  # kind of objective, approximate share of its budget that was spent


def incidents_document(
    incidents: Sequence[Incident],
    *,
    count: int,
    asked: Mapping[str, Any],
    address: str,
    links: PageLinks,
    spent: Mapping[str, Budgets],
) -> dict[str, Any]:
    """Return a page of the list; `spent` is by incident."""
    items = [chosen(incident_document(one, links, spent[one.incident]), asked["fields"]) for one in incidents]
    return page("incidents", items, offset=asked["offset"], count=count, address=address)


def incident_document(incident: Incident, links: PageLinks, spent: Budgets) -> dict[str, Any]:
    """Return one incident, as `mirrorwatch.api.incidents` describes it."""
    worst, lost, counts = incident.worst, incident.lost_records, incident.counts
    least_s, most_s = incident.lasted_s
    runbook = None if worst is None else runbook_of(worst.condition, worst.cause)
    return {
        "incident": incident.incident,
        "flow": incident.flow,
        "source": incident.source,
        "target": incident.target,
        "state": "ended" if incident.ended else "open",
        "started_at": moment_text(incident.started_at),
        "last_bad_at": moment_text(incident.bad_until_at),
        "healthy_at": moment_text(incident.healthy_at),
        "duration_s": least_s,
        "duration_s_most": most_s,
        "conditions": [str(one) for one in incident.conditions],
        "cause": None if worst is None else cause_document(worst.cause, worst.sentence),
        "causes": [str(one) for one in incident.causes],
        "symptoms": [_symptom(one) for one in incident.symptoms],
        "lost_records": lost.least,
        "lost_records_most": lost.most,
        "lost_records_kind": bounds_kind(*lost),
        "canary_records": {
            "settled": counts.settled,
            "good": counts.good,
            "concluded": counts.concluded,
            "delivered": counts.delivered,
            "lost": counts.lost,
        },
        "waiting_records_most": incident.at_risk_records,
        "recovery_point_age_s_most": incident.recovery_point_age_s,
        "budget_spent": [{"objective": kind, "ratio": ratio} for kind, ratio in spent],
        "notes": [
            {"at": moment_text(note.at), "author": note.author, "text": note.text} for note in incident.notes
        ],
        "links": {
            "page": links.incident(incident.incident),
            "flow": links.flow(incident.source, incident.target),
            "runbook": None if runbook is None else links.runbook(runbook),
            "dashboard": links.dashboard(incident.flow),
        },
    }


def budgets_of(incident: Incident, objectives: Iterable[Objective], facts: Iterable[FlowFacts]) -> Budgets:
    """Return the approximate share of each budget that an incident spent, for objectives that count probes.

    The configured probe rate gives the number of probes in the period.
    """
    rate = next((one.probes_per_s for one in facts if one.name == incident.flow), 0.0)
    counts = incident.counts
    bad = {
        "availability": counts.concluded - counts.delivered,
        "freshness": counts.settled - counts.good,
    }
    return tuple(
        (str(one.kind), bad[one.kind] / (one.budget_ratio * rate * one.period_s))
        for one in objectives
        if one.flow == incident.flow and one.kind in bad and rate > 0 and one.budget_ratio > 0
    )


def _symptom(symptom: Symptom) -> dict[str, Any]:
    return {
        "condition": str(symptom.condition),
        "cause": cause_document(symptom.cause, symptom.sentence),
        "sentence": symptom.sentence,
        "first_at": moment_text(symptom.first_at),
        "last_at": moment_text(symptom.last_at),
        "evidence": [evidence_document(one) for one in symptom.evidence],
    }
