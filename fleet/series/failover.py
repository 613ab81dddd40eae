"""Series of failover readiness: a part of the catalogue."""

from __future__ import annotations

from fleet.series.kinds import Group, Kind, Label, Series, Unit
from fleet.series.labels import FLOW_LABELS
from fleet.series.lag import GROUP_LABEL

RUNNING = "running"
"""The status of a group with members on the target."""
FAILOVER_STATUSES = (
    "skips",
    "out_of_range",
    "not_replicated",
    "no_checkpoint",
    "unknown",
    "uncertain",
    "stale",
    "not_applied",
    "ready",
    RUNNING,
)
"""How a group would start on the target, worst first."""
DRIFT_KINDS = ("topic_missing", "partition_count", "config", "acl", "loop")

_BOUND = "An upper bound. Absent if unknown."
_GROUP_LABELS = (*FLOW_LABELS, GROUP_LABEL)

FAILOVER_LAST_SUCCESS_TIMESTAMP_SECONDS = Series(
    name="failover_last_success_timestamp_seconds",
    kind=Kind.GAUGE,
    unit=Unit.EPOCH_SECONDS,
    group=Group.FAILOVER,
    help="Time of the last successful failover audit of the flow.",
    notes="Absent until the first. The other series of this section are as of this time.",
    labels=FLOW_LABELS,
)
FAILOVER_GROUPS = Series(
    name="failover_groups",
    kind=Kind.GAUGE,
    unit=Unit.GROUPS,
    group=Group.FAILOVER,
    help="Consumer groups by how they would start on the target if they failed over now.",
    notes="Groups that the mirror's filter excludes are not counted.",
    labels=(*FLOW_LABELS, Label("status", "How the group would start on the target.", FAILOVER_STATUSES)),
)
FAILOVER_DRAIN_SECONDS = Series(
    name="failover_drain_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.FAILOVER,
    help="Estimated time until the mirror has replicated what is on the source now.",
    notes="From its progress since the audit before, over partitions that groups read. Absent if it makes "
    "none, or does not show it.",
    labels=FLOW_LABELS,
)
DRIFT_DIFFERENCES = Series(
    name="drift_differences",
    kind=Kind.GAUGE,
    unit=Unit.DIFFERENCES,
    group=Group.FAILOVER,
    help="Differences of the target from the source, by kind.",
    notes="Compared every 10 minutes. Absent if not compared. `mirrorwatch drift` names them.",
    labels=(*FLOW_LABELS, Label("kind", "What differs.", DRIFT_KINDS)),
)
FAILOVER_GROUP_READY = Series(
    name="failover_group_ready",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.FAILOVER,
    help="Whether the group could start on the target now without missing a replicated record.",
    notes="At most `lag.max_series` of each family with a label `group`: the worst groups of every flow.",
    labels=_GROUP_LABELS,
)
FAILOVER_RECORDS_TO_REREAD = Series(
    name="failover_records_to_reread",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.FAILOVER,
    help="Records that the group would read again on the target.",
    notes=_BOUND,
    labels=_GROUP_LABELS,
)
FAILOVER_RECORDS_SKIPPED = Series(
    name="failover_records_skipped",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.FAILOVER,
    help="Replicated records that the group would miss on the target.",
    notes="A lower bound. Absent if unknown.",
    labels=_GROUP_LABELS,
)
FAILOVER_RECORDS_AT_RISK = Series(
    name="failover_records_at_risk",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.FAILOVER,
    help="Records that the group has not read and that are on the source alone.",
    notes=_BOUND,
    labels=_GROUP_LABELS,
)

FAILOVER_CATALOGUE = tuple(bound for bound in tuple(vars().values()) if isinstance(bound, Series))
