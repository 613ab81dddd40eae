"""Whether a plan that was kept still holds, so that its digests are gone on with. Pure.

Records that came since are for the next run, and what retention took since is told as such: neither is a
reason to read everything again. Topics that were made anew or are compacted by now are, which only the
clusters can tell (`run`).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from checksum.digest.cell_rows import planned_partitions
from checksum.plan.building import isolations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from checksum.book.entries import Place, VerifiedTo
    from checksum.plan.building import PlanRules
    from checksum.plan.shape import Plan
    from fleet.verdicts.flow import Flow


def outdated(plan: Plan, flow: Flow, rules: PlanRules) -> bool:
    """Tell whether a plan is another one than would be made now, but for what the logs hold."""
    planned_as = (plan.flow, plan.source, plan.target, plan.isolation_source, plan.isolation_target)
    if planned_as != (flow.name, flow.source, flow.target, *isolations(flow)):
        return True
    excluded = tuple(sorted(set(rules.excluded_headers)))
    return (plan.cells, plan.bucket_ms, plan.excluded_headers) != (rules.cells, rules.bucket_ms, excluded)


def basis(plan: Plan, verified: Mapping[Place, VerifiedTo]) -> str:
    """Return what is another text as soon as anything of a plan was compared, by whatever other plan.

    What was compared since would be told twice.
    """
    found = [(place, verified.get(place)) for place in sorted(planned_partitions(plan))]
    return hashlib.sha256(repr(found).encode()).hexdigest()
