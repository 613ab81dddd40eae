"""Operations of failover readiness, and the schemas of their documents."""

from __future__ import annotations

from fleet.series.failover import FAILOVER_STATUSES
from lagmon.failover.readiness import Status
from mirrorwatch.api import shapes
from mirrorwatch.api.groups import ANY, SEARCH
from mirrorwatch.api.operations import Operation
from mirrorwatch.api.shapes import (
    closed,
    flag,
    listed,
    mapped,
    moment,
    nullable,
    one_of,
    page,
    ref,
    text,
    whole,
)
from runtime.http.parameters import fields, paging
from runtime.http.parameters import text as text_parameter

_COUNTS = {
    "read_again_records": nullable(ref("CountBounds", "Records that the group would read again.")),
    "skipped_records": nullable(ref("CountBounds", "Replicated records that the group would miss.")),
    "at_risk_records": nullable(ref("CountBounds", "Records on the source alone that it has not read.")),
}
_GROUP = {
    "flow": text("`source->target`."),
    "group": text("The name of the group (`group.id`)."),
    "status": one_of(Status, "The worst status of its partitions."),
    "ready": flag("Whether it could start on the target now without missing a replicated record."),
    "running_on_target": flag("Whether it has members on the target already."),
    "sentence": text("Why it has this status."),
    "topics_not_replicated": whole("Topics that it reads and that the flow does not replicate."),
    **_COUNTS,
}
_PARTITION = {
    "topic": text("The topic on the source."),
    "partition": whole(),
    "status": one_of(Status),
    "sentence": text("The reason with its numbers."),
    "start": nullable(whole("The target offset where the group would start.")),
    "start_from": nullable(one_of(("commit", "checkpoint"), "What that offset is from.")),
    "source": closed(
        {
            "committed": nullable(whole("The group's committed offset.")),
            "log_end": nullable(whole()),
            "first_not_replicated": nullable(whole("The first offset that the mirror has not replicated.")),
        }
    ),
    "target": closed(
        {
            "committed": nullable(whole("The group's committed offset.")),
            "log_start": nullable(whole()),
            "log_end": nullable(whole()),
        }
    ),
    "checkpoint": nullable(
        closed({"upstream": whole(), "downstream": whole(), "at": nullable(moment())}),
    ),
    **_COUNTS,
    "proof": nullable(text("What reading both logs has shown; null here, as only the command does that.")),
}

SCHEMAS = {
    "CountBounds": closed({"least": whole(), "most": nullable(whole("Null if there is no upper bound."))}),
    "FailoverGroup": closed(_GROUP, optional=_GROUP),
    "FailoverPartition": closed(_PARTITION, optional=_PARTITION),
    "FailoverFlow": closed(
        {
            "flow": text(),
            "at": nullable(moment("The last successful audit; null before the first.")),
            "drain_s": nullable(
                shapes.seconds("Estimated time until the mirror has replicated what is on the source.")
            ),
            "drift": mapped(nullable(whole()), "Differences of the target by kind; null if not compared."),
            "problem": nullable(text("Why the last audit failed.")),
            "source_problem": nullable(
                text("Why the source was not read; then groups are judged by checkpoints.")
            ),
            "groups_by_status": mapped(whole(), f"By status: {', '.join(FAILOVER_STATUSES)}."),
            "excluded_groups": whole("Groups that the mirror's filter excludes."),
        }
    ),
    "FailoverSummary": closed(
        {
            "at": nullable(moment("The last successful audit; null before the first.")),
            "drain_s": nullable(
                shapes.seconds("Estimated time until the mirror has replicated what is on the source.")
            ),
            "drift": mapped(nullable(whole()), "Differences of the target by kind; null if not compared."),
            "problem": nullable(text("Why the last audit failed, or is partial.")),
            "group_count": whole(),
            "ready_count": whole(),
            "groups_by_status": mapped(whole()),
        }
    ),
    "FailoverGroups": page(
        "groups",
        ref("FailoverGroup"),
        before={"now": moment()},
        after={"flows": listed(ref("FailoverFlow"))},
    ),
    "FailoverGroupDetails": page(
        "partitions", ref("FailoverPartition"), before={"at": nullable(moment()), **_GROUP}
    ),
}

LIST_FAILOVER = Operation(
    name="list_failover",
    method="GET",
    path="/api/v1/failover",
    summary="List how consumer groups would start on the target if they failed over now, worst first.",
    parameters=(
        *paging(default=100, most=10_000),
        fields(_GROUP),
        SEARCH,
        text_parameter("flow", "Only groups of this flow, `A:B` or `A->B`."),
    ),
    answers={200: "FailoverGroups"},
    problems=("unknown_flow", "audit_off", "unavailable"),
)
GET_FAILOVER = Operation(
    name="get_failover",
    method="GET",
    path=f"/api/v1/failover/{{flow:[^/]+}}/{{group:{ANY}}}",
    path_parameters={
        "flow": "The flow, `A:B` or `A->B`.",
        "group": "The name of the group, percent-encoded; a slash in it is %2F.",
    },
    summary="Show how one consumer group would start on the target, by partition, worst first.",
    parameters=(*paging(default=10_000, most=10_000), fields(_PARTITION)),
    answers={200: "FailoverGroupDetails"},
    problems=("invalid_path", "unknown_flow", "unknown_group", "audit_off", "unavailable"),
)

OPERATIONS = (LIST_FAILOVER, GET_FAILOVER)
