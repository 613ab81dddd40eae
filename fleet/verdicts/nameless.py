"""Changed copies that no longer tell which probe they were: what they explain, and when they count at all.

A converter that mangles key and value leaves a record of which only the name of a header, or the beginning
of the value, looks like ours. It stands for one probe of its partition that does not come intact. Where all
of them come intact, somebody else wrote it, and nothing was altered.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.verdicts.evidence import FindingKind
from fleet.verdicts.words import HOLD_S, findings_kept, holding

if TYPE_CHECKING:
    from fleet.verdicts.evidence import Finding, FlowEvidence, PartitionEvidence

SKEW_S = 2.0  # a copy may be taken in this long after the loss that it explains
# A probe that waits this long is missing, where twice the newest latency is not more: a changed copy is held
# for a second to be compared with the source, and so is what came behind it; a flood of them takes longer.
_MISSING_S = 2.5


def not_altered(flow: FlowEvidence, now_at: float) -> list[Finding]:
    """Return the losses that hold, oldest first, for which no nameless copy of their partition stands.

    Each copy stands for one probe that was lost after it came; of several probes in one finding, some may
    be left. A copy explains its loss for as long as that holds: the loss was proved later, and would be left
    alone at the end if the copy went first.
    """
    left: list[Finding] = []
    copies: defaultdict[int, deque[tuple[Finding, int]]] = defaultdict(deque)  # unspent, by partition
    for one in findings_kept(flow, FindingKind.ALTERED):
        if not one.named:
            copies[one.partition].append((one, one.count))
    for loss in findings_kept(flow, FindingKind.LOST):
        count = _unexplained(loss, copies[loss.partition])
        if count:
            left.append(replace(loss, count=count))
    return holding(left, now_at)


def _unexplained(loss: Finding, copies: deque[tuple[Finding, int]]) -> int:
    """Return for how many probes of a loss no copy stands; those that stand are taken away, oldest first."""
    count = loss.count
    while count and copies and copies[0][0].began_at <= loss.at + SKEW_S:
        copy, there = copies.popleft()
        if loss.began_at - copy.at > HOLD_S:
            continue  # somebody else wrote it: what it stood for would have been missed long before
        if there > count:
            copies.appendleft((copy, there - count))
        count -= min(count, there)
    return count


def truly_altered(flow: FlowEvidence, now_at: float) -> list[Finding]:
    """Return what was altered, oldest first, without the nameless copies where no probe is missing."""
    altered = holding(findings_kept(flow, FindingKind.ALTERED), now_at)
    lost = findings_kept(flow, FindingKind.LOST)
    standing = {one.partition: one for one in flow.canary.partitions}
    return [
        one
        for one in altered
        if one.named
        or any(loss.partition == one.partition and loss.at >= one.began_at - SKEW_S for loss in lost)
        or _misses(flow, standing.get(one.partition), since_s=now_at - one.at)
    ]


def _misses(flow: FlowEvidence, one: PartitionEvidence | None, *, since_s: float) -> bool:
    """Tell whether a probe of this partition is missing, and none has come intact for that long."""
    if one is None or one.pending_age_s is None:
        return False
    patience_s = min(max(2 * (one.latency_s or 0.0), _MISSING_S), flow.canary.threshold_s)
    return one.pending_age_s > patience_s and (one.arrival_age_s is None or one.arrival_age_s > since_s)
