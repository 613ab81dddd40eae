"""Series of groups and mirrors by offsets: a part of the catalogue."""

from __future__ import annotations

from fleet.series.kinds import Group, Kind, Label, Series, Unit
from fleet.series.labels import CLUSTER_LABEL, FLOW_LABELS, PARTITION_LABEL, SIDE_LABEL

GROUP_LABEL = Label(
    "group",
    "The consumer group. A name longer than 256 bytes is cut, and ends in `~` and 20 digits of its SHA-256.",
)
TOPIC_LABEL = Label("topic", "The topic; for a flow, its name on the source.")
COMMITS_SOURCES = ("topic", "admin")

_STATUS = "1 OK, 2 WARN, 3 ERR, 4 STOP, 5 STALL, 6 REWIND, 7 unknown"
_STATUS_NOTES = (
    "The worst partition decides. WARN: it falls behind. ERR: records were deleted before it read them. "
    "STOP: it no longer commits. STALL: it commits without progress, or a transaction holds it. REWIND: it "
    "went back."
)
_SUM_NOTES = "Partitions with unknown lag are not included. Absent if the lag of all partitions is unknown."
_GROUP_NOTES = f"Counted in offsets: transaction markers and compacted records are included. {_SUM_NOTES}"
_AGE_NOTES = "0 without lag. A lower bound if the time of that record could not be read. Absent if unknown."

# Service

SERIES_DROPPED_TOTAL = Series(
    name="series_dropped_total",
    kind=Kind.COUNTER,
    unit=Unit.SERIES,
    group=Group.SERVICE,
    help="Series that exceed the limit of their metric.",
    notes="Each counts once, when it is added. The newest are left out; one of them is exposed when "
    "an older one is removed.",
    labels=(Label("family", "The metric."),),
)

# Groups

GROUP_STATUS = Series(
    name="group_status",
    kind=Kind.GAUGE,
    unit=Unit.STATUS,
    group=Group.GROUPS,
    help=f"Status of the group: {_STATUS}.",
    notes=_STATUS_NOTES,
    labels=(CLUSTER_LABEL, GROUP_LABEL),
)
GROUP_LAG_RECORDS = Series(
    name="group_lag_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.GROUPS,
    help="Lag of the group over all its partitions.",
    notes=_GROUP_NOTES,
    labels=(CLUSTER_LABEL, GROUP_LABEL),
)
GROUP_MAX_LAG_RECORDS = Series(
    name="group_max_lag_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.GROUPS,
    help="Largest lag of the group in one partition.",
    notes=_GROUP_NOTES,
    labels=(CLUSTER_LABEL, GROUP_LABEL),
)
GROUP_LAG_SECONDS = Series(
    name="group_lag_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.GROUPS,
    help="Time lag of the group: age of the oldest record not read yet.",
    notes=_AGE_NOTES,
    labels=(CLUSTER_LABEL, GROUP_LABEL),
)
GROUP_TOPIC_LAG_RECORDS = Series(
    name="group_topic_lag_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.GROUPS,
    help="Lag of the group in the topic.",
    notes=_GROUP_NOTES,
    labels=(CLUSTER_LABEL, GROUP_LABEL, TOPIC_LABEL),
)
GROUP_PARTITION_LAG_RECORDS = Series(
    name="group_partition_lag_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.GROUPS,
    help="Lag of the group in the partition.",
    notes="Absent if unknown.",
    labels=(CLUSTER_LABEL, GROUP_LABEL, TOPIC_LABEL, PARTITION_LABEL),
    opt_in=True,
)

# Commits

COMMITS_CONSUMED_TOTAL = Series(
    name="commits_consumed_total",
    kind=Kind.COUNTER,
    unit=Unit.COMMITS,
    group=Group.GROUPS,
    help="Commits of groups that were read from the cluster.",
    notes="Commits from before the start are included. With the Admin API, it counts how often a "
    "polled offset had changed.",
    labels=(CLUSTER_LABEL,),
)
COMMITS_MALFORMED_TOTAL = Series(
    name="commits_malformed_total",
    kind=Kind.COUNTER,
    unit=Unit.RECORDS,
    group=Group.GROUPS,
    help="Malformed records of the offsets topic.",
    notes="Mirrorwatch skips them.",
    labels=(CLUSTER_LABEL,),
)
COMMITS_ABSURD_TOTAL = Series(
    name="commits_absurd_total",
    kind=Kind.COUNTER,
    unit=Unit.COMMITS,
    group=Group.GROUPS,
    help="Commits with an impossible offset or partition.",
    notes="The offset is negative, or no topic has nearly so many partitions. Mirrorwatch skips them.",
    labels=(CLUSTER_LABEL,),
)

COMMITS_SOURCE = Series(
    name="commits_source",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.GROUPS,
    help="Current source of the offsets of the cluster's groups.",
    notes="1 for the current source, 0 for the other. Mirrorwatch asks the Admin API if it has "
    "no permission to read `__consumer_offsets`, or if `lag.commits` is `admin`.",
    labels=(
        CLUSTER_LABEL,
        Label("source", "`topic` is `__consumer_offsets`, `admin` the Admin API.", COMMITS_SOURCES),
    ),
)
COMMITS_BACKFILL_RATIO = Series(
    name="commits_backfill_ratio",
    kind=Kind.GAUGE,
    unit=Unit.RATIO,
    group=Group.GROUPS,
    help="Share of the commits from before the start that is read.",
    notes="With the Admin API, the share of groups that were polled. 1 only if all groups are known.",
    labels=(CLUSTER_LABEL,),
)
LAG_READY_SECONDS = Series(
    name="lag_ready_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.GROUPS,
    help="Time from the start of the lag monitor until all groups of the cluster were known.",
    notes="Absent until then.",
    labels=(CLUSTER_LABEL,),
)

# Mirrors

REPLICATION_STATUS = Series(
    name="replication_status",
    kind=Kind.GAUGE,
    unit=Unit.STATUS,
    group=Group.REPLICATION,
    help=f"Status of the mirror: {_STATUS}.",
    notes=_STATUS_NOTES,
    labels=FLOW_LABELS,
)
REPLICATION_TOPIC_LAG_RECORDS = Series(
    name="replication_topic_lag_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.REPLICATION,
    help="Lag of the mirror in the topic.",
    notes=_SUM_NOTES,
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
REPLICATION_TOPIC_LAG_SECONDS = Series(
    name="replication_topic_lag_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.REPLICATION,
    help="Time lag of the mirror in the topic: age of the oldest record not replicated yet.",
    notes=_AGE_NOTES,
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
REPLICATION_TOPIC_RETENTION_HEADROOM_SECONDS = Series(
    name="replication_topic_retention_headroom_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.REPLICATION,
    help="Retention headroom: time until retention deletes records that are not replicated yet.",
    notes="The partition with the least headroom decides. 0 once it has deleted some. "
    "Absent if no deletion is foreseeable, or if only an upper bound is known.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
REPLICATION_PARTITION_LAG_RECORDS = Series(
    name="replication_partition_lag_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.REPLICATION,
    help="Lag of the mirror in the partition.",
    notes="Absent if unknown.",
    labels=(*FLOW_LABELS, TOPIC_LABEL, PARTITION_LABEL),
    opt_in=True,
)
REPLICATION_PARTITION_LAG_SECONDS = Series(
    name="replication_partition_lag_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.REPLICATION,
    help="Time lag of the mirror in the partition: age of the oldest record not replicated yet.",
    notes=_AGE_NOTES,
    labels=(*FLOW_LABELS, TOPIC_LABEL, PARTITION_LABEL),
    opt_in=True,
)
REPLICATION_PARTITION_HEADROOM_RECORDS = Series(
    name="replication_partition_headroom_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.REPLICATION,
    help="Records between the log start offset of the source and the mirror's next record.",
    notes="0 once retention has deleted records that are not replicated yet. Absent if unknown.",
    labels=(*FLOW_LABELS, TOPIC_LABEL, PARTITION_LABEL),
    opt_in=True,
)
REPLICATION_SOURCE_END_OFFSET = Series(
    name="replication_source_end_offset",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.REPLICATION,
    help="Sum of the log end offsets of the topic on the source.",
    notes="Its rate is the produce rate. Absent if one of them is unknown.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
REPLICATION_TARGET_END_OFFSET = Series(
    name="replication_target_end_offset",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.REPLICATION,
    help="Sum of the log end offsets of the topic on the target.",
    notes="Its rate is the replication rate. Absent if one of them is unknown.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
OVERTAKEN_RECORDS_TOTAL = Series(
    name="overtaken_records_total",
    kind=Kind.COUNTER,
    unit=Unit.RECORDS,
    group=Group.REPLICATION,
    help="Records of the topic that the source deleted before the mirror replicated them.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
TOPIC_RECREATED_TOTAL = Series(
    name="topic_recreated_total",
    kind=Kind.COUNTER,
    unit=Unit.TOPICS,
    group=Group.REPLICATION,
    help="Re-creations of the topic: the same name with another topic ID.",
    labels=(*FLOW_LABELS, TOPIC_LABEL, SIDE_LABEL),
)

LAG_CATALOGUE = tuple(bound for bound in tuple(vars().values()) if isinstance(bound, Series))
"""Every series above, in that order."""
