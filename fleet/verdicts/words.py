"""A judgement, and the sentences and rows of evidence that several rules use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from fleet.quantity import duration_text
from fleet.verdicts.evidence import MAX_FINDINGS
from fleet.verdicts.vocabulary import Cause, Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from fleet.verdicts.evidence import Finding, FindingKind, FlowEvidence, LagFinding

    Dated = TypeVar("Dated", Finding, LagFinding)

HOLD_S = 900.0  # how long loss, change and repetition hold after their last evidence
MAX_ROWS = 10  # rows of evidence for one verdict; the counters have the number
_SHOWN_PARTITIONS = 6
_BETWEEN = re.compile(r"(?<=[.!?])\s+")  # two sentences


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict at one instant; `cause` is None for healthy, and if only data is missing.

    `ended`: it rests on findings that do not show the current state of the flow. The newest is older than
    three intervals, or comes from offsets.
    """

    verdict: Verdict
    cause: Cause | None
    sentence: str
    evidence: tuple[Evidence, ...] = ()
    ended: bool = False


def is_over(flow: FlowEvidence, newest: Finding, now_at: float) -> bool:
    """Return whether nothing was found for three intervals."""
    return now_at - newest.at > _three_intervals_s(flow.canary.interval_s)


def last_found(flow: FlowEvidence, newest: Finding, now_at: float) -> str:
    """Return a sentence with the age of the newest finding, after a blank; empty while findings continue."""
    if not is_over(flow, newest, now_at):
        return ""
    return f" The last was found {duration_text(now_at - newest.at)} ago."


def findings_of(flow: FlowEvidence, now_at: float, kind: FindingKind) -> list[Finding]:
    """Return the findings of this kind that still hold, oldest first."""
    return holding(findings_kept(flow, kind), now_at)


def findings_kept(flow: FlowEvidence, kind: FindingKind) -> list[Finding]:
    """Return all findings of this kind, oldest first, including those that no longer hold."""
    return sorted((one for one in flow.canary.findings if one.kind is kind), key=lambda finding: finding.at)


def holding(findings: Iterable[Dated], now_at: float) -> list[Dated]:
    """Return those of the findings that still hold."""
    return [one for one in findings if now_at - one.at <= HOLD_S]


def pause_s(interval_s: float, horizon_s: float) -> float:
    """Return the time (s) without findings that ends a burst of them: three intervals, at most a horizon."""
    return min(_three_intervals_s(interval_s), horizon_s)


def _three_intervals_s(interval_s: float) -> float:
    return max(3 * interval_s, 5.0)


def joined(canary: Judgement, offsets: Judgement, *, cause: Cause | None = None) -> Judgement:
    """Return one judgement of two that agree: the canary's first, with its cause unless one is given.

    The rows of evidence start with those of the judgement that gave the cause.
    """
    others_cause = cause is not None and cause is not canary.cause
    first, then = (offsets, canary) if others_cause else (canary, offsets)
    return Judgement(
        canary.verdict,
        cause or canary.cause,
        f"{canary.sentence} {offsets.sentence}",
        first.evidence + then.evidence,
        ended=canary.ended,
    )


def rows_of(findings: Sequence[Finding]) -> tuple[Evidence, ...]:
    """Return a row of evidence for each of the newest findings, newest first."""
    newest = sorted(findings, key=lambda finding: finding.at, reverse=True)[:MAX_ROWS]
    return tuple(
        Evidence(
            part="canary",
            sentence=finding.sentence,
            at=finding.at,
            topic=finding.topic,
            partition=finding.partition,
            source_offset=finding.source_offset,
            target_offset=finding.target_offset,
        )
        for finding in newest
    )


def probes_text(flow: FlowEvidence, found: Sequence[Finding], now_at: float) -> str:
    """Write the number of canary records of these findings, which are of one kind and hold."""
    count = sum(finding.count for finding in found)
    text = "1 canary record" if count == 1 else f"{count:,} canary records"
    kept = findings_kept(flow, found[0].kind)
    # The canary has dropped older ones, which may still hold.
    is_least = len(kept) >= MAX_FINDINGS and len(holding(kept, now_at)) == len(kept)
    return f"at least {text}" if is_least else text


def partitions_text(partitions: Collection[int]) -> str:
    """Write partitions, the first six by number: `partition 3`, `partitions 0, 1 and 2`."""
    numbers = [str(number) for number in sorted(set(partitions))]
    if len(numbers) == 1:
        return f"partition {numbers[0]}"
    shown, more = numbers[:_SHOWN_PARTITIONS], len(numbers) - _SHOWN_PARTITIONS
    if more > 0:
        return f"partitions {', '.join(shown)} and {more} more"
    return f"partitions {', '.join(shown[:-1])} and {shown[-1]}"


def latency_text(seconds: float) -> str:
    """Write an upper bound of latencies, which may be less than a hundredth of a second."""
    return f"at most {duration_text(seconds)}" if seconds >= 0.01 else "less than 0.01 s"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, in their order."""
    return [one for one in _BETWEEN.split(text.strip()) if one]


def clause(sentence: str) -> str:
    """Return a sentence of another part without its full stop, for use after a colon."""
    return sentence.strip().rstrip(".").replace(": ", "; ")


def ended(sentence: str) -> str:
    """Return a sentence of another part with a full stop at its end."""
    text = sentence.strip()
    return text if text.endswith((".", "!", "?", ".)", "!)", "?)")) or not text else f"{text}."
