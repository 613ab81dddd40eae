"""Growing lag, and lag close to retention. Pure.

Both are sums and ratios over all topics, recorded once for their alerts.
"""

from __future__ import annotations

from alerts.rules.rule import CRITICAL, FLOW, WARNING, Alert, Group, Record, number
from alerts.rules.symptoms import STALL_FOR_S
from fleet.series import lag as series_lag

WAITING = "mirrorwatch:flow_lag:records"
USED = "mirrorwatch:topic_retention_used:ratio"  # of topics above RACE_WARNING
RACE_WARNING, RACE_CRITICAL = 0.5, 0.8  # lag as a share of retention time
LEAST_RETENTION_S = 600.0  # of a topic that can race


def lag_group() -> Group:
    """Return the recorded lags and their alerts."""
    records = series_lag.REPLICATION_TOPIC_LAG_RECORDS.full_name
    lag_s = series_lag.REPLICATION_TOPIC_LAG_SECONDS.full_name
    headroom_s = series_lag.REPLICATION_TOPIC_RETENTION_HEADROOM_SECONDS.full_name
    # A log of minutes is deleted faster than anybody can act; what it loses is MirrorwatchRecordsLost.
    retention_s = f"({lag_s} + {headroom_s} > {number(LEAST_RETENTION_S)})"
    used = f"max by ({FLOW}, topic) ({lag_s} / {retention_s})"
    rules = (
        # Each of several independent replicas has all topics of a flow.
        Record(name=WAITING, expression=f"max by ({FLOW}) (sum by ({FLOW}, instance) ({records}))"),
        Record(name=USED, expression=f"{used} > {number(RACE_WARNING)}"),
        Alert(
            name="MirrorwatchLagGrowing",
            expression=f"{WAITING} > 10000 and {WAITING} > {WAITING} offset 10m"
            f" and {WAITING} > 1.1 * ({WAITING} offset 30m)",
            severity=WARNING,
            for_s=900,
            summary="Replication lag of {{ $labels.flow }} keeps growing",
            description="{{ $value | humanize }} records wait, more than half an hour ago.",
        ),
        _race(RACE_CRITICAL, CRITICAL, STALL_FOR_S, "Retention is about to delete unreplicated records"),
        _race(RACE_WARNING, WARNING, 600, "Retention may delete unreplicated records"),
    )
    return Group(name="mirrorwatch-lag", interval_s=30, rules=rules)


def _race(used: float, severity: str, for_s: float, summary: str) -> Alert:
    return Alert(
        name="MirrorwatchRetentionRace",
        more_labels=("topic",),
        expression=f"{USED} > {number(used)}",
        severity=severity,
        for_s=for_s,
        summary=summary,
        description="The replication lag of {{ $labels.topic }} has used up {{ $value | humanizePercentage }}"
        " of its retention time on {{ $labels.source_cluster }}.",
    )
