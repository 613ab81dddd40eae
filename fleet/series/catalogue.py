"""The catalogue of every series that the service exposes, each written once.

To add one, bind a `Series` to a name here: `CATALOGUE` finds it, the tests hold it to the conventions of
Prometheus, and `python -m fleet.series.page > docs/reference/metrics.md` writes it into the reference.
Code that exposes a series takes its name, labels and help from here and never spells them again.

A metric has one set of labels. What tells about a flow carries `flow`, `source_cluster` and
`target_cluster`; what tells about one cluster carries `kafka_cluster`.
"""

from __future__ import annotations

from fleet.mm2.replication import PolicyKind
from fleet.series.checksum import CHECKSUM_CATALOGUE
from fleet.series.kinds import PREFIX, Group, Kind, Label, Series, Unit
from fleet.series.labels import CLUSTER_LABEL, FLOW_LABELS, PARTITION_LABEL, SIDE_LABEL, SIDES
from fleet.series.lag import LAG_CATALOGUE
from fleet.series.process import PROCESS_CATALOGUE
from fleet.verdicts.vocabulary import CONDITIONS, Cause, Verdict

__all__ = ["PREFIX", "SIDES", "Group", "Kind", "Label", "Series", "Unit"]  # and every name below

OUTCOMES = (
    "good",
    "late",
    "overdue",
    "lost",
    "produce_failed",
    "produce_unknown",
    "warmup",
    "skipped",
    "abandoned",
    "unknown",
)
"""How a probe of a flow can end: each ends in exactly one of them."""

FLAGS = (
    "recovered",
    "confirmed",
    "closed",
    "returned",
    "duplicated",
    "reordered",
    "corrupted",
    "misrouted",
    "looped",
    "foreign",
)
"""What else is counted of probes, whatever their outcome; a probe may have none of them, or several."""

PARTITION_OUTCOMES = ("good", "late", "overdue", "lost")
"""The outcomes that are told for each partition: those that conclude a probe."""

CONTROL_OUTCOMES = ("good", "overdue", "produce_failed", "produce_unknown")
"""How a control probe can end: it goes to a cluster and comes back from the same one."""

OBJECTIVES = ("availability", "freshness", "replication_lag", "recovery_point", "audit_age", "loss")
"""What an objective of a flow may be about."""

STORE_OPERATIONS = ("open", "read", "write")
"""What the service can want of its store."""

CANARY_COLLECTORS = ("cluster", "topics", "tap", "sender", "control", "heartbeats")
LAG_COLLECTORS = ("positions", "commits")
COLLECTORS = (*CANARY_COLLECTORS, *LAG_COLLECTORS)
"""What works at a cluster."""

CLIENTS = ("tap", "sender")
"""Our clients that time probes: a quota on them makes them measure something else than the mirror."""

STAGES = ("queueing", "ack", "replication", "end_to_end")
"""The legs of a probe's way, each timed on one monotonic clock."""

COLLECTOR_LABEL = Label(
    "collector",
    "What works there: `cluster` reads its brokers, `topics` the canary's topics, `tap` its records, "
    "`sender` writes them, `control` does both with the control probes, and `heartbeats` reads those of "
    "MirrorMaker; of the lag monitor, `positions` reads where all logs begin and end, and `commits` what "
    "groups committed.",
    COLLECTORS,
)

# Service

BUILD_INFO = Series(
    name="build_info",
    kind=Kind.GAUGE,
    unit=Unit.INFO,
    group=Group.SERVICE,
    help="Version, revision and Python of the service that runs.",
    labels=(
        Label("version", "The version of Mirrorwatch."),
        Label("revision", "The revision that it was built from; `unknown` if the build does not say."),
        Label("python_version", "The version of Python."),
    ),
)
CONFIG_LAST_RELOAD_SUCCESSFUL = Series(
    name="config_last_reload_successful",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.SERVICE,
    help="1 if the configuration file was taken over when it was last read, 0 if it was refused.",
)
CONFIG_LAST_RELOAD_SUCCESS_TIMESTAMP_SECONDS = Series(
    name="config_last_reload_success_timestamp_seconds",
    kind=Kind.GAUGE,
    unit=Unit.EPOCH_SECONDS,
    group=Group.SERVICE,
    help="Time at which a configuration was last taken over, at the start or by a reload.",
)
EVENT_LOOP_DELAY_SECONDS = Series(
    name="event_loop_delay_seconds",
    kind=Kind.HISTOGRAM,
    unit=Unit.SECONDS,
    group=Group.SERVICE,
    help="How much later than asked the event loop ran a timer. A large delay makes our own timing doubtful.",
)
STORE_ERRORS_TOTAL = Series(
    name="store_errors_total",
    kind=Kind.COUNTER,
    unit=Unit.ERRORS,
    group=Group.SERVICE,
    help="Operations on the store that failed.",
    labels=(Label("operation", "What the service wanted of the store.", STORE_OPERATIONS),),
)

# Clusters and collectors

KAFKA_CLUSTER_UP = Series(
    name="kafka_cluster_up",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.CLUSTER,
    help="1 while the cluster answers the service, 0 while it is down or refuses, or was not reached yet. Of "
    "one that no flow touches the lag monitor tells it: 0 too while that has told nothing of it for 10 s.",
    labels=(CLUSTER_LABEL,),
)
COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS = Series(
    name="collector_last_success_timestamp_seconds",
    kind=Kind.GAUGE,
    unit=Unit.EPOCH_SECONDS,
    group=Group.CLUSTER,
    help="When the collector last read all that it is for; absent until it has, and for what never ends.",
    labels=(CLUSTER_LABEL, COLLECTOR_LABEL),
)
COLLECTOR_ERRORS_TOTAL = Series(
    name="collector_errors_total",
    kind=Kind.COUNTER,
    unit=Unit.ERRORS,
    group=Group.CLUSTER,
    help="Attempts of the collector that failed.",
    labels=(CLUSTER_LABEL, COLLECTOR_LABEL),
)
CLIENT_THROTTLE_SECONDS_TOTAL = Series(
    name="client_throttle_seconds_total",
    kind=Kind.COUNTER,
    unit=Unit.SECONDS,
    group=Group.CLUSTER,
    help="For how long brokers held back answers to the canary's own clients, because of a quota. "
    "What the canary measures meanwhile is not the mirror alone.",
    labels=(
        CLUSTER_LABEL,
        Label("client", "Which client of ours: `tap` reads the canary's topics, `sender` writes.", CLIENTS),
    ),
)
CONTROL_PROBES_TOTAL = Series(
    name="control_probes_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CLUSTER,
    help="Control probes, produced to and consumed from one cluster, by how they ended. "
    "Where these fail the cluster is at fault, not the mirror.",
    labels=(CLUSTER_LABEL, Label("outcome", "How the probe ended.", CONTROL_OUTCOMES)),
)

CONTROL_ROUND_TRIP_SECONDS = Series(
    name="control_round_trip_seconds",
    kind=Kind.HISTOGRAM,
    unit=Unit.SECONDS,
    group=Group.CLUSTER,
    help="Time of a control probe from the produce request until it was consumed.",
    labels=(CLUSTER_LABEL,),
)

CANARY_STRANGERS_TOTAL = Series(
    name="canary_strangers_total",
    kind=Kind.COUNTER,
    unit=Unit.RECORDS,
    group=Group.CLUSTER,
    help="Records in the canary's topics of the cluster that are no probes: "
    "another program writes there. They are passed over and move no verdict. What a mirror copies of them "
    "counts on both sides.",
    labels=(CLUSTER_LABEL,),
)

KAFKA_CLUSTER_CLOCK_SKEW_SECONDS = Series(
    name="kafka_cluster_clock_skew_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.CLUSTER,
    help="How far the broker of the control topic is ahead of this host's clock, at least; negative: behind.",
    labels=(CLUSTER_LABEL,),
)
CLIENT_CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS = Series(
    name="client_certificate_expiry_timestamp_seconds",
    kind=Kind.GAUGE,
    unit=Unit.EPOCH_SECONDS,
    group=Group.CLUSTER,
    help="When the client certificate or one of its issuers expires; absent for clients without one.",
    labels=(CLUSTER_LABEL,),
)

# Flows

FLOW_INFO = Series(
    name="flow_info",
    kind=Kind.GAUGE,
    unit=Unit.INFO,
    group=Group.FLOW,
    help="A flow that is watched, and the replication policy that names its topics on the target.",
    labels=(*FLOW_LABELS, Label("policy", "The replication policy.", tuple(PolicyKind))),
)
FLOW_VERDICT = Series(
    name="flow_verdict",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.FLOW,
    help="1 for the flow's verdict, 0 for each of the others.",
    labels=(*FLOW_LABELS, Label("verdict", "How the flow is, worst first.", tuple(Verdict))),
)
FLOW_CONDITION = Series(
    name="flow_condition",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.FLOW,
    help="1 for each condition that holds right now, 0 for the others; several may hold at once.",
    labels=(*FLOW_LABELS, Label("condition", "What holds, worst first.", CONDITIONS)),
)
INCIDENT_OPEN = Series(
    name="incident_open",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.FLOW,
    help="1 while the flow has an open incident.",
    labels=FLOW_LABELS,
)
FLOW_CAUSE = Series(
    name="flow_cause",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.FLOW,
    help="1 for the cause of what is wrong right now, else of the verdict; 0 for the others.",
    labels=(*FLOW_LABELS, Label("cause", "What is behind the verdict.", tuple(Cause))),
)
_OBJECTIVE_LABELS = (*FLOW_LABELS, Label("objective", "What the objective is about.", OBJECTIVES))
OBJECTIVE_TARGET_RATIO = Series(
    name="objective_target_ratio",
    kind=Kind.GAUGE,
    unit=Unit.RATIO,
    group=Group.FLOW,
    help="Target of an objective.",
    labels=_OBJECTIVE_LABELS,
)
OBJECTIVE_ERROR_BUDGET_REMAINING_RATIO = Series(
    name="objective_error_budget_remaining_ratio",
    kind=Kind.GAUGE,
    unit=Unit.SHARE_LEFT,
    group=Group.FLOW,
    help="Share of the error budget that is left of the objective's period; below 0 once it is missed. Absent"
    " without data, and for loss, which has no budget.",
    labels=_OBJECTIVE_LABELS,
)
FLOW_RECOVERY_POINT_AGE_SECONDS = Series(
    name="flow_recovery_point_age_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.FLOW,
    help="How old the state is that the target could take over with: by the newest canary that arrived, or "
    "by how far the worst partition of any topic is behind, whichever is more; at "
    "least so old where the time of a record that is to be copied could not be read. It grows while nothing "
    "arrives.",
    labels=FLOW_LABELS,
)

MM2_HEARTBEAT_AGE_SECONDS = Series(
    name="mm2_heartbeat_age_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.FLOW,
    help="Our wall clock minus the instant in the newest heartbeat of MirrorMaker that was read on the "
    "target, which its worker took from its own clock; absent where there is none. "
    "It is one record of one partition and proves nothing about the mirror's tasks and partitions.",
    labels=FLOW_LABELS,
)

# What the canary counts

CANARY_EXPECTED_TOTAL = Series(
    name="canary_expected_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Probes that the schedule asked for: always those with an outcome plus those in flight.",
    labels=FLOW_LABELS,
)
CANARY_SETTLED_TOTAL = Series(
    name="canary_settled_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Probes known to be on the source of which it is known whether they met the threshold. "
    "Freshness is good over settled.",
    labels=FLOW_LABELS,
)
CANARY_GOOD_TOTAL = Series(
    name="canary_good_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Probes that arrived within the threshold.",
    labels=FLOW_LABELS,
)
CANARY_CONCLUDED_TOTAL = Series(
    name="canary_concluded_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Probes that ended good, late, overdue or lost. Availability is delivered over concluded.",
    labels=FLOW_LABELS,
)
CANARY_DELIVERED_TOTAL = Series(
    name="canary_delivered_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Probes that arrived before the horizon: good and late.",
    labels=FLOW_LABELS,
)
CANARY_PROBES_TOTAL = Series(
    name="canary_probes_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Finished probes by outcome.",
    labels=(*FLOW_LABELS, Label("outcome", "How the probe ended; exactly one each.", OUTCOMES)),
)
CANARY_PROBE_FLAGS_TOTAL = Series(
    name="canary_probe_flags_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Flags set on canary probes and their replicated records.",
    labels=(*FLOW_LABELS, Label("flag", "What else was seen of a probe, whatever its outcome.", FLAGS)),
)
CANARY_PARTITION_PROBES_TOTAL = Series(
    name="canary_partition_probes_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Concluded probes by partition of the canary topic.",
    labels=(
        *FLOW_LABELS,
        PARTITION_LABEL,
        Label("outcome", "How the probe ended.", PARTITION_OUTCOMES),
    ),
    opt_in=True,
)

# What the canary measures

CANARY_LATENCY_SECONDS = Series(
    name="canary_latency_seconds",
    kind=Kind.HISTOGRAM,
    unit=Unit.SECONDS,
    group=Group.CANARY,
    help="How long probes took, by stage. One bucket ends exactly at the flow's threshold.",
    labels=(*FLOW_LABELS, Label("stage", "The leg of the way.", STAGES)),
)
CANARY_THRESHOLD_SECONDS = Series(
    name="canary_threshold_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.CANARY,
    help="The end-to-end latency that still counts as good.",
    labels=FLOW_LABELS,
)
CANARY_INTERVAL_SECONDS = Series(
    name="canary_interval_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.CANARY,
    help="The time from one probe of a partition to its next.",
    labels=FLOW_LABELS,
)
CANARY_BROKERS_UNREACHED = Series(
    name="canary_brokers_unreached",
    kind=Kind.GAUGE,
    unit=Unit.BROKERS,
    group=Group.CANARY,
    help="Brokers that lead no partition of the canary's topic, so that no probe of the flow passes them.",
    labels=(*FLOW_LABELS, SIDE_LABEL),
)
CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS = Series(
    name="canary_last_arrival_timestamp_seconds",
    kind=Kind.GAUGE,
    unit=Unit.EPOCH_SECONDS,
    group=Group.CANARY,
    help="When a probe last arrived on the target; absent until one has.",
    labels=FLOW_LABELS,
)
CANARY_IN_FLIGHT = Series(
    name="canary_in_flight",
    kind=Kind.GAUGE,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Probes that the schedule asked for and that have no outcome yet.",
    labels=FLOW_LABELS,
)

CATALOGUE = (
    *(bound for bound in tuple(vars().values()) if isinstance(bound, Series)),
    *LAG_CATALOGUE,
    *CHECKSUM_CATALOGUE,
    *PROCESS_CATALOGUE,
)
"""Every series, in the order in which they are written above, and in the other modules of this package."""
