"""The JSON documents of /api/v1. Pure.

Times are RFC 3339 in UTC with milliseconds; durations are seconds in keys that end in `_s`. NaN and infinity
become null. The schemas are in `mirrorwatch/api`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fleet.dialect import cause_document, chosen, moment_text, page, records_document
from fleet.quantity import bounds_kind
from fleet.verdicts.vocabulary import CONDITIONS
from mirrorwatch.audits.views import checksum_document
from mirrorwatch.web.linking import runbook_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from alerts.incidents import Incident, Symptom
    from alerts.objectives import FlowFacts, Objective
    from fleet.verdicts.vocabulary import Also, Evidence, FlowVerdict
    from mirrorwatch.service.view import (
        ClusterView,
        EventView,
        FailoverView,
        FlowView,
        LatencySlice,
        LossView,
        ObjectiveView,
        ProblemView,
        ServiceView,
    )
    from mirrorwatch.web.linking import PageLinks

    Budgets = tuple[
        tuple[str, float], ...
    ]  # kind of objective, approximate share of its budget that was spent


def flows_document(
    view: ServiceView, asked: Mapping[str, Any] | None = None, address: str = "/api/v1/flows"
) -> dict[str, Any]:
    """Return the document of flows: version, time, flows worst first, clusters, problems.

    `asked` selects a page of the flows and their fields; `address` is the path of the list.
    """
    asked = asked or {"offset": 0, "limit": len(view.flows), "fields": None}
    offset = asked["offset"]
    shown = view.flows[offset : offset + asked["limit"]]
    flows = [chosen(flow_document(flow, view.outside), asked["fields"]) for flow in shown]
    return {
        "version": view.version,
        "now": moment_text(view.now_at),
        "started_at": moment_text(view.started_at),
        **page("flows", flows, offset=offset, count=len(view.flows), address=address),
        "clusters": [_cluster(cluster) for cluster in view.clusters],
        "problems": [_problem(problem) for problem in view.problems],
        "missing_flows": sorted(flow for shard in view.missing for flow in shard.flows),
    }


def flow_document(flow: FlowView, links: PageLinks) -> dict[str, Any]:
    """Return the document of one flow; `mirrorwatch.api.flows` describes its fields."""
    verdict, lost = flow.verdict, flow.lost_records
    runbook = runbook_of(flow.status.now.verdict, flow.status.now.cause)
    return {
        "flow": flow.flow,
        "source": flow.source,
        "target": flow.target,
        "policy": flow.policy,
        **_told(verdict),
        "conditions": [str(one) for one in CONDITIONS if one in verdict.conditions],
        "also": None if verdict.also is None else _told(verdict.also),
        "evidence": [evidence_document(evidence) for evidence in verdict.evidence],
        "parts": dict(verdict.parts)
        | ({} if flow.failover is None else {"failover": flow.failover.sentence(flow.target)}),
        "canary": {
            "state": flow.canary_state,
            "sentence": flow.canary_sentence or None,
            "topic": flow.canary_topic,
            "target_topic": flow.canary_target_topic,
            "partition_count": flow.partitions,
            "threshold_s": _number(flow.threshold_s),
            "interval_s": _number(flow.interval_s),
            "last_arrival_at": moment_text(flow.last_arrival_at),
            "unreached": [
                {"side": one.side, "kafka_cluster": one.kafka_cluster, "broker_ids": list(one.broker_ids)}
                for one in flow.unreached
            ],
        },
        "counters": dict(flow.books),
        "latency": {stage: [_slice(piece) for piece in slices] for stage, slices in flow.latency.items()},
        "heartbeat_age_s": _age(flow.heartbeat_age_s),
        "recovery_point_age_s": _age(flow.recovery_point.age_s),
        "recovery_point_age_s_kind": flow.recovery_point.kind,
        "lost_records": None if lost is None else lost.least,
        "lost_records_most": None if lost is None else lost.most,
        "lost_records_kind": bounds_kind(*(lost or (None, None))),
        "losses": [_loss(loss) for loss in flow.losses],
        "events": [_event(event) for event in flow.events],
        "checksum": checksum_document(flow.checksum),
        "failover": _failover(flow.failover),
        "incident": None if flow.incident is None else flow.incident.incident,
        "objectives": [_objective(one) for one in flow.objectives],
        "links": {
            "page": links.flow(flow.source, flow.target),
            "runbook": None if runbook is None else links.runbook(runbook),
            "dashboard": links.dashboard(flow.flow),
        },
    }


def _failover(audit: FailoverView | None) -> dict[str, Any] | None:
    if audit is None:
        return None
    return {
        "at": moment_text(audit.at),
        "drain_s": _number(audit.drain_s),
        "drift": dict(audit.drift),
        "problem": audit.problem or None,
        "group_count": audit.group_count,
        "ready_count": audit.ready_count,
        "groups_by_status": dict(audit.by_status),
    }


def _objective(shown: ObjectiveView) -> dict[str, Any]:
    one = shown.objective
    return {
        "objective": str(one.kind),
        "target_ratio": one.target_ratio,
        "period_s": one.period_s,
        "limit_s": one.limit_s,
        "slice_ratio": one.slice_ratio,
        "budget_left_ratio": _number(shown.budget_left_ratio),
    }


def _told(told: FlowVerdict | Also) -> dict[str, Any]:
    """Return a verdict with its reason; the cause is null if unknown."""
    return {
        "verdict": str(told.verdict),
        "since": moment_text(told.since_at),
        "sentence": told.sentence,
        "cause": cause_document(told.cause, told.sentence),
    }


def evidence_document(evidence: Evidence) -> dict[str, Any]:
    """Return one row of evidence."""
    return {
        "part": evidence.part,
        "topic": evidence.topic,
        "partition": evidence.partition,
        "source_offset": evidence.source_offset,
        "target_offset": evidence.target_offset,
        "at": moment_text(evidence.at),
        "sentence": evidence.sentence,
    }


def _slice(piece: LatencySlice) -> dict[str, Any]:
    return {
        "at": moment_text(piece.at),
        "p50_s": _number(piece.p50_s),
        "p99_s": _number(piece.p99_s),
        "max_s": _number(piece.max_s),
    }


def _loss(loss: LossView) -> dict[str, Any]:
    return {
        "at": moment_text(loss.at),
        "topic": loss.topic,
        "partition": loss.partition,
        "sequence": loss.sequence,
        "source_offset": loss.source_offset,
        "count": loss.count,
        "sentence": loss.sentence,
    }


def _event(event: EventView) -> dict[str, Any]:
    return {
        "kind": event.kind,
        "at": moment_text(event.at),
        "last_at": moment_text(event.last_at),
        "topic": event.topic,
        "partition_count": event.partitions,
        **records_document(event.records, event.records_most),
        "sentence": event.sentence,
        "worst": [{**one, **records_document(one["records"], one["records_most"])} for one in event.worst],
    }


def _cluster(cluster: ClusterView) -> dict[str, Any]:
    return {
        "kafka_cluster": cluster.alias,
        "bootstrap_servers": cluster.bootstrap,
        "state": cluster.state,
        "since": moment_text(cluster.since_at),
        "sentence": cluster.sentence or None,
        "control_last_ok_at": moment_text(cluster.control_last_ok_at),
        "flows_from": list(cluster.flows_from),
        "flows_to": list(cluster.flows_to),
    }


def _problem(problem: ProblemView) -> dict[str, Any]:
    return {
        "where": problem.where,
        "sentence": problem.sentence,
        "since": moment_text(problem.since_at),
        "last_at": moment_text(problem.last_at),
        "count": problem.times,
    }


def _number(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _age(seconds: float | None) -> float | None:
    """Return an age in seconds with milliseconds."""
    known = _number(seconds)
    return None if known is None else round(known, 3)


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

    It is the bad share of its canary records, for as long as it lasted: a share depends neither on the number
    of partitions nor on that of replicas that probe on their own. Objectives that count minutes are left out:
    an incident does not count those.
    """
    probed = any(one.name == incident.flow and one.probes_per_s > 0 for one in facts)
    counts = incident.counts
    good_and_valid = {
        "availability": (counts.delivered, counts.concluded),
        "freshness": (counts.good, counts.settled),
    }
    bad = {kind: 1 - good / valid if valid else 0.0 for kind, (good, valid) in good_and_valid.items()}
    lasted_s = max(1, incident.lasted_s.least)  # it is sampled every second
    return tuple(
        (str(one.kind), bad[one.kind] * lasted_s / (one.budget_ratio * one.period_s))
        for one in objectives
        if one.flow == incident.flow and one.kind in bad and one.slice_ratio is None
        if probed and one.budget_ratio > 0
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
