"""Changed copies that no longer tell which probe they were: what they explain, and when they count at all.

A converter that mangles key and value leaves a record of which only the name of a header, or the beginning
of the value, looks like ours. It stands for one probe of its partition that does not come intact. Where all
of them come intact, somebody else wrote it, and nothing was altered.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.evidence import FindingKind
from fleet.judgement_words import findings_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.evidence import Finding, FlowEvidence, PartitionEvidence

SKEW_S = 2.0  # a copy may be taken in this long after the loss that it explains
# A probe that waits this long is missing, where twice the newest latency is not more: a changed copy is held
# for a second to be compared with the source, and so is what came behind it; a flood of them takes longer.
_MISSING_S = 2.5


def not_altered(lost: Sequence[Finding], altered: Sequence[Finding]) -> list[Finding]:
    """Return the losses, oldest first, for which no nameless copy of their partition stands.

    Each copy stands for one probe that was lost after it came; of several probes in one finding, some may
    be left.
    """
    left: list[Finding] = []
    spent: Counter[int] = Counter()  # copies that stand for a loss already, by partition
    for loss in lost:
        copies = sum(
            one.count
            for one in altered
            if not one.named and one.partition == loss.partition and one.at <= loss.at + SKEW_S
        )
        explained = min(loss.count, max(0, copies - spent[loss.partition]))
        spent[loss.partition] += explained
        if explained < loss.count:
            left.append(replace(loss, count=loss.count - explained))
    return left


def truly_altered(flow: FlowEvidence, now_at: float) -> list[Finding]:
    """Return what was altered, oldest first, without the nameless copies where no probe is missing."""
    altered = findings_of(flow, now_at, FindingKind.ALTERED)
    lost = findings_of(flow, now_at, FindingKind.LOST)
    standing = {one.partition: one for one in flow.canary.partitions}
    return [
        one
        for one in altered
        if one.named
        or any(loss.partition == one.partition and loss.at >= one.at - SKEW_S for loss in lost)
        or _misses(flow, standing.get(one.partition), since_s=now_at - one.at)
    ]


def _misses(flow: FlowEvidence, one: PartitionEvidence | None, *, since_s: float) -> bool:
    """Tell whether a probe of this partition is missing, and none has come intact for that long."""
    if one is None or one.pending_age_s is None:
        return False
    patience_s = min(max(2 * (one.latency_s or 0.0), _MISSING_S), flow.canary.threshold_s)
    return one.pending_age_s > patience_s and (one.arrival_age_s is None or one.arrival_age_s > since_s)
