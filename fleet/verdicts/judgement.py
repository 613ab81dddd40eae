"""The function that decides the verdict of a flow from evidence alone.

The rules of `joined`, which cover canary, offsets and checksum, are tried worst first; the first that holds
gives the verdict. Loss, alteration and repetition hold for HOLD_S after their last evidence, and findings of
a checksum for HOLD_FOUND_S. Only what was seen counts, never what is known of a fault.

A stall keeps a proved cause for HOLD_CAUSE_S after the evidence stops showing it. At its end partitions
recover one by one, and for a moment a mirror that was down looks like a stuck task.

If the verdict rests on earlier findings, `also` has the current problem of the flow: a stall is shown while a
loss of ten minutes ago still holds. If it rests on a checksum alone, `also` is any other verdict except
healthy: a finding of the night hides nothing of the next day. If the verdict is worse than the loop of a
latched canary, the loop is `also`: it lasts until the user fixes it.
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
RECENT_S = 60.0  # a finding counts as a current condition at least for so long: a scrape must see it

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
    """Return the current problem if the verdict rests on something that has ended; None if there is none.

    While findings continue, they are the problem: if altered records replace intact ones, that is not a
    stall. If the canary is latched after a loop, the loop is a problem whatever the verdict is.
    """
    if flow.canary.state is CanaryState.LATCHED:
        return repeating(flow, now_at) if worst.verdict is not Verdict.REPEATING else None
    if not worst.ended:
        return None
    if flow.checksum is not None:
        unaudited = replace(flow, checksum=None)
        rest = judge(unaudited, now_at=now_at)
        if rest.verdict is not worst.verdict:
            now = beside(unaudited, rest, now_at=now_at)
            return now or (rest if rest.verdict is not Verdict.HEALTHY else None)
    return _delayed(flow, now_at)


def _delayed(flow: FlowEvidence, now_at: float) -> Judgement | None:
    """Return the worst of stalled, late and unknown that holds."""
    return stalled(flow, now_at) or late(flow, now_at) or unknown(flow, now_at)


def conditions(flow: FlowEvidence, *, now_at: float) -> frozenset[Verdict]:
    """Return the current conditions by recent findings, without checksums.

    A finding of the canary is recent until the next probe should have arrived: a mirror that alters every
    record is seen to do so once an interval. Only the worst of stalled, late and unknown is included: each
    rule expects that those before do not hold.
    """
    canary, lag = flow.canary, flow.lag
    found_at = now_at - max(RECENT_S, canary.patience_s)
    recent = replace(flow, checksum=None, canary=replace(canary, findings=_since(canary, found_at)))
    if lag is not None:
        recent = replace(recent, lag=replace(lag, findings=_since(lag, now_at - RECENT_S)))
    found = [rule(recent, now_at) for rule in (losing, altered, repeating)]
    found.append(_delayed(recent, now_at))
    return frozenset(one.verdict for one in found if one is not None)


def follow(before: FlowVerdict | None, flow: FlowEvidence, *, now_at: float) -> FlowVerdict:
    """Return the verdict of a flow, with the start of an unchanged verdict kept."""
    judgement = judge(flow, now_at=now_at)
    also = beside(flow, judgement, now_at=now_at)
    parts = _parts(_canary_sentence(flow), flow.lag, flow.checksum, now_at)
    verdict = _following(before, flow.flow, judgement, parts, now_at, also=also)
    return replace(verdict, conditions=conditions(flow, now_at=now_at))


def follow_calm(
    before: FlowVerdict | None,
    calm: Calm,
    *,
    now_at: float,
    lag: LagEvidence | None = None,
    checksum: ChecksumEvidence | None = None,
) -> FlowVerdict:
    """Return the verdict that `follow` would return with all the evidence of a clearly healthy flow.

    Its offsets and checksums must be quiet too (`is_quiet` of their rules).
    """
    sentence = arriving(calm.threshold_s, calm.latency_s)
    judgement = with_unread(Judgement(Verdict.HEALTHY, None, sentence), lag)
    parts = _parts(_delivering(calm.partitions, calm.partitions), lag, checksum, now_at)
    return _following(before, calm.flow, judgement, parts, now_at)


def _since(part: CanaryEvidence | LagEvidence, at: float) -> tuple[Any, ...]:
    return tuple(one for one in part.findings if one.at >= at)


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
    kept = _kept(before, judgement, now_at)
    return FlowVerdict(
        flow=flow,
        verdict=kept.verdict,
        cause=kept.cause,
        sentence=kept.sentence,
        evidence=judgement.evidence if also is None else judgement.evidence + also.evidence,
        parts=parts,
        since_at=kept.since_at,
        shown_at=kept.shown_at,
        also=None if also is None else _kept(before, _in_short(also), now_at),
    )


def _in_short(also: Judgement) -> Judgement:
    """Return a current problem with its first sentence only: the parts have all sentences."""
    return replace(also, sentence=next(iter(sentences(also.sentence)), ""))


def _kept(before: FlowVerdict | None, judgement: Judgement, now_at: float) -> Also:
    """Return a judgement with its start, as the verdict or as the current problem of another verdict."""
    former = next((one for one in _earlier(before) if one.verdict is judgement.verdict), None)
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


def _earlier(before: FlowVerdict | None) -> tuple[FlowVerdict | Also, ...]:
    if before is None:
        return ()
    return (before,) if before.also is None else (before, before.also)


def _is_held(before: FlowVerdict | Also, judgement: Judgement, now_at: float) -> bool:
    """Return whether a stall continues, and the evidence shows no cause for a moment."""
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
