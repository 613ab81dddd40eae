"""The series that each kind of objective counts. Pure."""

from __future__ import annotations

from alerts.objectives.objective import ObjectiveKind
from fleet.series import catalogue as series
from fleet.series import lag as series_lag

COUNTERS = {
    ObjectiveKind.AVAILABILITY: (series.CANARY_DELIVERED_TOTAL, series.CANARY_CONCLUDED_TOTAL),
    ObjectiveKind.FRESHNESS: (series.CANARY_GOOD_TOTAL, series.CANARY_SETTLED_TOTAL),
}
"""Good and valid counters of objectives that divide one counter by another."""

AGES = {
    ObjectiveKind.RECOVERY_POINT: series.FLOW_RECOVERY_POINT_AGE_SECONDS,
    ObjectiveKind.REPLICATION_LAG: series_lag.REPLICATION_TOPIC_LAG_SECONDS,
}
"""Series that must stay within a limit, for objectives about an age; the largest of a flow counts."""
