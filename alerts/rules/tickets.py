"""Alerts that open tickets: causes, repetition, overdue checksums. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from alerts.objectives.objective import ObjectiveKind
from alerts.rules.rule import FLOW, WARNING, Alert, Group, either, number, promql_duration, selector
from alerts.rules.symptoms import limits
from fleet.series import catalogue as series
from fleet.series import checksum as series_checksum
from fleet.series import failover as series_failover
from fleet.verdicts.vocabulary import Cause

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alerts.objectives.objective import Objective
    from alerts.objectives.resolving import FlowFacts


AUDIT_OLD_S, AUDIT_OLD_FOR_S = 300, 900  # the longest interval, and three of them


def ticket_group(
    objectives: Sequence[Objective], flows: Sequence[FlowFacts], *, audits_failover: bool
) -> Group:
    """Return the alerts that open tickets."""
    cause, condition = series.FLOW_CAUSE.full_name, series.FLOW_CONDITION.full_name
    left = series.OBJECTIVE_ERROR_BUDGET_REMAINING_RATIO.full_name
    throttled = series.CLIENT_THROTTLE_SECONDS_TOTAL.full_name
    rules = (
        *(
            Alert(
                name=one.ticket.alert,
                expression=f'max by ({FLOW}) ({cause}{{cause="{one.value}"}}) == 1',
                severity=WARNING,
                for_s=one.ticket.for_s,
                summary=one.ticket.summary,
                description="The flow's page has the evidence: topics, partitions and since when.",
            )
            for one in Cause
            if one.ticket is not None
        ),
        Alert(
            name="MirrorwatchRecordsRepeat",
            expression=f'max by ({FLOW}) ({condition}{{condition="repeating"}}) == 1',
            severity=WARNING,
            for_s=60,
            summary="Records arrive more than once on {{ $labels.flow }}",
            description="More than one mirror writes to {{ $labels.target_cluster }}, or a mirror went back.",
        ),
        Alert(
            name="MirrorwatchReplicationLate",
            expression=f'max by ({FLOW}) ({condition}{{condition="late"}}) == 1',
            severity=WARNING,
            for_s=900,
            summary="Replication is late on {{ $labels.flow }}",
            description="Records have arrived later than the threshold for 15 minutes.",
        ),
        Alert(
            name="MirrorwatchFlowUnknown",
            expression=f'max by ({FLOW}) ({condition}{{condition="unknown"}}) == 1',
            severity=WARNING,
            for_s=900,
            summary="State of {{ $labels.flow }} is not known",
            description="Mirrorwatch has had no data to judge the flow for 15 minutes.",
        ),
        Alert(
            name="MirrorwatchErrorBudgetExhausted",
            expression=f"min by ({FLOW}, objective) ({left}) < 0",
            severity=WARNING,
            for_s=600,
            more_labels=("objective",),
            summary="{{ $labels.objective }} objective of {{ $labels.flow }} is missed",
            description="The error budget of its period is spent: {{ $value | humanizePercentage }} is left.",
        ),
        Alert(
            name="MirrorwatchCanaryThrottled",
            expression=f"sum by (kafka_cluster) (rate({throttled}[15m])) > 0.05",
            severity=WARNING,
            for_s=900,
            of_flow=False,
            more_labels=("kafka_cluster",),
            summary="A quota throttles canary clients on {{ $labels.kafka_cluster }}",
            description="Brokers held back answers {{ $value | humanizePercentage }} of the time: latencies"
            " include the quota.",
        ),
        *_failover(),
        *((_audit_old(),) if audits_failover else ()),
        *_overdue(objectives, flows),
    )
    return Group(name="mirrorwatch-tickets", interval_s=60, rules=rules)


def _failover() -> tuple[Alert, ...]:
    groups = series_failover.FAILOVER_GROUPS.full_name

    def counted(status: str) -> str:
        return f'max by ({FLOW}) (sum by ({FLOW}, instance) ({groups}{{status=~"{status}"}})) > 0'

    return (
        Alert(
            name="MirrorwatchFailoverSkipsRecords",
            expression=counted("skips"),
            severity=WARNING,
            for_s=600,
            summary="Groups would miss records if {{ $labels.flow }} failed over",
            description="{{ $value }} groups would start on {{ $labels.target_cluster }} after records that"
            " they have not read.",
        ),
        Alert(
            name="MirrorwatchFailoverNotReady",
            expression=counted("out_of_range|not_replicated|no_checkpoint|unknown|uncertain"),
            severity=WARNING,
            for_s=1800,
            summary="Groups are not ready to fail over on {{ $labels.flow }}",
            description="{{ $value }} groups have no certain start on {{ $labels.target_cluster }}; the"
            " flow's page names them.",
        ),
        Alert(
            name="MirrorwatchCheckpointsStale",
            expression=counted("stale"),
            severity=WARNING,
            for_s=600,
            summary="MirrorMaker writes no new checkpoints on {{ $labels.flow }}",
            description="{{ $value }} groups have moved on, and would read ever more records again.",
        ),
        Alert(
            name="MirrorwatchDrift",
            expression=f"max by ({FLOW}, kind) ({series_failover.DRIFT_DIFFERENCES.full_name}) > 0",
            severity=WARNING,
            for_s=1800,
            more_labels=("kind",),
            summary="{{ $labels.target_cluster }} differs from {{ $labels.source_cluster }}"
            " ({{ $labels.kind }})",
            description="{{ $value }} differences that would surprise clients after a failover.",
        ),
    )


def _audit_old() -> Alert:
    last = series_failover.FAILOVER_LAST_SUCCESS_TIMESTAMP_SECONDS.full_name
    old = f"time() - max by ({FLOW}) ({last}) > {number(AUDIT_OLD_S)}"
    none = f"max by ({FLOW}) ({series.FLOW_INFO.full_name}) unless on ({FLOW}) {last}"
    return Alert(
        name="MirrorwatchFailoverAuditOld",
        expression=either((old, none)),
        severity=WARNING,
        for_s=AUDIT_OLD_FOR_S,
        summary="No failover audit of {{ $labels.flow }} lately",
        description="No audit has succeeded for 15 minutes.",
    )


def audit_age(limit_s: float, matcher: str) -> str:
    """Return an expression for the seconds since the last complete checksum of a flow's worst topic.

    A topic without any counts from the epoch if runs knew it `limit_s` ago: a new one is not overdue at once.
    """
    by_topic = f"on ({FLOW}, topic)"
    last = selector(series_checksum.CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS.full_name, matcher)
    known = selector(series_checksum.CHECKSUM_COVERAGE_RATIO.full_name, matcher)
    never = f"0 * ({known} offset {promql_duration(limit_s)} and {by_topic} {known})"
    return f"(time() - min by ({FLOW}) ({last} or {by_topic} {never}))"


def _overdue(objectives: Sequence[Objective], flows: Sequence[FlowFacts]) -> list[Alert]:
    last = series_checksum.CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS.full_name
    info = series.FLOW_INFO.full_name
    expressions = [
        expression
        for limit_s, matcher in limits(objectives, ObjectiveKind.AUDIT_AGE, flows)
        for expression in (
            f"{audit_age(limit_s, matcher)} > {number(limit_s)}",
            # No run has ended yet.
            f"max by ({FLOW}) ({selector(info, matcher)}) unless on ({FLOW}) {last}",
        )
    ]
    if not expressions:
        return []
    return [
        Alert(
            name="MirrorwatchAuditOverdue",
            expression=either(expressions),
            severity=WARNING,
            for_s=300,
            summary="No complete checksum of {{ $labels.flow }} lately",
            description="At least one topic has no complete run within the objective's limit.",
        )
    ]
