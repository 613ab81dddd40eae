"""The rules about what audits have found: records lost, altered or repeated, of any topic.

A finding holds for HOLD_FOUND_S after the run that found it has ended, or was told, where it ended elsewhere
and nobody may have heard of it for days. What is lost at three in the morning is there for whoever comes at
nine, and for the night after; a verdict that never ended would hide the next one, and page for ever about
what nobody can mend. A later run over newer records takes nothing back, however clean it is: what was lost
stays lost. Only a later run by the same plan does, over the same records, and what hands in the evidence has
left that out.

An audit says what became of records, and nothing about how the flow is right now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.quantity import count_text, duration_text
from fleet.verdicts.vocabulary import Verdict
from fleet.verdicts.words import MAX_ROWS, Judgement, clause

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.verdicts.checksum_evidence import ChecksumEvidence, ChecksumFound
    from fleet.verdicts.evidence import FlowEvidence

HOLD_FOUND_S = 26 * 3600.0  # a day, and what one night's run may end later than that of the night before
_ARE = {
    Verdict.LOSING: "missing on {target}",
    Verdict.ALTERED: "that differ between {source} and {target}",
    Verdict.REPEATING: "repeated on {target}, although the mirror is configured for exactly-once delivery",
}


def found(flow: FlowEvidence, now_at: float, verdict: Verdict) -> Judgement | None:
    """Hold while what runs have found that is of this verdict holds."""
    if flow.checksum is None:
        return None
    held = [one for one in _holding(flow.checksum, now_at) if one.verdict is verdict]
    if not held:
        return None
    rows = [row for one in reversed(held) for row in one.rows][:MAX_ROWS]
    return Judgement(verdict, held[-1].cause, _sentence(flow, held, now_at), tuple(rows), ended=True)


def is_quiet(checksum: ChecksumEvidence | None, now_at: float) -> bool:
    """Tell whether no run has found anything that still holds."""
    return checksum is None or not _holding(checksum, now_at)


def part_sentence(checksum: ChecksumEvidence, now_at: float) -> str:
    """Return a sentence on the result of the newest run."""
    ago = duration_text(max(0.0, now_at - checksum.ended_at))
    findings = count_text(checksum.findings, "finding") if checksum.findings else "no finding"
    if not checksum.records:
        return f"The last run ended {ago} ago and had nothing to compare."
    share = "everything" if checksum.coverage >= 1 else f"{coverage_text(checksum.coverage)} of it"
    if checksum.untold:
        findings += f", {count_text(checksum.untold, 'record')} undecided"
    return (
        f"The last run ended {ago} ago: {count_text(checksum.records, 'record')} of the source compared,"
        f" {share} verified, {findings}."
    )


def coverage_text(coverage: float) -> str:
    """Write a share in per cent, rounded down, so that 100 % is exact."""
    return f"{int(coverage * 10_000) / 100:g} %"


def _holding(checksum: ChecksumEvidence, now_at: float) -> list[ChecksumFound]:
    return [one for one in checksum.found if now_at - _known_at(one) <= HOLD_FOUND_S]


def _known_at(found: ChecksumFound) -> float:
    return found.at if found.known_at is None else found.known_at


def _sentence(flow: FlowEvidence, held: Sequence[ChecksumFound], now_at: float) -> str:
    newest, earlier = held[-1], held[:-1]
    ago = duration_text(max(0.0, now_at - newest.at))
    first = clause(newest.rows[0].sentence)
    if newest.records == 1 and not newest.least:
        told = f"The checksum that ended {ago} ago found: {first}."
    else:
        are = _ARE[newest.verdict].format(source=flow.source.alias, target=flow.target.alias)
        told = f"The checksum that ended {ago} ago found {_records(newest)} {are}. The first: {first}."
    if not earlier:
        return told
    several = "Another run" if len(earlier) == 1 else f"{len(earlier)} other runs"
    least = "at least " if any(found.least for found in earlier) else ""
    count = count_text(sum(found.records for found in earlier), "such record")
    return f"{told} {several} of the last {duration_text(HOLD_FOUND_S)} found {least}{count}."


def _records(found: ChecksumFound) -> str:
    """Write how many records there are and where: `3 records (2 of orders, 1 of payments)`."""
    told = f"{'at least ' if found.least else ''}{count_text(found.records, 'record')}"
    if len(found.by_topic) == 1 and not found.more_topics:
        return f"{told} of {found.by_topic[0][0]}"
    where = ", ".join(f"{count} of {topic}" for topic, count in found.by_topic)
    return f"{told} ({where}{f' and more of {found.more_topics} others' if found.more_topics else ''})"
