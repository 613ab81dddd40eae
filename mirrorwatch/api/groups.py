"""Operations of consumer groups, and the schemas of their documents."""

from __future__ import annotations

from lagmon.groups.rules.words import Reason, Status
from mirrorwatch.api import shapes
from mirrorwatch.api.operations import Operation
from mirrorwatch.api.shapes import closed, listed, mapped, moment, nullable, one_of, page, ref, text, whole
from runtime.http.parameters import fields, paging
from runtime.http.parameters import text as text_parameter

ANY = r"[\s\S]*"  # any decoded path: a group name may contain newlines

LAG_KINDS = ("exact", "at_least", "estimate", "none")
RECORD_KINDS = ("exact", "at_least", "none")
_OFFSETS = "Offsets to read, those of transaction markers and compacted records included."

_LAG = {
    "lag_records": nullable(whole(f"{_OFFSETS} Null where none is known.")),
    "lag_records_kind": one_of(RECORD_KINDS, "`at_least` where some partitions' lag is unknown."),
    "lag_unknown_partitions": whole("Partitions whose lag is unknown; they are not in the sum."),
    "lag_s": nullable(shapes.seconds("Age of the oldest record that is to be read.")),
    "lag_s_kind": one_of(LAG_KINDS),
}
_GROUP = {
    "kafka_cluster": text("The cluster where the group is."),
    "group": text("The name of the group (`group.id`)."),
    "status": one_of((status.name for status in Status), "The worst status of its partitions."),
    "sentence": text("Why it has this status."),
    "worst_partition": nullable(ref("TopicPartition", "The partition that the sentence is about.")),
    "carried_by": listed(text(), "Flows whose mirror keeps this group on the cluster by its checkpoints."),
    "partitions_by_status": mapped(whole(), "How many of its partitions have each status."),
    **_LAG,
    "max_lag_records": nullable(whole("The largest lag of one partition.")),
    "max_lag_records_kind": one_of(RECORD_KINDS, "`at_least` where some partitions' lag is unknown."),
}
_READING = {
    "not_ready": nullable(ref("NotReady", "Why its groups are not all known; null where they are.")),
    "away": nullable(ref("Away", "Since when the cluster does not answer; null where it does.")),
}
_PARTITION = {
    "topic": text(),
    "partition": whole(),
    "status": one_of(status.name for status in Status),
    "reason": one_of(
        (reason.name.lower() for reason in Reason if not reason.name.startswith("BURROW")),
        "The rule that led to the status.",
    ),
    "sentence": text("The reason with its numbers."),
    "since": nullable(moment("Since when it has this status.")),
    "committed_offset": nullable(whole("The group's committed offset.")),
    "first_readable_offset": nullable(
        whole("The first offset behind the committed one that holds a record to read.")
    ),
    "log_start_offset": nullable(whole()),
    "log_end_offset": nullable(whole()),
    "lag_records": nullable(whole(_OFFSETS)),
    "lag_s": nullable(shapes.seconds("Age of the oldest record that is to be read.")),
    "lag_s_kind": one_of(LAG_KINDS),
    "client_id": nullable(text("The client that the partition is assigned to.")),
    "host": nullable(text("That client's host.")),
    "commits": listed(ref("OffsetAt"), "The last commits, oldest first."),
    "log_ends": listed(ref("OffsetAt"), "The log end offset at the last polls, oldest first."),
}

SCHEMAS = {
    "TopicPartition": closed({"topic": text(), "partition": whole()}),
    "OffsetAt": closed({"offset": whole(least=None), "at": nullable(moment())}),
    "NotReady": closed(
        {
            "phase": one_of(("starting", "reading", "down", "refused")),
            "sentence": text(),
            "total_records": whole("Offsets of `__consumer_offsets` to read."),
            "read_records": whole("How many of them were read."),
        }
    ),
    "Away": closed({"since": moment(), "sentence": text()}),
    "Group": closed(_GROUP, optional=_GROUP),
    "GroupPartition": closed(_PARTITION, optional=_PARTITION),
    "ClusterGroups": closed(
        {
            "kafka_cluster": text(),
            "commits_from": one_of(("topic", "admin"), "How commits are read."),
            "other_groups": mapped(whole(), "Groups that commit no offsets, by kind."),
            **_READING,
        }
    ),
    "Groups": page(
        "groups",
        ref("Group"),
        before={"now": moment()},
        after={
            "by_status": mapped(whole(), "How many of all groups that were found have each status."),
            "carried_by_flow": mapped(whole(), "How many of them each flow's mirror keeps by checkpoints."),
            "clusters": listed(ref("ClusterGroups")),
        },
    ),
    "GroupDetails": page(
        "partitions",
        ref("GroupPartition"),
        before={
            "now": moment(),
            **_GROUP,
            "state": nullable(text("The state of the group as its broker says it.")),
            "members": nullable(whole("How many members it has.")),
            "clients": listed(
                closed({"client_id": text(), "host": text(), "partitions": whole()}),
                "Clients that partitions are assigned to, with how many.",
            ),
            "commits_from": one_of(("topic", "admin")),
            **_READING,
        },
    ),
}

SEARCH = text_parameter("search", "Only names that contain this, in any case.")
LIST_GROUPS = Operation(
    name="list_groups",
    method="GET",
    path="/api/v1/groups",
    summary="List consumer groups of all watched clusters, worst first, then by lag.",
    parameters=(
        *paging(default=100, most=10_000),
        fields(_GROUP),
        SEARCH,
        text_parameter("kafka_cluster", "Only groups of this cluster."),
    ),
    answers={200: "Groups"},
    problems=("unknown_cluster", "lag_off", "unavailable"),
)
GET_GROUP = Operation(
    name="get_group",
    method="GET",
    path=f"/api/v1/groups/{{cluster}}/{{group:{ANY}}}",
    path_parameters={
        "cluster": "The Kafka cluster.",
        "group": "The name of the group, percent-encoded; a slash in it is %2F.",
    },
    summary="Show one consumer group and its partitions, worst first.",
    parameters=(
        *paging(default=10_000, most=10_000),
        fields(_PARTITION),
        text_parameter("id", "The id of a group whose name no path can hold; leave the name empty."),
    ),
    answers={200: "GroupDetails"},
    problems=("invalid_path", "unknown_cluster", "unknown_group", "lag_off", "not_ready", "unavailable"),
)

OPERATIONS = (LIST_GROUPS, GET_GROUP)
