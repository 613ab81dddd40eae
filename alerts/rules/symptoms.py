"""Alerts that page: faults that affect readers of the target cluster, or lose records. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alerts.objectives.objective import ObjectiveKind
from alerts.rules.rule import (
    CRITICAL,
    FLOW,
    Alert,
    Group,
    either,
    flow_matcher,
    number,
    promql_duration,
    selector,
)
from fleet.series import catalogue as series
from fleet.series import checksum as series_checksum

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from alerts.objectives.objective import Objective
    from alerts.objectives.resolving import FlowFacts

SILENCE_S = (
    8.0  # beyond threshold and interval: a restarted mirror is silent for 9 s, a killed broker for 13 s
)
STALL_FOR_S = 60.0
STALL_WITHIN_S = 240.0  # a mirror that a quota holds back stalls and moves in turn
KEEP_S = 60.0  # a flapping mirror is one alert
LOSS_WINDOW = "5m"
KEEP_FOUND_S = 600.0  # how long a finding keeps firing


def symptom_group(objectives: Sequence[Objective], flows: Sequence[FlowFacts]) -> Group:
    """Return the alerts that page."""
    arrival = series.CANARY_LAST_ARRIVAL_TIMESTAMP_SECONDS.full_name
    threshold_s = series.CANARY_THRESHOLD_SECONDS.full_name
    interval_s, cause = series.CANARY_INTERVAL_SECONDS.full_name, series.FLOW_CAUSE.full_name
    probes, flags = series.CANARY_PROBES_TOTAL.full_name, series.CANARY_PROBE_FLAGS_TOTAL.full_name
    condition = series.FLOW_CONDITION.full_name
    differing = series_checksum.CHECKSUM_DIFFERING_RECORDS.full_name
    lost = f'sum by ({FLOW}) (increase({probes}{{outcome="lost"}}[{LOSS_WINDOW}]))'
    confirmed = f'sum by ({FLOW}) (increase({flags}{{flag="confirmed"}}[{LOSS_WINDOW}]))'
    # An altered probe counts as lost; a loss besides it shows as the condition.
    altered = f'max_over_time({condition}{{condition="altered"}}[{LOSS_WINDOW}]) == 1'
    unless_altered = f" unless on ({FLOW}) {altered}"
    # Someone paused the mirror on purpose: a ticket is enough, and the recovery point pages in time.
    unless_paused = f' unless on ({FLOW}) {cause}{{cause="paused"}} == 1'
    stalled = f'max by ({FLOW}) ({condition}{{condition="stalled"}})'
    rules = (
        Alert(
            name="MirrorwatchNoRecordsArrive",
            # The age as of the scrape: `time()` would count the wait for the next scrape as silence.
            expression=(
                f"max by ({FLOW}) (timestamp({arrival}) - {arrival})"
                f" > on ({FLOW}) (max by ({FLOW}) ({threshold_s}) + max by ({FLOW}) ({interval_s})"
                f" + {number(SILENCE_S)})"
                # Probes that the source refused cannot arrive: the flow is unknown, which is a ticket.
                f' unless on ({FLOW}) sum by ({FLOW}) (increase({probes}{{outcome=~"produce_.*"}}[1m])) > 0'
                f"{unless_paused}"
            ),
            severity=CRITICAL,
            keep_s=KEEP_S,
            summary="No canary records arrive on {{ $labels.flow }}",
            description="The last canary record arrived {{ $value | humanizeDuration }} before the"
            " last scrape.",
        ),
        Alert(
            name="MirrorwatchReplicationStalled",
            expression=(
                f"{stalled} == 1{unless_paused}"
                f" and on ({FLOW}) {total_s(stalled, STALL_WITHIN_S)} >= {number(STALL_FOR_S)}"
            ),
            severity=CRITICAL,
            for_s=STALL_FOR_S,
            within_s=STALL_WITHIN_S,
            keep_s=KEEP_S,
            summary="Replication is stalled on {{ $labels.flow }}",
            description="At least one partition makes no progress, for a minute in all of the last four."
            " The flow's page names the partitions and the cause.",
        ),
        Alert(
            name="MirrorwatchRecordsLost",
            expression=either(
                (
                    f'max by ({FLOW}) ({condition}{{condition="losing"}}) == 1',
                    f"{lost} > 0{unless_altered}",
                    f"{confirmed} > 0{unless_altered}",
                )
            ),
            severity=CRITICAL,
            keep_s=KEEP_FOUND_S,
            summary="Records are lost on {{ $labels.flow }}",
            description="Records of the source will not arrive on {{ $labels.target_cluster }}."
            " The flow's page lists them by partition and offset.",
        ),
        Alert(
            name="MirrorwatchDataAltered",
            expression=f'max by ({FLOW}) ({condition}{{condition="altered"}}) == 1',
            keep_s=KEEP_FOUND_S,
            severity=CRITICAL,
            summary="Replicated records are altered on {{ $labels.flow }}",
            description="Records on {{ $labels.target_cluster }} differ from those on"
            " {{ $labels.source_cluster }}. The flow's page lists them.",
        ),
        Alert(
            name="MirrorwatchRecordsLoop",
            expression=f'max by ({FLOW}) ({cause}{{cause="looping"}}) == 1',
            severity=CRITICAL,
            summary="Records loop between clusters of {{ $labels.flow }}",
            description="A canary record came back to its source. Every record of a looping topic is"
            " written again and again.",
        ),
        Alert(
            name="MirrorwatchAuditFoundLoss",
            expression=f"max by ({FLOW}) (sum by ({FLOW}, instance) ({differing})) > 0",
            severity=CRITICAL,
            summary="The checksum found damage on {{ $labels.flow }}",
            description="At least {{ $value | humanize }} records of {{ $labels.source_cluster }} and"
            " {{ $labels.target_cluster }} differ, by the last run over each topic.",
        ),
        *_recovery_point(objectives, flows),
    )
    return Group(name="mirrorwatch-symptoms", interval_s=5, rules=rules)


def _recovery_point(objectives: Sequence[Objective], flows: Sequence[FlowFacts]) -> list[Alert]:
    """Return the alert on old recovery points; none without objectives."""
    age = series.FLOW_RECOVERY_POINT_AGE_SECONDS.full_name
    expressions = [
        f"max by ({FLOW}) ({selector(age, matcher)}) > {number(limit_s)}"
        for limit_s, matcher in limits(objectives, ObjectiveKind.RECOVERY_POINT, flows)
    ]
    if not expressions:
        return []
    return [
        Alert(
            name="MirrorwatchRecoveryPointOld",
            expression=either(expressions),
            severity=CRITICAL,
            for_s=STALL_FOR_S,
            summary="Recovery point of {{ $labels.flow }} is too old",
            description="A failover to {{ $labels.target_cluster }} now would lose the last"
            " {{ $value | humanizeDuration }}, more than the objective's limit.",
        )
    ]


def total_s(condition: str, within_s: float) -> str:
    """Return an expression for the seconds of the last `within_s` in which a condition was 1, not 0."""
    step_s = 5.0
    samples = f"[{promql_duration(within_s)}:{promql_duration(step_s)}]"
    # The first sample is where the condition began.
    return f"{number(step_s)} * (sum_over_time(({condition}){samples}) - 1)"


def limits(
    objectives: Sequence[Objective], kind: ObjectiveKind, flows: Sequence[FlowFacts]
) -> Iterator[tuple[float, str]]:
    """Yield each limit (seconds) of objectives of this kind, with a matcher of its flows among all."""
    wanted = [one for one in objectives if one.kind is kind]
    every = {one.name for one in flows}
    for limit_s in sorted({one.limit_s or 0.0 for one in wanted}):
        yield limit_s, flow_matcher({one.flow for one in wanted if one.limit_s == limit_s}, every)
