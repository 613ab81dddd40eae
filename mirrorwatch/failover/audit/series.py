"""The series of failover readiness, as text. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from fleet.series import failover as series
from lagmon.exposition.once import written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fleet.series.kinds import Series
    from lagmon.exposition.format import Form
    from lagmon.failover.readiness import GroupReadiness
    from mirrorwatch.failover.audit.rounds import FlowAudit
    from mirrorwatch.failover.facts import FlowFailover


def series_text(audits: Iterable[FlowAudit], form: Form, *, max_series: int) -> bytes:
    """Return whole lines of the exposition format; of each family at most `max_series`, worst first."""
    rows: dict[Series, list[tuple[tuple[str, ...], float]]] = {one: [] for one in series.FAILOVER_CATALOGUE}
    for audit in audits:
        flow = audit.flow
        labels = flow.name, flow.source, flow.target
        rows[series.DRIFT_DIFFERENCES] += [
            ((*labels, kind.value), count) for kind, count in audit.drift.items() if count is not None
        ]
        if audit.found is None or audit.at is None:
            continue
        rows[series.FAILOVER_LAST_SUCCESS_TIMESTAMP_SECONDS].append((labels, audit.at))
        if audit.drain_s is not None:
            rows[series.FAILOVER_DRAIN_SECONDS].append((labels, audit.drain_s))
        counts = Counter(status_of(audit.found, one) for one in audit.found.groups)
        rows[series.FAILOVER_GROUPS] += [
            ((*labels, status), counts[status]) for status in series.FAILOVER_STATUSES
        ]
        for group in audit.found.groups:
            of_group = (*labels, group.group)
            rows[series.FAILOVER_GROUP_READY].append((of_group, audit.found.is_ready(group)))
            for one, value in _counts(group):
                if value is not None:
                    rows[one].append((of_group, value))
    return b"".join(written(one, found[:max_series], form) for one, found in rows.items() if found)


def status_of(found: FlowFailover, group: GroupReadiness) -> str:
    """Return the status of a group as a label: that of its partitions, or that it runs on the target."""
    return series.RUNNING if group.group in found.running_on_target else group.status.value


def _counts(group: GroupReadiness) -> Iterable[tuple[Series, int | None]]:
    again, skipped, at_risk = group.read_again_records, group.skipped_records, group.at_risk_records
    yield series.FAILOVER_RECORDS_TO_REREAD, None if again is None else again.most
    yield series.FAILOVER_RECORDS_SKIPPED, None if skipped is None else skipped.least
    yield series.FAILOVER_RECORDS_AT_RISK, None if at_risk is None else at_risk.most
