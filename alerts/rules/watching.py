"""Alerts about Mirrorwatch itself: three layers of absence, its store, its clients, the Watchdog. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alerts.rules.rule import (
    CRITICAL,
    FLOW,
    INFO,
    WARNING,
    Alert,
    Group,
    either,
    flow_matcher,
    quoted,
    selector,
)
from fleet.series import catalogue as series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alerts.objectives.resolving import FlowFacts

JOB = "mirrorwatch"


def watching_group(flows: Sequence[FlowFacts], *, job: str = JOB) -> Group:
    """Return the alerts about Mirrorwatch itself."""
    up = f"up{{job={quoted(job)}}}"
    reachable = series.KAFKA_CLUSTER_UP.full_name
    expected = series.CANARY_EXPECTED_TOTAL.full_name
    interval = series.CANARY_INTERVAL_SECONDS.full_name
    errors = series.COLLECTOR_ERRORS_TOTAL.full_name
    stored = series.STORE_ERRORS_TOTAL.full_name
    delay = series.EVENT_LOOP_DELAY_SECONDS.full_name
    leader = series.REPLICA_LEADER.full_name
    names = [one.name for one in flows]
    probed = flow_matcher([one.name for one in flows if one.has_canary], names)
    rules = (
        Alert(
            name="MirrorwatchDown",
            expression=f"sum({up}) == 0 or absent({up})",
            severity=CRITICAL,
            for_s=120,
            of_flow=False,
            summary="Mirrorwatch is down; no flow is watched",
            description="Prometheus cannot scrape any instance: no alert about a flow can fire.",
        ),
        _missing(flows),
        Alert(
            name="MirrorwatchCanarySilent",
            expression=(
                f"sum by ({FLOW}) (increase({selector(expected, probed)}[10m])) == 0"
                f" and on ({FLOW}) max by ({FLOW}) ({interval}) < 300"
            ),
            severity=CRITICAL,
            for_s=60,
            summary="No canary records are due on {{ $labels.flow }}",
            description="The canary of this flow stopped for ten minutes: its other alerts cannot fire.",
        ),
        Alert(
            name="MirrorwatchClusterDown",
            expression=f"max by (kafka_cluster) ({reachable}) == 0",
            severity=CRITICAL,
            for_s=60,
            of_flow=False,
            more_labels=("kafka_cluster",),
            summary="Kafka cluster {{ $labels.kafka_cluster }} does not answer",
            description="Mirrorwatch cannot reach it. Alerts about replication from and to it are muted.",
        ),
        *(_end_down(reachable, end) for end in ("source", "target")),
        Alert(
            name="MirrorwatchEventLoopLate",
            expression=f"histogram_quantile(0.99, sum by (instance, le) (rate({delay}_bucket[5m]))) > 0.5",
            severity=WARNING,
            for_s=600,
            of_flow=False,
            more_labels=("instance",),
            summary="Mirrorwatch is starved of processor time",
            description="Its event loop runs {{ $value | humanizeDuration }} late:"
            " its latencies are unreliable.",
        ),
        Alert(
            name="MirrorwatchStoreFails",
            expression=f"sum by (instance) (increase({stored}[10m])) > 2",
            severity=WARNING,
            for_s=300,
            of_flow=False,
            more_labels=("instance",),
            summary="The store of Mirrorwatch fails",
            description="{{ $value | humanize }} operations failed in 10 minutes:"
            " a restart would lose counts.",
        ),
        Alert(
            name="MirrorwatchCollectorFails",
            expression=f"sum by (kafka_cluster, collector) (increase({errors}[10m])) > 5",
            severity=WARNING,
            for_s=600,
            of_flow=False,
            more_labels=("kafka_cluster", "collector"),
            summary="A collector fails on {{ $labels.kafka_cluster }}",
            description="{{ $labels.collector }} failed {{ $value | humanize }} times in 10 minutes.",
        ),
        Alert(
            name="MirrorwatchNoLeader",
            expression=f"max by (replica_group, shard) ({leader}) == 0",
            severity=CRITICAL,
            for_s=60,
            of_flow=False,
            more_labels=("replica_group", "shard"),
            summary="No replica of group {{ $labels.replica_group }} leads shard {{ $labels.shard }}",
            description="Its flows and groups are not watched, and no alert about them can fire.",
        ),
        Alert(
            name="MirrorwatchNoStandby",
            expression=(
                f"count by (replica_group) (count by (replica_group, instance) ({leader}))"
                f" <= count by (replica_group) (count by (replica_group, shard) ({leader}))"
            ),
            severity=WARNING,
            for_s=600,
            of_flow=False,
            more_labels=("replica_group",),
            summary="Group {{ $labels.replica_group }} has no standby",
            description="{{ $value | humanize }} run, one for each shard or fewer. If one ends, its flows are"
            " not watched until it is back.",
        ),
        Alert(
            name="MirrorwatchWatchdog",
            expression="vector(1)",
            severity=INFO,
            of_flow=False,
            summary="Alerting works (this alert always fires)",
            description="Route it to a dead man's switch, which alerts when it stops.",
        ),
    )
    return Group(name="mirrorwatch-watching", interval_s=30, rules=rules)


def _end_down(reachable: str, end: str) -> Alert:
    """Return the alert that mutes others about a flow whose source or target is down."""
    label = f"{end}_cluster"
    down = f"max by (kafka_cluster) ({reachable}) == 0"
    return Alert(
        name=f"Mirrorwatch{end.capitalize()}Down",
        expression=(
            f"max by ({FLOW}) ({series.FLOW_INFO.full_name}) * on ({label}) group_left ()"
            f' max by ({label}) (label_replace({down}, "{label}", "$1", "kafka_cluster", "(.+)") + 1)'
        ),
        severity=INFO,
        summary=f"The {end} cluster of {{{{ $labels.flow }}}} does not answer",
        description="Mutes alerts about the flow's replication; MirrorwatchClusterDown pages.",
    )


def _missing(watched: Sequence[FlowFacts]) -> Alert:
    """Return an alert on configured flows without any series."""
    info = series.FLOW_INFO.full_name
    flows = sorted((one.name, one.source, one.target) for one in watched)
    names = FLOW.split(", ")
    matchers = (
        ", ".join(f"{name}={quoted(value)}" for name, value in zip(names, flow, strict=True))
        for flow in flows
    )
    return Alert(
        name="MirrorwatchFlowMissing",
        expression=either(f"absent({info}{{{each}}})" for each in matchers),
        severity=CRITICAL,
        for_s=300,
        summary="{{ $labels.flow }} is not watched",
        description="The flow was in the configuration when these rules were rendered, and no instance"
        " watches it.",
    )
