"""Operations of flows."""

from __future__ import annotations

from mirrorwatch.api.operations import Operation
from runtime.http_parameters import fields, paging

FLOW_FIELDS = (
    "flow",
    "verdict",
    "since",
    "cause",
    "evidence",
    "parts",
    "also",
    "source",
    "target",
    "policy",
    "canary",
    "heartbeat_age_s",
    "books",
    "latency",
    "recovery_point_age_s",
    "recovery_point_kind",
    "lost_records",
    "lost_records_most",
    "lost_records_kind",
    "losses",
    "events",
    "checksum",
)
FLOW_PATH = {"flow": "The flow, `A:B` or `A->B`."}

LIST_FLOWS = Operation(
    name="list_flows",
    method="GET",
    path="/api/v1/flows",
    summary="List flows with their verdicts, worst first, the clusters and the problems.",
    parameters=(*paging(default=1_000, most=10_000), fields(FLOW_FIELDS)),
    answers={200: "Flows"},
)
GET_FLOW = Operation(
    name="get_flow",
    method="GET",
    path="/api/v1/flows/{flow:.+}",
    path_parameters=FLOW_PATH,
    summary="Show one flow: its verdict, the cause, the evidence, and the numbers behind them.",
    parameters=(fields(FLOW_FIELDS),),
    answers={200: "Flow"},
    problems=("unknown_flow",),
)

OPERATIONS = (LIST_FLOWS, GET_FLOW)
