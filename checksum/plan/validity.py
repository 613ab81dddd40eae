"""Whether a stored plan is still valid, so that a run can resume with its digests. Pure.

New records are for the next run, and records that retention deleted are reported as such: neither requires a
new plan. Topics that were re-created or became compacted do (`changed_topic` in checksum/run.py).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from checksum.digest.cell_rows import planned_partitions
from checksum.plan.building import isolations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checksum.history.entries import Place, VerifiedTo
    from checksum.plan.building import PlanRules
    from checksum.plan.shape import Plan
    from fleet.verdicts.flow import Flow


def outdated(plan: Plan, flow: Flow, rules: PlanRules) -> bool:
    """Return whether the configuration would make another plan now, apart from what `basis` shows."""
    planned_as = (plan.flow, plan.source, plan.target, plan.isolation_source, plan.isolation_target)
    if planned_as != (flow.name, flow.source, flow.target, *isolations(flow)):
        return True
    return plan.excluded_headers != tuple(sorted(set(rules.excluded_headers)))


def basis(plan: Plan, verified: Mapping[Place, VerifiedTo], rules: PlanRules) -> str:
    """Return a hash that changes if another run compared any partition of the plan, or the settings changed.

    Comparing a partition again would report findings twice. The plan itself may have fewer cells and wider
    buckets than the settings (cell_count.py).
    """
    found = [(place, verified.get(place)) for place in sorted(planned_partitions(plan))]
    return hashlib.sha256(repr((found, rules.cells, rules.bucket_ms)).encode()).hexdigest()
