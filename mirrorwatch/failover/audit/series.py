"""The series of failover readiness, as text. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from operator import itemgetter
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
    """Return whole lines of the exposition format.

    Of a family with a series for each group there are at most `max_series`: the worst groups of every flow.
    """
    rows: dict[Series, list[tuple[tuple[str, ...], float]]] = {one: [] for one in series.FAILOVER_CATALOGUE}
    of_groups: dict[Series, list[tuple[int, tuple[tuple[str, ...], float]]]] = defaultdict(list)
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
        for rank, group in enumerate(audit.found.groups):
            of_group = (*labels, group.group)
            ready = float(audit.found.is_ready(group))
            for one, value in ((series.FAILOVER_GROUP_READY, ready), *_counts(group)):
                if value is not None:
                    of_groups[one].append((rank, (of_group, value)))
    for one, ranked in of_groups.items():
        ranked.sort(key=itemgetter(0))
        rows[one] = [row for _, row in ranked[:max_series]]
    return b"".join(written(one, found, form) for one, found in rows.items() if found)


def status_of(found: FlowFailover, group: GroupReadiness) -> str:
    """Return the status of a group as a label: that of its partitions, or that it runs on the target."""
    return series.RUNNING if group.group in found.running_on_target else group.status.value


def _counts(group: GroupReadiness) -> Iterable[tuple[Series, int | None]]:
    again, skipped, at_risk = group.read_again_records, group.skipped_records, group.at_risk_records
    yield series.FAILOVER_RECORDS_TO_REREAD, None if again is None else again.most
    yield series.FAILOVER_RECORDS_SKIPPED, None if skipped is None else skipped.least
    yield series.FAILOVER_RECORDS_AT_RISK, None if at_risk is None else at_risk.most
