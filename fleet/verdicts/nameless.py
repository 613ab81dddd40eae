"""Altered records that no longer identify their probe: which losses they explain, and when they count.

A converter that changes key and value leaves a record that only a header's name, or the first bytes of the
value, show as Mirrorwatch's. It explains one probe of its partition that does not arrive intact. If all
probes arrive intact, another program wrote it, and nothing was altered.

If several flows replicate to one topic, it may be a record of any of them. Then it counts only in a flow that
has lost a probe: a probe that waits shows a stall.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.verdicts.evidence import FindingKind
from fleet.verdicts.words import HOLD_S, findings_kept, holding

if TYPE_CHECKING:
    from fleet.verdicts.evidence import Finding, FlowEvidence, PartitionEvidence

SKEW_S = 2.0  # an altered record may be read so long after the loss that it explains
# A probe that waits this long is missing, unless twice the newest latency is more. An altered record is held
# for a second to compare it with the source, and so are the records behind it; many of them take longer.
_MISSING_S = 2.5


def not_altered(flow: FlowEvidence, now_at: float) -> list[Finding]:
    """Return the losses that hold and that no nameless record of their partition explains, oldest first.

    Each such record explains one probe that was lost after its arrival; some probes of a finding may be left.
    It explains its loss for as long as the loss holds. The loss was proved later, and would otherwise be
    unexplained at the end.
    """
    left: list[Finding] = []
    nameless: defaultdict[int, deque[tuple[Finding, int]]] = defaultdict(deque)  # unspent, by partition
    for one in findings_kept(flow, FindingKind.ALTERED):
        if not one.named:
            nameless[one.partition].append((one, one.count))
    for loss in findings_kept(flow, FindingKind.LOST):
        count = _unexplained(loss, nameless[loss.partition])
        if count:
            left.append(replace(loss, count=count))
    return holding(left, now_at)


def _unexplained(loss: Finding, altered: deque[tuple[Finding, int]]) -> int:
    """Return the number of unexplained probes of a loss; removes records that explain some, oldest first."""
    count = loss.count
    while count and altered and altered[0][0].began_at <= loss.at + SKEW_S:
        one, there = altered.popleft()
        if loss.began_at - one.at > HOLD_S:
            continue  # not Mirrorwatch's: its probe would have been missed long before
        if there > count:
            altered.appendleft((one, there - count))
        count -= min(count, there)
    return count


def truly_altered(flow: FlowEvidence, now_at: float) -> list[Finding]:
    """Return altered records, oldest first, without nameless ones of partitions that miss no probe.

    In a topic of several flows, a missing probe must be lost.
    """
    altered = holding(findings_kept(flow, FindingKind.ALTERED), now_at)
    lost = findings_kept(flow, FindingKind.LOST)
    partitions = {one.partition: one for one in flow.canary.partitions}
    return [
        one
        for one in altered
        if one.named
        or any(loss.partition == one.partition and loss.at >= one.began_at - SKEW_S for loss in lost)
        or (not flow.topic.shared and _misses(flow, partitions.get(one.partition), since_s=now_at - one.at))
    ]


def _misses(flow: FlowEvidence, one: PartitionEvidence | None, *, since_s: float) -> bool:
    """Return whether the partition misses a probe, and none has arrived intact for that long."""
    if one is None or one.pending_age_s is None:
        return False
    patience_s = min(max(2 * (one.latency_s or 0.0), _MISSING_S), flow.canary.threshold_s)
    return one.pending_age_s > patience_s and (one.arrival_age_s is None or one.arrival_age_s > since_s)
