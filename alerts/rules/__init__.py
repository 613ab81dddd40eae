"""Prometheus rules: recorded error ratios of objectives, and alerts. Pure.

rule          records, alerts, groups; helpers for PromQL
budgets       error ratios over several windows, and burn-rate alerts
symptoms      alerts that page: no arrivals, loss, altered data, an old recovery point
lag           growing lag, and lag close to retention
tickets       alerts that open tickets: causes, repetition, overdue checksums
trust         alerts on unreliable measurements
watching      alerts about Mirrorwatch itself
document      the document for Prometheus, with links
cases         unit tests of the rules, for promtool
compression   faster rules for demos and drills
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from alerts.rules.budgets import budget_groups
from alerts.rules.compression import compressed, compressed_duration
from alerts.rules.lag import lag_group
from alerts.rules.rule import Alert, Group, Record
from alerts.rules.symptoms import symptom_group
from alerts.rules.tickets import ticket_group
from alerts.rules.trust import trust_group
from alerts.rules.watching import watching_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alerts.objectives.objective import Objective
    from alerts.objectives.resolving import FlowFacts

__all__ = [
    "Alert",
    "Group",
    "Record",
    "all_groups",
    "compressed",
    "compressed_duration",
]


def all_groups(
    objectives: Sequence[Objective], flows: Sequence[FlowFacts], *, audits_failover: bool = True
) -> tuple[Group, ...]:
    """Return all rules for flows and their objectives; `audits_failover` as in the configuration."""
    return (
        *budget_groups(objectives, flows),
        symptom_group(objectives, flows),
        lag_group(),
        ticket_group(objectives, flows, audits_failover=audits_failover),
        watching_group(flows),
        trust_group(flows),
    )
