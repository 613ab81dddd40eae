"""Each rule for all kinds of evidence: canary, offsets and checksum.

If several kinds show the same verdict, it has the sentences and rows of each. Its cause is the canary's,
which Mirrorwatch times at both ends. The cause of offsets is used if it is more exact: why the canary topic
lost records, which task failed, what a task waits for. The cause of a checksum is used if there is no other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.verdicts import checksum as rules_checksum
from fleet.verdicts import content as rules_content
from fleet.verdicts import delay as rules_delay
from fleet.verdicts import offset_findings as rules_offset_findings
from fleet.verdicts import offsets as rules_offsets
from fleet.verdicts import quiet as rules_quiet
from fleet.verdicts.evidence import CanaryState
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.verdicts.words import ended, joined

if TYPE_CHECKING:
    from fleet.verdicts.evidence import FlowEvidence
    from fleet.verdicts.words import Judgement


def losing(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while probes or other records are lost or misrouted."""
    canary = rules_content.losing(flow, now_at)
    offsets = rules_offset_findings.found(flow, now_at, Verdict.LOSING)
    explained = canary is not None and canary.cause is Cause.FILTERED
    cause = rules_offset_findings.of_canary_topic(flow, now_at, Verdict.LOSING) if explained else None
    return _audited(flow, now_at, Verdict.LOSING, _both(canary, offsets, cause=cause))


def altered(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while replicated records differ from the source, or have new timestamps."""
    canary = rules_content.altered(flow, now_at)
    offsets = rules_offset_findings.found(flow, now_at, Verdict.ALTERED)
    return _audited(flow, now_at, Verdict.ALTERED, _both(canary, offsets))


def stalled(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while a probe is past its threshold and none newer arrives, or offsets show a stall."""
    canary, offsets = rules_delay.stalled(flow, now_at), rules_offsets.standing(flow, now_at)
    if canary is None or offsets is None:
        return canary or offsets
    if offsets.cause is Cause.FILTERED and canary.cause is Cause.TASK_STUCK:
        # Offsets show that the assigned task moves, so the canary's guess is wrong.
        return replace(joined(canary, offsets, cause=Cause.FILTERED), sentence=offsets.sentence)
    exact = offsets.cause is not None and offsets.cause.exact
    more_exact = exact or canary.cause is Cause.UNEXPLAINED
    down = canary.cause in (Cause.SOURCE_DOWN, Cause.TARGET_DOWN)
    return joined(canary, offsets, cause=offsets.cause if more_exact and not down else None)


def repeating(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while records return to the source or are replicated again, or the mirror went back."""
    canary = rules_content.repeating(flow, now_at)
    offsets = rules_offset_findings.found(flow, now_at, Verdict.REPEATING)
    return _audited(flow, now_at, Verdict.REPEATING, _both(canary, offsets))


def late(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold while probes arrive past their threshold, or a partition falls behind by offsets."""
    return _both(rules_delay.late(flow, now_at), rules_offsets.behind(flow, now_at))


def unknown(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold if there is not enough data: missing offsets alone do not make a flow unknown."""
    if flow.lag is None:
        return rules_quiet.unknown(flow, now_at)
    uncommitted = rules_offsets.not_committing(flow, now_at)
    if flow.canary.state is CanaryState.OFF:
        why = ended(flow.canary.sentence or rules_quiet.NO_REASON)
        return uncommitted or rules_offsets.unknown_without_canary(flow, why)
    return rules_quiet.unknown(flow, now_at) or uncommitted


def healthy(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Hold always: it is the last rule."""
    quiet = rules_quiet.healthy(flow, now_at)
    seen = None if quiet is None else rules_offsets.with_unread(quiet, flow.lag)
    return rules_offsets.well_without_canary(flow) or seen


def _both(
    canary: Judgement | None, offsets: Judgement | None, *, cause: Cause | None = None
) -> Judgement | None:
    if canary is None or offsets is None:
        return canary or offsets
    return joined(canary, offsets, cause=cause)


def _audited(flow: FlowEvidence, now_at: float, verdict: Verdict, seen: Judgement | None) -> Judgement | None:
    """Return a judgement, joined with the findings of checksums for the same verdict."""
    audits = rules_checksum.found(flow, now_at, verdict)
    if seen is None or audits is None:
        return seen or audits
    return joined(seen, audits, cause=audits.cause if seen.cause is Cause.UNEXPLAINED else None)
