"""All flows: active conditions, alerts, error budgets."""

from __future__ import annotations

from alerts.rules.budgets import ERROR
from dashboards.panel import Board, Form, Panel, Query
from dashboards.promql import FLOW, flows, of
from fleet.series import catalogue as series
from fleet.verdicts.vocabulary import CONDITIONS

_LABELS = "flow, source_cluster, target_cluster"
_UP = of(series.KAFKA_CLUSTER_UP)
_RECOVERY = of(series.FLOW_RECOVERY_POINT_AGE_SECONDS, FLOW)
_FIRING = (
    'ALERTS{alertname=~"Mirrorwatch.*", alertname!="MirrorwatchWatchdog", alertstate="firing",'
    ' flow=~"$flow|"}'  # the empty name: alerts that are of no flow
)


def _condition(name: str) -> str:
    held = f'condition="{name}"'
    return f"max by ({_LABELS}) ({of(series.FLOW_CONDITION, FLOW, held)})"


_NOW = (
    Panel(
        title="Conditions by flow, worst first",
        description="Active conditions by flow. A flow can have several.",
        form=Form.TABLE,
        width=24,
        height=9,
        queries=tuple(Query(_condition(name)) for name in CONDITIONS),
        columns=tuple(CONDITIONS),
        link="/d/mirrorwatch-flow?var-flow=${__data.fields.flow}&${datasource:queryparam}",
    ),
    Panel(
        title="Firing alerts",
        description="Firing alerts of Mirrorwatch, by name and flow, and those of no flow. Empty means none.",
        form=Form.TABLE,
        queries=(Query(f"count by (alertname, severity, flow) ({_FIRING})"),),
        columns=("firing",),
        may_be_empty=True,
    ),
    Panel(
        title="Kafka clusters that do not answer",
        description="Clusters that did not answer Mirrorwatch.",
        form=Form.STATES,
        queries=(Query(f"1 - max by (kafka_cluster) ({_UP})", "{{kafka_cluster}}"),),
    ),
)
_OVER_TIME = (
    Panel(
        title="Recovery point age",
        description="Data loss of a failover now, by flow: age of the newest record that is surely on the"
        " target.",
        unit="s",
        queries=(Query(f"max by (flow) ({_RECOVERY})", "{{flow}}"),),
    ),
    Panel(
        title="Error ratio of objectives, 1 h",
        description="Bad share of the last hour, by flow and objective.",
        unit="percentunit",
        queries=(Query(f"{ERROR}1h{{{FLOW}}}", "{{flow}} {{objective}}"),),
    ),
)

FLEET = Board(
    uid="mirrorwatch-fleet",
    title="Mirrorwatch / Fleet",
    description="All flows: active conditions, and how fast their error budgets burn.",
    variables=(flows(many=True),),
    alerts=FLOW,
    rows=(("Now", _NOW), ("Over time", _OVER_TIME)),
)
