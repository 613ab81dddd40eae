"""A judgement, and the words and rows of evidence that every rule writes it with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.vocabulary import Cause, Evidence, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.evidence import Finding, FindingKind, FlowEvidence

HOLD_S = 900.0  # how long loss, change and repetition hold after their last evidence
MAX_ROWS = 10  # rows of evidence for one verdict; the books have the count


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict at one instant; `cause` is None for healthy, and where data is only missing."""

    verdict: Verdict
    cause: Cause | None
    sentence: str
    evidence: tuple[Evidence, ...] = ()


def findings_of(flow: FlowEvidence, now_at: float, kind: FindingKind) -> list[Finding]:
    """Return the findings of this kind that still hold, oldest first."""
    return [one for one in flow.canary.findings if one.kind is kind and now_at - one.at <= HOLD_S]


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


def probes_text(count: int) -> str:
    """Write a number of probes."""
    return "1 probe" if count == 1 else f"{count} probes"


def partitions_text(partitions: set[int]) -> str:
    """Write which partitions, the first six by number."""
    numbers = sorted(partitions)
    shown = ", ".join(str(number) for number in numbers[:6])
    more = f" and {len(numbers) - 6} more" if len(numbers) > 6 else ""
    return f"partition {shown}" if len(numbers) == 1 else f"partitions {shown}{more}"
