"""Routes and inhibition rules as Alertmanager's configuration. Pure.

For Alertmanager, two alerts without a label of `equal` are equal in it: an alert without `flow` could mute
those of every flow. `lint` refuses such a rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alerts.rules.compression import compressed_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from alerts.rules.rule import Alert

NEVER_MUTED = (
    "MirrorwatchRecordsLost",
    "MirrorwatchDataAltered",
    "MirrorwatchAuditFoundLoss",
    "MirrorwatchRecordsDuplicated",
    "MirrorwatchRecoveryPointOld",
)
"""Alerts about data: they matter most while a cluster is down."""

_REPLICATION = (
    "MirrorwatchNoRecordsArrive",
    "MirrorwatchReplicationStalled",
    "MirrorwatchReplicationLate",
    "MirrorwatchLagGrowing",
    "MirrorwatchFlowUnknown",
    "MirrorwatchTaskFailed",
    "MirrorwatchOffsetsNotCommitting",
)
_CANARY_BUDGETS = (("objective", "availability|freshness"),)
_REPLICATION_BUDGETS = (("objective", "availability|freshness|replication_lag"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inhibition:
    """While an alert of `source` fires, those of `targets` with the same `equal` labels are muted.

    `source_labels` and `target_labels` restrict both, for example to a severity.
    """

    why: str
    source: str
    targets: tuple[str, ...]
    equal: tuple[str, ...] = ("flow",)
    source_labels: tuple[tuple[str, str], ...] = ()
    target_labels: tuple[tuple[str, str], ...] = ()


INHIBITIONS = (
    *(
        rule
        for end in ("Source", "Target")
        for rule in (
            Inhibition(
                why=f"the {end.lower()} cluster does not answer",
                source=f"Mirrorwatch{end}Down",
                targets=_REPLICATION,
            ),
            Inhibition(
                why=f"the {end.lower()} cluster does not answer; the recovery point's budget still alerts",
                source=f"Mirrorwatch{end}Down",
                targets=("MirrorwatchErrorBudgetBurn",),
                target_labels=_REPLICATION_BUDGETS,
            ),
        )
    ),
    Inhibition(
        why="the cluster does not answer",
        source="MirrorwatchClusterDown",
        targets=("MirrorwatchCollectorFails", "MirrorwatchCanaryThrottled"),
        equal=("kafka_cluster",),
    ),
    Inhibition(
        why="the canary sends nothing, so nothing arrives",
        source="MirrorwatchCanarySilent",
        targets=("MirrorwatchNoRecordsArrive", "MirrorwatchFlowUnknown"),
    ),
    Inhibition(
        why="nothing arrives on any partition, so the canary's budgets burn",
        source="MirrorwatchNoRecordsArrive",
        targets=("MirrorwatchErrorBudgetBurn",),
        target_labels=_CANARY_BUDGETS,
    ),
    Inhibition(
        why="nothing arrives on any partition",
        source="MirrorwatchNoRecordsArrive",
        targets=(
            "MirrorwatchReplicationStalled",
            "MirrorwatchReplicationLate",
            "MirrorwatchLagGrowing",
            "MirrorwatchFlowUnknown",
        ),
    ),
    Inhibition(
        why="the fast burn pages already",
        source="MirrorwatchErrorBudgetBurn",
        targets=("MirrorwatchErrorBudgetBurn",),
        equal=("flow", "objective"),
        source_labels=(("window", "1h"),),
        target_labels=(("window", "6h|1d|3d"),),
    ),
    Inhibition(
        why="the slow burn pages already",
        source="MirrorwatchErrorBudgetBurn",
        targets=("MirrorwatchErrorBudgetBurn",),
        equal=("flow", "objective"),
        source_labels=(("window", "6h"),),
        target_labels=(("window", "1d|3d"),),
    ),
    Inhibition(
        why="it pages already",
        source="MirrorwatchRetentionRace",
        targets=("MirrorwatchRetentionRace",),
        equal=("flow", "topic"),
        source_labels=(("severity", "critical"),),
        target_labels=(("severity", "warning"),),
    ),
    Inhibition(
        why="it pages already",
        source="MirrorwatchCertificateExpires",
        targets=("MirrorwatchCertificateExpires",),
        equal=("kafka_cluster",),
        source_labels=(("severity", "critical"),),
        target_labels=(("severity", "warning"),),
    ),
    Inhibition(
        why="records are lost, which pages already; lost probes spend the canary's budgets",
        source="MirrorwatchRecordsLost",
        targets=("MirrorwatchErrorBudgetBurn",),
        target_labels=_CANARY_BUDGETS,
    ),
    Inhibition(
        why="a partition is stalled, which pages already; its probes spend the budgets",
        source="MirrorwatchReplicationStalled",
        targets=("MirrorwatchErrorBudgetBurn",),
        target_labels=_REPLICATION_BUDGETS,
    ),
    Inhibition(
        why="no instance of Mirrorwatch runs",
        source="MirrorwatchDown",
        targets=("MirrorwatchFlowMissing", "MirrorwatchCanarySilent"),
        equal=(),
    ),
)


def lint(inhibitions: Iterable[Inhibition], alerts: Sequence[Alert]) -> list[str]:
    """Return a sentence for each rule that could mute too much; empty if there is none."""
    found = []
    for rule in inhibitions:
        for name in (rule.source, *rule.targets):
            known = [one for one in alerts if one.name == name]
            if not known:
                found.append(f"{rule.source}: unknown alert '{name}'")
            for one in known:
                lacking = set(rule.equal) - one.label_names
                if lacking:
                    found.append(f"{rule.source}: {name} has no label '{min(lacking)}' and would match any")
        found += [f"{rule.source}: must not mute {name}" for name in rule.targets if name in NEVER_MUTED]
    return found


def alertmanager_document(alerts: Sequence[Alert], *, divisor: float = 1.0) -> dict[str, Any]:
    """Return an Alertmanager configuration: routes, inhibition, and receivers without addresses.

    One route has the alerts of Mirrorwatch and no others, so that it fits into another configuration. Omits
    rules about alerts that are not rendered. All times are divided by `divisor`.
    """

    def lasting(**durations: str) -> dict[str, str]:
        return {key: compressed_duration(text, divisor) for key, text in durations.items()}

    names = {one.name for one in alerts}
    held = [rule for rule in INHIBITIONS if rule.source in names and names & {*rule.targets}]
    ours = {
        "receiver": "mirrorwatch-tickets",
        "matchers": ['alertname=~"Mirrorwatch.+"'],
        "group_by": ["alertname", "flow"],
        **lasting(group_wait="15s", group_interval="5m", repeat_interval="12h"),
        "routes": [
            {
                "receiver": "mirrorwatch-watchdog",
                "matchers": ['alertname="MirrorwatchWatchdog"'],
                **lasting(group_wait="0s", group_interval="1m", repeat_interval="1m"),
            },
            {"receiver": "mirrorwatch-none", "matchers": ['severity="info"']},
            {
                "receiver": "mirrorwatch-pages",
                "matchers": ['severity="critical"'],
                **lasting(repeat_interval="1h"),
            },
        ],
    }
    return {
        "route": {"receiver": "mirrorwatch-tickets", "routes": [ours]},
        "inhibit_rules": [_inhibition(rule, names) for rule in held],
        "receivers": [{"name": f"mirrorwatch-{one}"} for one in ("pages", "tickets", "watchdog", "none")],
    }


def inhibition_table(inhibitions: Iterable[Inhibition] = INHIBITIONS) -> list[tuple[str, str, str, str]]:
    """Return table rows: the muting alert, the muted ones, the common labels, and the reason."""
    return [
        (
            _with(rule.source, rule.source_labels),
            ", ".join(_with(name, rule.target_labels) for name in rule.targets),
            ", ".join(rule.equal) or "none",
            rule.why,
        )
        for rule in inhibitions
    ]


def _with(name: str, labels: tuple[tuple[str, str], ...]) -> str:
    return " ".join((name, *(f"{key}={value}" for key, value in labels)))


def _inhibition(rule: Inhibition, names: set[str]) -> dict[str, Any]:
    targets = "|".join(name for name in rule.targets if name in names)
    return {
        "source_matchers": [f'alertname="{rule.source}"', *_matchers(rule.source_labels)],
        "target_matchers": [f'alertname=~"{targets}"', *_matchers(rule.target_labels)],
        "equal": list(rule.equal),
    }


def _matchers(labels: tuple[tuple[str, str], ...]) -> list[str]:
    return [f'{key}=~"{value}"' for key, value in labels]
