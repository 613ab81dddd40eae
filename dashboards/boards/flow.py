"""One flow: canary, lag by offsets, retention headroom, failover readiness."""

from __future__ import annotations

from dashboards.panel import Board, Form, Panel, Query
from dashboards.promql import ONE_FLOW as FLOW
from dashboards.promql import buckets, flows, largest, of, rate, smallest
from fleet.series import catalogue as series
from fleet.series import failover as series_failover
from fleet.series import lag as series_lag

_LATENCY = buckets(series.CANARY_LATENCY_SECONDS, FLOW, 'stage="end_to_end"')
_ARRIVAL = of(series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS, FLOW)
_HEADROOM = of(series_lag.REPLICATION_TOPIC_RETENTION_HEADROOM_SECONDS, FLOW)

_CANARY = (
    Panel(
        title="Conditions",
        description="Conditions of the flow over time.",
        form=Form.STATES,
        width=24,
        height=6,
        queries=(Query(f"max by (condition) ({of(series.FLOW_CONDITION, FLOW)})", "{{condition}}"),),
    ),
    Panel(
        title="End-to-end latency",
        description="Time of canary records from source to target.",
        form=Form.HEATMAP,
        unit="s",
        queries=(Query(_LATENCY, "{{le}}"),),
    ),
    Panel(
        title="Latency and threshold",
        description="Median and 99th percentile of the canary's latency, and the threshold above which"
        " a record is late.",
        unit="s",
        queries=(
            Query(f"histogram_quantile(0.5, {_LATENCY})", "median"),
            Query(f"histogram_quantile(0.99, {_LATENCY})", "99 %"),
            Query(f"max ({of(series.CANARY_THRESHOLD_SECONDS, FLOW)})", "threshold"),
        ),
    ),
    Panel(
        title="Age of the last arrival",
        description="Time since the last canary record arrived. It grows while none arrives.",
        unit="s",
        queries=(Query(f"time() - max by (flow) ({_ARRIVAL})", "last arrival"),),
    ),
    Panel(
        title="Probes by outcome",
        description="Canary records per second by outcome. Check all but good.",
        unit="cps",
        queries=(Query(f"sum by (outcome) ({rate(series.CANARY_PROBES_TOTAL, FLOW)})", "{{outcome}}"),),
    ),
)
_OFFSETS = (
    Panel(
        title="Replication lag by topic",
        description="Records not replicated yet; the ten topics with most.",
        queries=(
            Query(largest(10, "topic", of(series_lag.REPLICATION_TOPIC_LAG_RECORDS, FLOW)), "{{topic}}"),
        ),
    ),
    Panel(
        title="Replication lag by topic, in time",
        description="Age of the oldest record not replicated yet; the ten oldest.",
        unit="s",
        queries=(
            Query(largest(10, "topic", of(series_lag.REPLICATION_TOPIC_LAG_SECONDS, FLOW)), "{{topic}}"),
        ),
    ),
    Panel(
        title="Produced and replicated",
        description="Records per second written to source and target, all topics.",
        unit="cps",
        queries=(
            # Each of several independent replicas has all topics of a flow.
            Query(
                f"max (sum by (instance) ({rate(series_lag.REPLICATION_SOURCE_END_OFFSET, FLOW)}))", "source"
            ),
            Query(
                f"max (sum by (instance) ({rate(series_lag.REPLICATION_TARGET_END_OFFSET, FLOW)}))", "target"
            ),
        ),
    ),
    Panel(
        title="Retention headroom",
        description="Time until retention deletes unreplicated records; the ten lowest.",
        unit="s",
        queries=(Query(smallest(10, "topic", _HEADROOM), "{{topic}}"),),
        may_be_empty=True,
    ),
)

_FAILOVER = (
    Panel(
        title="Groups by readiness",
        description="How many groups would start how on the target. Only ready and not_applied miss nothing.",
        width=24,
        queries=(Query(f"max by (status) ({of(series_failover.FAILOVER_GROUPS, FLOW)}) > 0", "{{status}}"),),
        may_be_empty=True,
    ),
    Panel(
        title="Drift",
        description="Differences of the target from the source, by kind.",
        queries=(Query(f"max by (kind) ({of(series_failover.DRIFT_DIFFERENCES, FLOW)})", "{{kind}}"),),
        may_be_empty=True,
    ),
    Panel(
        title="Records to read again",
        description="Upper bound of records that each group would read again; the ten groups with most.",
        queries=(
            Query(largest(10, "group", of(series_failover.FAILOVER_RECORDS_TO_REREAD, FLOW)), "{{group}}"),
        ),
        may_be_empty=True,
    ),
    Panel(
        title="Records at risk",
        description="Upper bound of records on the source alone that a group has not read; the ten groups"
        " with most.",
        queries=(
            Query(largest(10, "group", of(series_failover.FAILOVER_RECORDS_AT_RISK, FLOW)), "{{group}}"),
        ),
        may_be_empty=True,
    ),
)

FLOW_BOARD = Board(
    uid="mirrorwatch-flow",
    title="Mirrorwatch / Flow",
    description="One flow: canary, lag by offsets, retention headroom, failover readiness.",
    variables=(flows(many=False),),
    alerts=FLOW,
    page="/flows/${flow:percentencode}",
    rows=(("Canary", _CANARY), ("Offsets", _OFFSETS), ("Failover", _FAILOVER)),
)
