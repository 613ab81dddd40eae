"""Alerts on unreliable measurements: clocks, certificates, collectors, and zeros. Pure.

Zero is not always healthy: if lag is 0 while the source advances and the target does not, the measurement or
the mirror is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alerts.rules.rule import CRITICAL, FLOW, WARNING, Alert, Group, either, flow_matcher, number, selector
from fleet.series import catalogue as series
from fleet.series import checksum as series_checksum
from fleet.series import lag as series_lag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alerts.objectives.resolving import FlowFacts

DAY_S = 86_400.0
EXPIRY_WARNING_S, EXPIRY_CRITICAL_S = 14 * DAY_S, 2 * DAY_S
SKEW_S = 2.0
STALLED_S = 300.0
LEAST_EVENTS = 10
_STEADY = "topics|positions|control"  # collectors that normally succeed every few seconds


def trust_group(flows: Sequence[FlowFacts]) -> Group:
    """Return the alerts on unreliable measurements, and on duplicates of exactly-once flows."""
    reload_ok = series.CONFIG_LAST_RELOAD_SUCCESSFUL.full_name
    reached = series.KAFKA_CLUSTER_UP.full_name
    last = selector(series.COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS.full_name, f'collector=~"{_STEADY}"')
    skew = series.KAFKA_CLUSTER_CLOCK_SKEW_SECONDS.full_name
    heartbeat = series.MM2_HEARTBEAT_AGE_SECONDS.full_name
    rules = (
        *(_expiry(*each) for each in ((EXPIRY_CRITICAL_S, CRITICAL), (EXPIRY_WARNING_S, WARNING))),
        Alert(
            name="MirrorwatchClusterClockSkewed",
            expression=f"max by (kafka_cluster) (abs({skew})) > {number(SKEW_S)}",
            severity=WARNING,
            for_s=600,
            of_flow=False,
            more_labels=("kafka_cluster",),
            summary="Clocks of Mirrorwatch and {{ $labels.kafka_cluster }} differ",
            description="They differ by at least {{ $value | humanizeDuration }}: lag in seconds and"
            " retention headroom are wrong by as much.",
        ),
        Alert(
            name="MirrorwatchMirrorClockSkewed",
            expression=f"min by ({FLOW}) ({heartbeat}) < -{number(SKEW_S)}",
            severity=WARNING,
            for_s=600,
            summary="MirrorMaker's clock of {{ $labels.flow }} is ahead",
            description="The age of its newest heartbeat is {{ $value | humanizeDuration }}: lag in seconds"
            " and ages of heartbeats are wrong by as much.",
        ),
        Alert(
            name="MirrorwatchZeroNotCredible",
            expression=either((_zero_lag(), _zero_latency())),
            severity=WARNING,
            for_s=300,
            summary="Metrics of {{ $labels.flow }} are zero, which is not credible",
            description="Lag is 0 while the source advances and the target does not, or latencies are 0.",
        ),
        Alert(
            name="MirrorwatchCollectorStalled",
            expression=(
                # Of the replica in which it stalled: another one may read the same cluster.
                f"time() - min by (kafka_cluster, collector)"
                f" (max by (kafka_cluster, collector, instance) ({last})) > {number(STALLED_S)}"
                f" unless on (kafka_cluster) max by (kafka_cluster) ({reached}) == 0"
            ),
            severity=WARNING,
            for_s=60,
            of_flow=False,
            more_labels=("kafka_cluster", "collector"),
            summary="A collector of {{ $labels.kafka_cluster }} has stalled",
            description="{{ $labels.collector }} last succeeded {{ $value | humanizeDuration }} ago, though"
            " the cluster answers.",
        ),
        Alert(
            name="MirrorwatchReloadRefused",
            expression=f"min by (instance) ({reload_ok}) == 0",
            severity=WARNING,
            for_s=300,
            of_flow=False,
            more_labels=("instance",),
            summary="Mirrorwatch refused its changed configuration",
            description="It runs with the configuration from before. `mirrorwatch check` names what is"
            " wrong.",
        ),
        *_duplicates(flows),
    )
    return Group(name="mirrorwatch-trust", interval_s=30, rules=rules)


def _expiry(left_s: float, severity: str) -> Alert:
    expires = series.CLIENT_CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS.full_name
    return Alert(
        name="MirrorwatchCertificateExpires",
        expression=f"min by (kafka_cluster) ({expires}) - time() < {number(left_s)}",
        severity=severity,
        for_s=60,
        of_flow=False,
        more_labels=("kafka_cluster",),
        summary="The client certificate for {{ $labels.kafka_cluster }} expires",
        description="{{ if gt $value 0.0 }}It expires in {{ $value | humanizeDuration }}{{ else }}It has"
        " expired{{ end }}: Mirrorwatch cannot connect to the cluster after that.",
    )


def _zero_lag() -> str:
    """Return an expression for flows with lag 0 whose source advances and whose target does not."""
    source = series_lag.REPLICATION_SOURCE_END_OFFSET.full_name
    target = series_lag.REPLICATION_TARGET_END_OFFSET.full_name
    lag = series_lag.REPLICATION_TOPIC_LAG_RECORDS.full_name
    # Two times instead of all samples between them: there is a series for each topic.
    return (
        f"sum by ({FLOW}) ({lag}) == 0"
        f" and sum by ({FLOW}) ({source}) > sum by ({FLOW}) ({source} offset 15m) + {LEAST_EVENTS}"
        f" and sum by ({FLOW}) ({target}) == sum by ({FLOW}) ({target} offset 15m)"
    )


def _zero_latency() -> str:
    """Return an expression for flows whose canary records took no time."""
    latency = series.CANARY_LATENCY_SECONDS.full_name
    stage = 'stage="end_to_end"'
    took, count = (selector(f"{latency}_{part}", stage) for part in ("sum", "count"))
    return (
        f"sum by ({FLOW}) (increase({took}[15m])) == 0"
        f" and sum by ({FLOW}) (increase({count}[15m])) > {LEAST_EVENTS}"
    )


def _duplicates(flows: Sequence[FlowFacts]) -> list[Alert]:
    """Return the alert on duplicates of exactly-once flows; none without such a flow."""
    strict = [one.name for one in flows if one.exactly_once]
    if not strict:
        return []
    which = flow_matcher(strict, [one.name for one in flows])
    flags = selector(series.CANARY_PROBE_FLAGS_TOTAL.full_name, 'flag="duplicated"', which)
    found = selector(series_checksum.CHECKSUM_RECORDS.full_name, 'verdict="duplicated"', which)
    return [
        Alert(
            name="MirrorwatchRecordsDuplicated",
            expression=either(
                (
                    f"sum by ({FLOW}) (increase({flags}[5m])) > 0",
                    f"sum by ({FLOW}) ({found}) > 0",
                )
            ),
            severity=CRITICAL,
            keep_s=600,
            summary="Records of {{ $labels.flow }} arrived twice",
            description="The flow is configured to deliver exactly once, and records are on"
            " {{ $labels.target_cluster }} more than once.",
        )
    ]
