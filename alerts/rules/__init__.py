"""Prometheus rules: recorded error ratios of objectives, and alerts. Pure.

rule          records, alerts and groups of them, and how PromQL is written
budgets       error ratios over several windows, and burn-rate alerts
symptoms      what pages: no round trip, loss, changed data, an old recovery point, retention
tickets       what needs work by day: causes, lag, audits, repetition
watching      Mirrorwatch itself: scrapes, flows and canaries that are absent, its store and clients
compression   the same rules on a faster clock, for demos and drills
"""

from __future__ import annotations

from alerts.rules.budgets import budget_groups
from alerts.rules.compression import compressed, compressed_duration
from alerts.rules.rule import Alert, Group, Record
from alerts.rules.symptoms import symptom_group
from alerts.rules.tickets import ticket_group
from alerts.rules.watching import watching_group

__all__ = [
    "Alert",
    "Group",
    "Record",
    "budget_groups",
    "compressed",
    "compressed_duration",
    "symptom_group",
    "ticket_group",
    "watching_group",
]
