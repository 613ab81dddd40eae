"""The catalogue of every series that the service exposes, each written once.

To add one, bind a `Series` to a name here: `CATALOGUE` finds it, the tests hold it to the conventions of
Prometheus, and `python -m fleet.series.page > docs/reference/metrics.md` writes it into the reference.
Code that exposes a series takes its name, labels and help from here and does not repeat them.

A metric has one set of labels. A series of a flow has `flow`, `source_cluster` and `target_cluster`; a series
of a cluster has `kafka_cluster`.
"""

from __future__ import annotations

from fleet.mm2.replication import PolicyKind
from fleet.series.checksum import CHECKSUM_CATALOGUE
from fleet.series.failover import FAILOVER_CATALOGUE
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
"""The outcomes of a probe of a flow; each probe has exactly one."""

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
"""The flags of a probe, whatever its outcome; a probe may have none or several."""

PARTITION_OUTCOMES = ("good", "late", "overdue", "lost")
"""The outcomes that are counted by partition: those that conclude a probe."""

CONTROL_OUTCOMES = ("good", "overdue", "produce_failed", "produce_unknown")
"""The outcomes of a control probe, which is written to and read from one cluster."""

OBJECTIVES = ("availability", "freshness", "replication_lag", "recovery_point", "audit_age", "loss")
"""The indicators that an objective of a flow can have."""

STORE_OPERATIONS = ("open", "read", "write")
"""The operations of the service on its store."""

CANARY_COLLECTORS = ("cluster", "topics", "tap", "sender", "control", "heartbeats")
LAG_COLLECTORS = ("positions", "commits")
COLLECTORS = (*CANARY_COLLECTORS, *LAG_COLLECTORS)
"""The collectors of a cluster."""

CLIENTS = ("tap", "sender")
"""The clients that time probes; a quota on them distorts the measured latency."""

STAGES = ("queueing", "ack", "replication", "end_to_end")
"""The stages of a probe from source to target, each timed by one monotonic clock."""

COLLECTOR_LABEL = Label(
    "collector",
    "The collector. `cluster` reads the brokers, `topics` the canary's topics. `tap` reads canary records, "
    "`sender` writes them. `control` writes and reads control probes. `heartbeats` reads the heartbeats of "
    "MirrorMaker. `positions` polls log start and log end offsets. `commits` reads the commits of groups.",
    COLLECTORS,
)

# Service

BUILD_INFO = Series(
    name="build_info",
    kind=Kind.GAUGE,
    unit=Unit.INFO,
    group=Group.SERVICE,
    help="Version, revision and Python version of the running service.",
    labels=(
        Label("version", "The version of Mirrorwatch."),
        Label("revision", "The source revision of the build; `unknown` if the build has none."),
        Label("python_version", "The version of Python."),
    ),
)
REPLICA_LEADER = Series(
    name="replica_leader",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.SERVICE,
    help="Whether this replica leads the shard; only with `store.group`.",
    notes="A standby has 0 for every shard.",
    labels=(
        Label("replica_group", "The group of replicas, `store.group`."),
        Label("shard", "The number of the shard, from 1 to `store.shards`."),
    ),
    opt_in=True,
)
CONFIG_LAST_RELOAD_SUCCESSFUL = Series(
    name="config_last_reload_successful",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.SERVICE,
    help="Whether the last read of the configuration file was successful.",
    notes="0 if the configuration was rejected; the previous one stays in use.",
)
CONFIG_LAST_RELOAD_SUCCESS_TIMESTAMP_SECONDS = Series(
    name="config_last_reload_success_timestamp_seconds",
    kind=Kind.GAUGE,
    unit=Unit.EPOCH_SECONDS,
    group=Group.SERVICE,
    help="Time of the last successful load of the configuration.",
    notes="The start counts as well as a reload.",
)
EVENT_LOOP_DELAY_SECONDS = Series(
    name="event_loop_delay_seconds",
    kind=Kind.HISTOGRAM,
    unit=Unit.SECONDS,
    group=Group.SERVICE,
    help="Event loop lag.",
    notes="A large lag makes Mirrorwatch's own time measurements unreliable.",
)
STORE_ERRORS_TOTAL = Series(
    name="store_errors_total",
    kind=Kind.COUNTER,
    unit=Unit.ERRORS,
    group=Group.SERVICE,
    help="Failed operations on the store.",
    labels=(Label("operation", "The operation.", STORE_OPERATIONS),),
)

# Clusters and collectors

KAFKA_CLUSTER_UP = Series(
    name="kafka_cluster_up",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.CLUSTER,
    help="Whether the cluster answers.",
    notes="0 also if it denies access, or was not reached yet. Only the lag monitor reads "
    "a cluster that is not part of a flow: 0 too after 10 s without a report of it.",
    labels=(CLUSTER_LABEL,),
)
COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS = Series(
    name="collector_last_success_timestamp_seconds",
    kind=Kind.GAUGE,
    unit=Unit.EPOCH_SECONDS,
    group=Group.CLUSTER,
    help="Time of the last success of the collector.",
    notes="Absent before the first success, and if the collector has nothing to do.",
    labels=(CLUSTER_LABEL, COLLECTOR_LABEL),
)
COLLECTOR_ERRORS_TOTAL = Series(
    name="collector_errors_total",
    kind=Kind.COUNTER,
    unit=Unit.ERRORS,
    group=Group.CLUSTER,
    help="Failed attempts of the collector.",
    labels=(CLUSTER_LABEL, COLLECTOR_LABEL),
)
CLIENT_THROTTLE_SECONDS_TOTAL = Series(
    name="client_throttle_seconds_total",
    kind=Kind.COUNTER,
    unit=Unit.SECONDS,
    group=Group.CLUSTER,
    help="Time for which broker quotas delayed responses to the canary's clients.",
    notes="Latencies that the canary measures meanwhile include this delay.",
    labels=(
        CLUSTER_LABEL,
        Label("client", "The client: `tap` reads the canary's topics, `sender` writes to them.", CLIENTS),
    ),
)
CONTROL_PROBES_TOTAL = Series(
    name="control_probes_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CLUSTER,
    help="Control probes by outcome.",
    notes="Mirrorwatch writes them to one cluster and reads them back there. If they fail, the "
    "cluster is at fault, not the mirror.",
    labels=(CLUSTER_LABEL, Label("outcome", "The outcome of the probe.", CONTROL_OUTCOMES)),
)

CONTROL_ROUND_TRIP_SECONDS = Series(
    name="control_round_trip_seconds",
    kind=Kind.HISTOGRAM,
    unit=Unit.SECONDS,
    group=Group.CLUSTER,
    help="Round-trip time of control probes, from produce request to consumption.",
    labels=(CLUSTER_LABEL,),
)

CANARY_FOREIGN_RECORDS_TOTAL = Series(
    name="canary_foreign_records_total",
    kind=Kind.COUNTER,
    unit=Unit.RECORDS,
    group=Group.CLUSTER,
    help="Foreign records in the canary's topics.",
    notes="Another program writes them. Mirrorwatch skips them, and they change no verdict. Foreign "
    "records that a mirror replicates count on both clusters.",
    labels=(CLUSTER_LABEL,),
)

KAFKA_CLUSTER_CLOCK_SKEW_SECONDS = Series(
    name="kafka_cluster_clock_skew_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.CLUSTER,
    help="Clock of the control topic's broker minus the clock of Mirrorwatch's host.",
    notes="The real difference is at least this large. Negative if the broker is behind. Absent if unknown.",
    labels=(CLUSTER_LABEL,),
)
CLIENT_CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS = Series(
    name="client_certificate_expiry_timestamp_seconds",
    kind=Kind.GAUGE,
    unit=Unit.EPOCH_SECONDS,
    group=Group.CLUSTER,
    help="Earliest expiry of the client certificate and its issuers.",
    notes="Absent for a client without a certificate.",
    labels=(CLUSTER_LABEL,),
)

# Flows

FLOW_INFO = Series(
    name="flow_info",
    kind=Kind.GAUGE,
    unit=Unit.INFO,
    group=Group.FLOW,
    help="Watched flow and its replication policy.",
    labels=(*FLOW_LABELS, Label("policy", "The replication policy.", tuple(PolicyKind))),
)
FLOW_VERDICT = Series(
    name="flow_verdict",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.FLOW,
    help="Verdict of the flow.",
    notes="1 for the current verdict, 0 for the others.",
    labels=(*FLOW_LABELS, Label("verdict", "The verdict, worst first.", tuple(Verdict))),
)
FLOW_CONDITION = Series(
    name="flow_condition",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.FLOW,
    help="Conditions of the flow.",
    notes="1 for each active condition, 0 for the others. Several can be active.",
    labels=(*FLOW_LABELS, Label("condition", "The condition, worst first.", CONDITIONS)),
)
INCIDENT_OPEN = Series(
    name="incident_open",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.FLOW,
    help="Whether the flow has an open incident.",
    labels=FLOW_LABELS,
)
FLOW_CAUSE = Series(
    name="flow_cause",
    kind=Kind.GAUGE,
    unit=Unit.TRUTH,
    group=Group.FLOW,
    help="Causes of the current problems of the flow.",
    notes="1 for each of them, 0 for the others. Without a current problem, it is the cause of the verdict.",
    labels=(*FLOW_LABELS, Label("cause", "The cause.", tuple(Cause))),
)
_OBJECTIVE_LABELS = (*FLOW_LABELS, Label("objective", "The indicator of the objective.", OBJECTIVES))
OBJECTIVE_TARGET_RATIO = Series(
    name="objective_target_ratio",
    kind=Kind.GAUGE,
    unit=Unit.RATIO,
    group=Group.FLOW,
    help="Target of the objective.",
    labels=_OBJECTIVE_LABELS,
)
OBJECTIVE_ERROR_BUDGET_REMAINING_RATIO = Series(
    name="objective_error_budget_remaining_ratio",
    kind=Kind.GAUGE,
    unit=Unit.SHARE_LEFT,
    group=Group.FLOW,
    help="Remaining share of the error budget of the objective's period.",
    notes="Below 0 once the objective is missed. Time that was not observed spends nothing. Absent without "
    "data, and for the objective `loss`, which has no error budget.",
    labels=_OBJECTIVE_LABELS,
)
FLOW_RECOVERY_POINT_AGE_SECONDS = Series(
    name="flow_recovery_point_age_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.FLOW,
    help="Recovery point: age of the state with which the target could take over.",
    notes="The larger of two ages: of the newest canary record that arrived, and of the oldest record"
    " not replicated yet in any topic. A lower bound if the time of that record could not be "
    "read. It grows while nothing arrives. Absent if both are unknown: the first one"
    " is after a start or a takeover, until a record arrives.",
    labels=FLOW_LABELS,
)

MM2_HEARTBEAT_AGE_SECONDS = Series(
    name="mm2_heartbeat_age_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.FLOW,
    help="Age of the newest MirrorMaker heartbeat on the target.",
    notes="Mirrorwatch's clock minus the timestamp of the heartbeat, which the worker takes from its "
    "own clock. Absent without a heartbeat. It is one record of one partition: it does not "
    "prove that all tasks replicate.",
    labels=FLOW_LABELS,
)

# What the canary counts

CANARY_EXPECTED_TOTAL = Series(
    name="canary_expected_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Scheduled probes.",
    notes="Always the probes with an outcome plus those in flight.",
    labels=FLOW_LABELS,
)
CANARY_SETTLED_TOTAL = Series(
    name="canary_settled_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Probes that are known to have met or missed the threshold.",
    notes="Only probes that are known to be on the source. Freshness is good divided by settled.",
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
    help="Probes with the outcome good, late, overdue or lost.",
    notes="Availability is delivered divided by concluded.",
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
    labels=(*FLOW_LABELS, Label("outcome", "The outcome: exactly one for each probe.", OUTCOMES)),
)
CANARY_PROBE_FLAGS_TOTAL = Series(
    name="canary_probe_flags_total",
    kind=Kind.COUNTER,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Flags set on probes and their replicated records.",
    labels=(*FLOW_LABELS, Label("flag", "The flag. It does not change the outcome.", FLAGS)),
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
        Label("outcome", "The outcome of the probe.", PARTITION_OUTCOMES),
    ),
    opt_in=True,
)

# What the canary measures

CANARY_LATENCY_SECONDS = Series(
    name="canary_latency_seconds",
    kind=Kind.HISTOGRAM,
    unit=Unit.SECONDS,
    group=Group.CANARY,
    help="Latency of probes by stage.",
    notes="The flow's threshold is the upper bound of one bucket.",
    labels=(*FLOW_LABELS, Label("stage", "The stage between source and target.", STAGES)),
)
CANARY_THRESHOLD_SECONDS = Series(
    name="canary_threshold_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.CANARY,
    help="Threshold: the end-to-end latency above which a probe is late.",
    labels=FLOW_LABELS,
)
CANARY_INTERVAL_SECONDS = Series(
    name="canary_interval_seconds",
    kind=Kind.GAUGE,
    unit=Unit.SECONDS,
    group=Group.CANARY,
    help="Interval between two probes of a partition.",
    labels=FLOW_LABELS,
)
CANARY_BROKERS_UNREACHED = Series(
    name="canary_brokers_unreached",
    kind=Kind.GAUGE,
    unit=Unit.BROKERS,
    group=Group.CANARY,
    help="Brokers that lead no partition of the canary topic.",
    notes="No probe of the flow passes them.",
    labels=(*FLOW_LABELS, SIDE_LABEL),
)
CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS = Series(
    name="canary_last_arrival_timestamp_seconds",
    kind=Kind.GAUGE,
    unit=Unit.EPOCH_SECONDS,
    group=Group.CANARY,
    help="Time of the last arrival of a probe on the target.",
    notes="Absent after a start or a takeover until a probe arrives or has waited for half of the threshold."
    " An earlier process may have seen the arrival.",
    labels=FLOW_LABELS,
)
CANARY_IN_FLIGHT = Series(
    name="canary_in_flight",
    kind=Kind.GAUGE,
    unit=Unit.PROBES,
    group=Group.CANARY,
    help="Scheduled probes without an outcome yet.",
    labels=FLOW_LABELS,
)

CATALOGUE = (
    *(bound for bound in tuple(vars().values()) if isinstance(bound, Series)),
    *LAG_CATALOGUE,
    *CHECKSUM_CATALOGUE,
    *FAILOVER_CATALOGUE,
    *PROCESS_CATALOGUE,
)
"""Every series, in the order of the modules."""
