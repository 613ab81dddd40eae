"""Operations of incidents, and the schemas of their documents."""

from __future__ import annotations

from fleet.verdicts.vocabulary import Cause, Verdict
from mirrorwatch.api.flows import RECORD_KINDS
from mirrorwatch.api.operations import Operation
from mirrorwatch.api.shapes import closed, listed, moment, nullable, one_of, page, ref, seconds, text, whole
from runtime.http.parameters import choice, fields, paging
from runtime.http.parameters import text as text_parameter

_BAD = [one for one in Verdict if one.is_bad]
_COUNTS = ("settled", "good", "concluded", "delivered", "lost")
_SYMPTOM = {
    "condition": one_of(_BAD),
    "cause": nullable(ref("Cause")),
    "sentence": text(),
    "first_at": moment(),
    "last_at": moment(),
    "evidence": listed(ref("Evidence")),
}
_INCIDENT = {
    "incident": text("Its name."),
    "flow": text("`source->target`."),
    "source": text("The source cluster."),
    "target": text("The target cluster."),
    "state": one_of(("open", "ended")),
    "started_at": moment(),
    "last_bad_at": moment("When a condition last held; the end of an incident that has ended."),
    "healthy_at": nullable(moment("When the flow was first seen healthy after it; null if unknown.")),
    "duration_s": seconds("How long it lasted, at least."),
    "duration_s_most": nullable(seconds("At most; null while it is open, or if its end was not seen.")),
    "conditions": listed(one_of(_BAD), "The conditions that held, worst first."),
    "cause": nullable(ref("Cause", "The cause of the worst condition.")),
    "causes": listed(one_of(Cause), "All causes that were found."),
    "symptoms": listed(ref("Symptom"), "What held from when to when, in the order in which it began."),
    "lost_records": whole("Records lost, the canary's and yours."),
    "lost_records_most": nullable(whole("At most; null where that is not known.")),
    "lost_records_kind": one_of(RECORD_KINDS),
    "canary_records": closed({name: whole() for name in _COUNTS}),
    "waiting_records_most": nullable(whole("The most records that waited to be replicated at one time.")),
    "recovery_point_age_s_most": nullable(seconds("The oldest recovery point.")),
    "budget_spent": listed(
        closed({"objective": text(), "ratio": {"type": "number", "minimum": 0}}),
        "About which share of an error budget it spent, where that is known.",
    ),
    "notes": listed(closed({"at": nullable(moment()), "author": text(), "text": text()})),
    "links": closed(
        {"page": text(), "flow": text(), "runbook": nullable(text()), "dashboard": nullable(text())}
    ),
}

SCHEMAS = {
    "Symptom": closed(_SYMPTOM),
    "Incident": closed(_INCIDENT, optional=_INCIDENT),
    "Incidents": page("incidents", ref("Incident")),
}

LIST_INCIDENTS = Operation(
    name="list_incidents",
    method="GET",
    path="/api/v1/incidents",
    summary="List incidents, newest first: time in which a condition of a flow held.",
    parameters=(
        text_parameter("flow", "Only incidents of this flow, `A:B` or `A->B`.", most=700),
        choice("state", "`open` leaves out those that have ended.", ("open", "all"), default="all"),
        *paging(default=100, most=1_000),
        fields(_INCIDENT),
    ),
    answers={200: "Incidents"},
    problems=("unknown_flow", "unavailable"),
)
GET_INCIDENT = Operation(
    name="get_incident",
    method="GET",
    path="/api/v1/incidents/{incident}",
    path_parameters={"incident": "The incident."},
    summary="Show one incident: conditions, causes, evidence, numbers and notes.",
    parameters=(fields(_INCIDENT),),
    answers={200: "Incident"},
    problems=("unknown_incident", "unavailable"),
)

OPERATIONS = (LIST_INCIDENTS, GET_INCIDENT)
