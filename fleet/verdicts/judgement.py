"""The one function that decides how a flow is and why, from evidence alone.

Rules (rules_joined: of canary, offsets and audits together) are tried worst first; the first that holds gives
the verdict. Loss, change and repetition hold for HOLD_S after their last evidence, and where an audit found
them for rules_checksum.HOLD_FOUND_S. What we know of a fault never comes in: only what was seen.

While one stall goes on, a cause that was shown is kept for HOLD_CAUSE_S where the evidence shows none any
more: at its end partitions come back one by one, and for a moment nothing tells a mirror from one of its
tasks.

Beside what holds on findings of a while ago stands how the flow is right now, where that is not well: a
stall has to be seen while a loss of ten minutes ago is still told. Beside what audits alone have found stands
whatever else the flow is: a night's finding hides nothing of the day after.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fleet.quantity import count_text, duration_text
from fleet.verdicts.checksum import part_sentence
from fleet.verdicts.evidence import CanaryState
from fleet.verdicts.joined import altered, healthy, late, losing, repeating, stalled, unknown
from fleet.verdicts.offsets import with_unread
from fleet.verdicts.quiet import arriving
from fleet.verdicts.vocabulary import Also, Cause, FlowVerdict, Verdict
from fleet.verdicts.words import Judgement, ended, sentences

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.verdicts.checksum_evidence import ChecksumEvidence
    from fleet.verdicts.evidence import Calm, CanaryEvidence, FlowEvidence, LagEvidence

HOLD_CAUSE_S = 10.0
RECENT_S = 60.0  # how long what was found counts as a condition of now: a scrape has to see it

_RULES: tuple[Callable[[FlowEvidence, float], Judgement | None], ...] = (
    losing,
    altered,
    stalled,
    repeating,
    late,
    unknown,
    healthy,
)


def judge(flow: FlowEvidence, *, now_at: float) -> Judgement:
    """Return the worst verdict that the evidence supports, with its cause, sentence and rows."""
    for rule in _RULES:
        judgement = rule(flow, now_at)
        if judgement is not None:
            return judgement
    raise AssertionError("the last rule always holds")


def beside(flow: FlowEvidence, worst: Judgement, *, now_at: float) -> Judgement | None:
    """Return what is wrong right now beside a verdict that holds on what has ended; None where nothing is.

    While findings go on they are what is wrong: copies that are altered keep intact ones from coming, and
    that is no stall. While a latch holds the canary back, it is all there is to tell.
    """
    if not worst.ended:
        return None
    if flow.checksum is not None:
        unaudited = replace(flow, checksum=None)
        rest = judge(unaudited, now_at=now_at)
        if rest.verdict is not worst.verdict:
            now = beside(unaudited, rest, now_at=now_at)
            return now or (rest if rest.verdict is not Verdict.HEALTHY else None)
    return repeating(flow, now_at) if flow.canary.state is CanaryState.LATCHED else _delayed(flow, now_at)


def _delayed(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Return the worst of stalled, late and unknown that holds."""
    return stalled(flow, now_at) or late(flow, now_at) or unknown(flow, now_at)


def conditions(flow: FlowEvidence, *, now_at: float) -> frozenset[Verdict]:
    """Return what holds right now, several at once: by findings of the last minute, audits aside.

    Of stalled, late and unknown it is the worst: each of these rules expects those before it not to hold.
    """
    recent = replace(flow, checksum=None, canary=replace(flow.canary, findings=_recent(flow.canary, now_at)))
    if flow.lag is not None:
        recent = replace(recent, lag=replace(flow.lag, findings=_recent(flow.lag, now_at)))
    found = [rule(recent, now_at) for rule in (losing, altered, repeating)]
    found.append(_delayed(recent, now_at))
    return frozenset(one.verdict for one in found if one is not None)


def follow(before: FlowVerdict | None, flow: FlowEvidence, *, now_at: float) -> FlowVerdict:
    """Judge a flow and keep since when it has had the verdict that it has."""
    judgement = judge(flow, now_at=now_at)
    also = beside(flow, judgement, now_at=now_at)
    parts = _parts(_canary_sentence(flow), flow.lag, flow.checksum, now_at)
    told = _following(before, flow.flow, judgement, parts, now_at, also=also)
    return replace(told, conditions=conditions(flow, now_at=now_at))


def follow_calm(
    before: FlowVerdict | None,
    calm: Calm,
    *,
    now_at: float,
    lag: LagEvidence | None = None,
    checksum: ChecksumEvidence | None = None,
) -> FlowVerdict:
    """Return what `follow` would come to with all the evidence of a flow that is plainly well.

    So it is only where its offsets and audits are quiet as well (`is_quiet` of their rules).
    """
    sentence = arriving(calm.threshold_s, calm.latency_s)
    judgement = with_unread(Judgement(Verdict.HEALTHY, None, sentence), lag)
    parts = _parts(_delivering(calm.partitions, calm.partitions), lag, checksum, now_at)
    return _following(before, calm.flow, judgement, parts, now_at)


def _recent(part: CanaryEvidence | LagEvidence, now_at: float) -> tuple[Any, ...]:
    return tuple(one for one in part.findings if now_at - one.at <= RECENT_S)


def _parts(
    canary: str, lag: LagEvidence | None, checksum: ChecksumEvidence | None, now_at: float
) -> tuple[tuple[str, str], ...]:
    parts = [("canary", canary)]
    if lag is not None:
        parts.append(("lag", ended(lag.sentence)))
    if checksum is not None:
        parts.append(("checksum", part_sentence(checksum, now_at)))
    return tuple(parts)


def _following(
    before: FlowVerdict | None,
    flow: str,
    judgement: Judgement,
    parts: tuple[tuple[str, str], ...],
    now_at: float,
    *,
    also: Judgement | None = None,
) -> FlowVerdict:
    told = _kept(before, judgement, now_at)
    return FlowVerdict(
        flow=flow,
        verdict=told.verdict,
        cause=told.cause,
        sentence=told.sentence,
        evidence=judgement.evidence if also is None else judgement.evidence + also.evidence,
        parts=parts,
        since_at=told.since_at,
        shown_at=told.shown_at,
        also=None if also is None else _kept(before, _in_short(also), now_at),
    )


def _in_short(also: Judgement) -> Judgement:
    """Return what stands beside a verdict with its first sentence alone: the parts have all of them."""
    return replace(also, sentence=next(iter(sentences(also.sentence)), ""))


def _kept(before: FlowVerdict | None, judgement: Judgement, now_at: float) -> Also:
    """Return a judgement with since when it has held, be it as the verdict or beside another one."""
    former = next((one for one in _told(before) if one.verdict is judgement.verdict), None)
    if former is None:
        return Also(
            judgement.verdict, judgement.cause, judgement.sentence, now_at, now_at, judgement.evidence
        )
    cause, sentence, shown_at = judgement.cause, judgement.sentence, now_at
    if _is_held(former, judgement, now_at):
        cause, shown_at = former.cause, former.shown_at
        ago = duration_text(max(0.0, now_at - shown_at))
        sentence = f"{sentence.removesuffix('.')}; the cause was {cause} until {ago} ago."
    return Also(judgement.verdict, cause, sentence, former.since_at, shown_at, judgement.evidence)


def _told(before: FlowVerdict | None) -> tuple[FlowVerdict | Also, ...]:
    if before is None:
        return ()
    return (before,) if before.also is None else (before, before.also)


def _is_held(before: FlowVerdict | Also, judgement: Judgement, now_at: float) -> bool:
    """Tell whether a stall goes on, and what was behind it cannot be shown for a moment."""
    return (
        before.verdict is judgement.verdict is Verdict.STALLED
        and judgement.cause is Cause.UNEXPLAINED
        and before.cause not in (None, Cause.UNEXPLAINED)
        and now_at - before.shown_at <= HOLD_CAUSE_S
    )


def _canary_sentence(flow: FlowEvidence) -> str:
    canary = flow.canary
    if canary.state is not CanaryState.RUNNING:
        return ended(canary.sentence or "It is starting")
    if canary.impaired is not None:
        return f"Its measurements are unreliable: {ended(canary.impaired)}"
    moving = sum(
        one.arrival_age_s is not None and one.arrival_age_s <= canary.threshold_s + canary.interval_s
        for one in canary.partitions
    )
    return _delivering(moving, len(canary.partitions))


def _delivering(moving: int, count: int) -> str:
    return f"Canary records arrive on {moving} of {count_text(count, 'partition')}."
