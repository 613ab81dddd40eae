"""Operations of flows, and the schemas of their documents."""

from __future__ import annotations

from alerts.objectives import ObjectiveKind
from canary.tracker.counters import Counters
from fleet.verdicts.vocabulary import CONDITIONS, Cause, Verdict
from mirrorwatch.api import shapes
from mirrorwatch.api.operations import Operation
from mirrorwatch.api.shapes import closed, listed, mapped, moment, nullable, one_of, page, ref, text, whole
from runtime.http.parameters import fields, paging

FLOW_PATH = {"flow": "The flow, `A:B` or `A->B`."}
SIDES = ("source", "target")
RECORD_KINDS = ("exact", "between", "at_least", "none")
RECORDS = {
    "records": nullable(whole("How many records, or at least how many.")),
    "records_most": nullable(whole("At most how many; null where that is not known.")),
    "records_kind": one_of(RECORD_KINDS, "The kind of the two numbers."),
}
_VERDICT = {
    "verdict": one_of(Verdict),
    "since": moment("Since when it holds."),
    "sentence": text("Why it holds, with numbers."),
    "cause": nullable(ref("Cause", "Null for healthy, and where data is only missing.")),
}
_CANARY = {
    "state": one_of(("running", "off", "waiting", "latched")),
    "sentence": nullable(text("Why it is not running, and what to do; null while it runs.")),
    "topic": text("The canary's topic on the source."),
    "target_topic": text("Its name on the target."),
    "partition_count": whole(),
    "threshold_s": nullable(shapes.seconds("A probe that takes longer is late.")),
    "interval_s": nullable(shapes.seconds("From one probe of a partition to the next.")),
    "last_arrival_at": nullable(moment("When a probe last arrived on the target.")),
    "unreached": listed(
        closed(
            {"side": one_of(SIDES), "kafka_cluster": text(), "broker_ids": listed(whole(least=None))},
        ),
        "Brokers that lead no partition of the topic, so no probe passes them.",
    ),
}
_FLOW = {
    "flow": text("`source->target`."),
    "source": text("The source cluster."),
    "target": text("The target cluster."),
    "policy": text("The replication policy."),
    **_VERDICT,
    "conditions": listed(one_of(CONDITIONS), "All active conditions."),
    "also": nullable(ref("CurrentVerdict", "The present condition, if the verdict is about a past one.")),
    "evidence": listed(ref("Evidence"), "The facts behind the verdict."),
    "parts": mapped(
        text(), "A sentence of each part that watches the flow: canary, lag, checksum, failover."
    ),
    "canary": closed(_CANARY),
    "counters": closed(
        {name: whole() for name in Counters().as_dict()},
        description="Canary records by outcome, ever growing.",
    ),
    "latency": mapped(
        listed(ref("LatencySlice")),
        "By stage (queueing, ack, replication, end_to_end): 15 minutes in slices of 30 s, oldest first.",
    ),
    "heartbeat_age_s": nullable(shapes.seconds("Age of MirrorMaker's newest heartbeat.")),
    "recovery_point_age_s": nullable(shapes.seconds("Age of the newest record that is on the target.")),
    "recovery_point_age_s_kind": one_of(("exact", "at_least", "estimate", "none")),
    "lost_records": nullable(
        whole(
            "Records of yours that offsets of the last 15 minutes show as lost; null where unknown."
            " `counters` has those of the canary."
        )
    ),
    "lost_records_most": nullable(whole("At most; null where that is not known.")),
    "lost_records_kind": one_of(RECORD_KINDS),
    "losses": listed(ref("Loss"), "Lost canary records, newest first."),
    "events": listed(ref("Event"), "What happened in the last day, newest first."),
    "checksum": nullable(ref("ChecksumSummary", "The newest checksum run; null where none has ended.")),
    "failover": nullable(ref("FailoverSummary", "The last failover audit; null where it is off.")),
    "incident": nullable(text("The name of the open incident; null where none is open.")),
    "objectives": listed(ref("Objective"), "What the flow has to deliver, and what is left of each budget."),
    "links": closed({"page": text(), "runbook": nullable(text()), "dashboard": nullable(text())}),
}
_RUN = {
    "run": text(),
    "started_at": nullable(moment()),
    "ended_at": nullable(moment()),
    "exit_status": whole("0 verified, 1 a finding, 3 incomplete."),
    "coverage": shapes.share("The share of the planned records that was verified."),
    "topic_count": whole(),
    "source_records": whole(),
    "target_records": whole(),
    "records_by_verdict": mapped(whole()),
    "not_due_records": whole("Newest records of the source, which may still be on their way."),
    "undecided_records": whole("Compared, but not known to match or to differ."),
    "finding_count": whole(),
    "expected_count": whole("Duplicates and the like, which at-least-once delivery allows."),
    "unresolved_block_count": whole("Ranges of offsets that differ, and were not resolved to records."),
    "page": text("The path of the run's page."),
}

SCHEMAS = {
    "Cause": closed({"code": one_of(Cause), "sentence": text()}),
    "CurrentVerdict": closed(_VERDICT),
    "Evidence": closed(
        {
            "part": one_of(("canary", "lag", "checksum", "failover")),
            "topic": nullable(text()),
            "partition": nullable(whole()),
            "source_offset": nullable(whole(least=None)),
            "target_offset": nullable(whole(least=None)),
            "at": nullable(moment()),
            "sentence": text(),
        }
    ),
    "LatencySlice": closed(
        {
            "at": nullable(moment("The start of the slice.")),
            "p50_s": nullable(shapes.seconds()),
            "p99_s": nullable(shapes.seconds()),
            "max_s": nullable(shapes.seconds()),
        }
    ),
    "Loss": closed(
        {
            "at": nullable(moment()),
            "topic": text(),
            "partition": whole(),
            "sequence": nullable(whole("The number of the probe, the first of several.")),
            "source_offset": nullable(whole()),
            "count": whole("How many in a row."),
            "sentence": text(),
        }
    ),
    "RepeatedPartition": closed(
        {
            "partition": whole(),
            "from_offset": nullable(whole(least=None)),
            "to_offset": nullable(whole(least=None)),
            "times": nullable(whole("How many times.")),
            **RECORDS,
        }
    ),
    "Event": closed(
        {
            "kind": one_of(("went_back", "replayed"), "`replayed` is from the log start."),
            "at": nullable(moment()),
            "last_at": nullable(moment()),
            "topic": text(),
            "partition_count": whole(),
            **RECORDS,
            "sentence": text(),
            "worst": listed(ref("RepeatedPartition"), "The partitions with most repeated records."),
        }
    ),
    "Objective": closed(
        {
            "objective": one_of(ObjectiveKind),
            "target_ratio": shapes.share("The share that has to be good."),
            "period_s": shapes.seconds(),
            "limit_s": nullable(shapes.seconds("For objectives about an age: what is older is bad.")),
            "slice_ratio": nullable(shapes.share("Where minutes count: the good share that a minute needs.")),
            "budget_left_ratio": nullable(
                {
                    "type": "number",
                    "maximum": 1,
                    "description": "Below 0 where more is spent than there was; null without data or budget.",
                }
            ),
        }
    ),
    "ChecksumRun": closed(_RUN),
    "ChecksumSummary": closed(
        {**_RUN, "earlier": listed(ref("ChecksumRun"), "Earlier runs that found something, newest first.")}
    ),
    "Cluster": closed(
        {
            "kafka_cluster": text(),
            "bootstrap_servers": text(),
            "state": one_of(("connecting", "up", "down", "refused")),
            "since": nullable(moment()),
            "sentence": nullable(text("Why it is not up.")),
            "control_last_ok_at": nullable(moment("When a control probe last came back.")),
            "flows_from": listed(text()),
            "flows_to": listed(text()),
        }
    ),
    "ServiceProblem": closed(
        {
            "where": text(),
            "sentence": text(),
            "since": nullable(moment()),
            "last_at": nullable(moment()),
            "count": whole("How many times it was seen."),
        }
    ),
    "Flow": closed(_FLOW, optional=_FLOW),
    "Flows": page(
        "flows",
        ref("Flow"),
        before={"version": text(), "now": moment(), "started_at": moment("When the service started.")},
        after={
            "clusters": listed(ref("Cluster")),
            "problems": listed(ref("ServiceProblem"), "What is wrong with the service itself."),
            "missing_flows": listed(
                text(), "Flows that are not listed, as no replica answers for their shard; problems say why."
            ),
        },
    ),
}

LIST_FLOWS = Operation(
    name="list_flows",
    method="GET",
    path="/api/v1/flows",
    summary="List flows with their verdicts, worst first, the clusters and the problems.",
    parameters=(*paging(default=10_000, most=10_000), fields(_FLOW)),
    answers={200: "Flows"},
)
GET_FLOW = Operation(
    name="get_flow",
    method="GET",
    path="/api/v1/flows/{flow:[^/]+}",
    path_parameters=FLOW_PATH,
    summary="Show one flow: its verdict, the cause, the evidence, and the numbers behind them.",
    parameters=(fields(_FLOW),),
    answers={200: "Flow"},
    problems=("unknown_flow",),
)

OPERATIONS = (LIST_FLOWS, GET_FLOW)
