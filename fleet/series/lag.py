"""Series of groups and mirrors, from offsets: a part of the catalogue."""

from __future__ import annotations

from fleet.series.kinds import Group, Kind, Label, Series, Unit
from fleet.series.labels import CLUSTER_LABEL, FLOW_LABELS, PARTITION_LABEL, SIDE_LABEL

GROUP_LABEL = Label(
    "group",
    "The consumer group. A name longer than 256 bytes is cut, and ends in `~` and 20 digits of its SHA-256.",
)
TOPIC_LABEL = Label("topic", "The topic; that of a flow by its name on the source.")
COMMITS_SOURCES = ("topic", "admin")

_STATUS = (
    "1 OK, 2 WARN (it falls behind), 3 ERR (records were deleted before it read them), 4 STOP (it commits "
    "no more), 5 STALL (it commits and does not move, or a transaction holds it), 6 REWIND (it went back), "
    "7 unknown"
)

# Service

SERIES_DROPPED_TOTAL = Series(
    name="series_dropped_total",
    kind=Kind.COUNTER,
    unit=Unit.SERIES,
    group=Group.SERVICE,
    help="Series that the cap of their family left out, each counted once, when it came. "
    "The newest are left out; one of them is told when an older goes.",
    labels=(Label("family", "The name of the series that the cap is for."),),
)

# Groups

GROUP_STATUS = Series(
    name="group_status",
    kind=Kind.GAUGE,
    unit=Unit.STATUS,
    group=Group.GROUPS,
    help=f"How the group is, by the worst of its partitions: {_STATUS}.",
    labels=(CLUSTER_LABEL, GROUP_LABEL),
)
GROUP_LAG_RECORDS = Series(
    name="group_lag_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.GROUPS,
    help="Records that the group has yet to read, over all its partitions of which that is known.",
    labels=(CLUSTER_LABEL, GROUP_LABEL),
)
GROUP_MAX_LAG_RECORDS = Series(
    name="group_max_lag_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.GROUPS,
    help="Records that the group has yet to read in the partition where they are most.",
    labels=(CLUSTER_LABEL, GROUP_LABEL),
)
GROUP_LAG_SECONDS = Series(
    name="group_lag_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.GROUPS,
    help="How long ago the oldest record was written that the group has yet to read: at least so long where "
    "its time could not be read; 0 where there is none, absent where it is not known.",
    labels=(CLUSTER_LABEL, GROUP_LABEL),
)
GROUP_TOPIC_LAG_RECORDS = Series(
    name="group_topic_lag_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.GROUPS,
    help="Records that the group has yet to read in the topic.",
    labels=(CLUSTER_LABEL, GROUP_LABEL, TOPIC_LABEL),
)
GROUP_PARTITION_LAG_RECORDS = Series(
    name="group_partition_lag_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.GROUPS,
    help="Records that the group has yet to read in the partition; absent where it is not known.",
    labels=(CLUSTER_LABEL, GROUP_LABEL, TOPIC_LABEL, PARTITION_LABEL),
    opt_in=True,
)

# Commits

COMMITS_CONSUMED_TOTAL = Series(
    name="commits_consumed_total",
    kind=Kind.COUNTER,
    unit=Unit.COMMITS,
    group=Group.GROUPS,
    help="Commits of groups that were read from the cluster, those of its past included; where the Admin API "
    "is asked, how often an offset was seen to have moved.",
    labels=(CLUSTER_LABEL,),
)
COMMITS_MALFORMED_TOTAL = Series(
    name="commits_malformed_total",
    kind=Kind.COUNTER,
    unit=Unit.RECORDS,
    group=Group.GROUPS,
    help="Records of the offsets topic that could not be understood and were passed over.",
    labels=(CLUSTER_LABEL,),
)
COMMITS_ABSURD_TOTAL = Series(
    name="commits_absurd_total",
    kind=Kind.COUNTER,
    unit=Unit.COMMITS,
    group=Group.GROUPS,
    help="Commits that were understood and passed over all the same: of a negative offset, or for a "
    "partition of a number that no topic comes near.",
    labels=(CLUSTER_LABEL,),
)

COMMITS_SOURCE = Series(
    name="commits_source",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.GROUPS,
    help="1 for where the offsets of the cluster's groups come from at present, 0 for the other: where the "
    "right to read the commits is refused, the Admin API is asked instead.",
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
    help="How much of the commits that were there at the beginning is read, or how many of the groups have "
    "been asked once; 1 where all groups are known.",
    labels=(CLUSTER_LABEL,),
)
LAG_READY_SECONDS = Series(
    name="lag_ready_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.GROUPS,
    help="How long after the start of the lag monitor's process all groups of the cluster were known; absent "
    "until they are.",
    labels=(CLUSTER_LABEL,),
)

# Mirrors

REPLICATION_STATUS = Series(
    name="replication_status",
    kind=Kind.GAUGE,
    unit=Unit.STATUS,
    group=Group.REPLICATION,
    help=f"How the mirror reads its source, by the worst of its partitions: {_STATUS}.",
    labels=FLOW_LABELS,
)
REPLICATION_TOPIC_LAG_RECORDS = Series(
    name="replication_topic_lag_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.REPLICATION,
    help="Records of the topic that the mirror has yet to copy, over its partitions of which that is known.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
REPLICATION_TOPIC_LAG_SECONDS = Series(
    name="replication_topic_lag_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.REPLICATION,
    help="How long ago the oldest record of the topic was written that the mirror has yet to copy: at least "
    "so long where its time could not be read; 0 where there is none, absent where it is not known.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
REPLICATION_TOPIC_RETENTION_HEADROOM_SECONDS = Series(
    name="replication_topic_retention_headroom_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.REPLICATION,
    help="How soon the source's retention overtakes the mirror in the partition where that is soonest; "
    "0 once it has, absent while it is not in sight or only known to be at most so much.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
REPLICATION_PARTITION_LAG_RECORDS = Series(
    name="replication_partition_lag_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.REPLICATION,
    help="Records of the partition that the mirror has yet to copy; absent where it is not known.",
    labels=(*FLOW_LABELS, TOPIC_LABEL, PARTITION_LABEL),
    opt_in=True,
)
REPLICATION_PARTITION_LAG_SECONDS = Series(
    name="replication_partition_lag_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.REPLICATION,
    help="How long ago the oldest record of the partition was written that the mirror has yet to copy: at "
    "least so long where its time could not be read; 0 where there is none, absent where it is not known.",
    labels=(*FLOW_LABELS, TOPIC_LABEL, PARTITION_LABEL),
    opt_in=True,
)
REPLICATION_PARTITION_HEADROOM_RECORDS = Series(
    name="replication_partition_headroom_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.REPLICATION,
    help="Records between the start of the source's log and the next that the mirror copies; "
    "0 once retention has overtaken it.",
    labels=(*FLOW_LABELS, TOPIC_LABEL, PARTITION_LABEL),
    opt_in=True,
)
REPLICATION_SOURCE_END_OFFSET = Series(
    name="replication_source_end_offset",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.REPLICATION,
    help="The sum of the topic's end offsets on the source: its rate is what is produced.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
REPLICATION_TARGET_END_OFFSET = Series(
    name="replication_target_end_offset",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.REPLICATION,
    help="The sum of the topic's end offsets on the target: its rate is what is mirrored.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
OVERTAKEN_RECORDS_TOTAL = Series(
    name="overtaken_records_total",
    kind=Kind.COUNTER,
    unit=Unit.RECORDS,
    group=Group.REPLICATION,
    help="Records of the topic that the source deleted before the mirror had copied them.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
TOPIC_RECREATED_TOTAL = Series(
    name="topic_recreated_total",
    kind=Kind.COUNTER,
    unit=Unit.TOPICS,
    group=Group.REPLICATION,
    help="How often the topic was seen to be made anew: the same name with another id.",
    labels=(*FLOW_LABELS, TOPIC_LABEL, SIDE_LABEL),
)

LAG_CATALOGUE = tuple(bound for bound in tuple(vars().values()) if isinstance(bound, Series))
"""Every series above, in that order: the end of `series.CATALOGUE`."""
