"""Rules: records of any topic that a checksum found lost, altered or repeated.

A finding holds for HOLD_FOUND_S after the end of the run, or after Mirrorwatch learned of a run that ended
elsewhere. So a loss in the night is still shown in the morning and during the next night. A verdict without
an end would hide the next one, and page forever about what cannot be fixed.

A later run over newer records clears no finding: lost records stay lost. A later run of the same plan over
the same records does; the evidence no longer has such a finding.

A checksum shows what happened to records, not the current state of the flow.
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

HOLD_FOUND_S = 26 * 3600.0  # a day, and two hours by which a nightly run may end later than the one before
_ARE = {
    Verdict.LOSING: "missing on {target}",
    Verdict.ALTERED: "that differ between {source} and {target}",
    Verdict.REPEATING: "repeated on {target}, although the mirror is configured for exactly-once delivery",
}


def found(flow: FlowEvidence, now_at: float, verdict: Verdict) -> Judgement | None:
    """Hold while findings of runs with this verdict hold."""
    if flow.checksum is None:
        return None
    held = [one for one in _holding(flow.checksum, now_at) if one.verdict is verdict]
    if not held:
        return None
    rows = [row for one in reversed(held) for row in one.rows][:MAX_ROWS]
    return Judgement(verdict, held[-1].cause, _sentence(flow, held, now_at), tuple(rows), ended=True)


def is_quiet(checksum: ChecksumEvidence | None, now_at: float) -> bool:
    """Return whether no finding of a run holds."""
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
        text = f"The checksum that ended {ago} ago found: {first}."
    else:
        are = _ARE[newest.verdict].format(source=flow.source.alias, target=flow.target.alias)
        text = f"The checksum that ended {ago} ago found {_records(newest)} {are}. The first: {first}."
    if not earlier:
        return text
    several = "Another run" if len(earlier) == 1 else f"{len(earlier)} other runs"
    least = "at least " if any(found.least for found in earlier) else ""
    count = count_text(sum(found.records for found in earlier), "such record")
    return f"{text} {several} of the last {duration_text(HOLD_FOUND_S)} found {least}{count}."


def _records(found: ChecksumFound) -> str:
    """Write the number of records by topic: `3 records (2 of orders, 1 of payments)`."""
    count = f"{'at least ' if found.least else ''}{count_text(found.records, 'record')}"
    if len(found.by_topic) == 1 and not found.more_topics:
        return f"{count} of {found.by_topic[0][0]}"
    where = ", ".join(f"{number} of {topic}" for topic, number in found.by_topic)
    return f"{count} ({where}{f' and more of {found.more_topics} others' if found.more_topics else ''})"
