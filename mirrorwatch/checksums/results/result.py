"""The output of `checksum run` and `compare`: findings, what was not verified, and a table of topics."""

from __future__ import annotations

from collections import Counter, defaultdict
from operator import itemgetter
from typing import TYPE_CHECKING

from checksum.compare.finding_text import finding_text, open_block_text
from checksum.compare.findings import RecordVerdict, cause_of, worst_first
from checksum.plan.document import plan_id
from checksum.report.result_document import records_by_verdict
from fleet.verdicts.vocabulary import Cause
from mirrorwatch.check.sheet import FIRST, rest
from mirrorwatch.checksums.session import BAD_CONFIGURATION, FINDING, INCOMPLETE, OK, UNAVAILABLE
from mirrorwatch.web.texts import counted, share_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checksum.compare.findings import Finding
    from checksum.compare.verdicts import Audit, PartitionResult, Result
    from mirrorwatch.checksums.session import Session

NOT_TAKEN_BACK = "The findings of earlier runs still hold."
_ALWAYS = (RecordVerdict.MATCH,)


def print_result(session: Session, audit: Audit) -> None:
    """Print the result of one flow."""
    found, plan = audit.result, audit.plan
    session.sheet.heading(f"{plan.flow}: {summary(found)} (plan {plan_id(plan)[:12]})")
    _print_findings(session, audit, "Findings", worst_first(found.findings))
    _print_findings(session, audit, "Expected under at-least-once, not a finding", found.expected)
    if found.open_blocks:
        session.sheet.heading("Unresolved differences")
        for block in found.open_blocks[:FIRST]:
            session.sheet.say(open_block_text(block, plan), hang=4)
        print_rest(session, found.open_blocks)
    gone = [one for part in found.partitions for one in part.unverified]
    if gone or found.left_out or found.unsettled:
        session.sheet.heading("Not verified")
        for one in gone[:FIRST]:
            where = f"{one.topic} [{one.partition}] {one.source.first} to {one.source.until - 1}"
            session.sheet.say(f"{where}: {one.why}", hang=4)
        print_rest(session, gone)
        for left in found.left_out[:FIRST]:
            where = left.topic if left.partition is None else f"{left.topic} [{left.partition}]"
            session.sheet.say(f"{where}: {counted(left.records, 'record')}: {left.why}", hang=4)
        print_rest(session, found.left_out)
        for extra in found.unsettled[:FIRST]:
            session.sheet.say(finding_text(extra, plan), hang=4)
        print_rest(session, found.unsettled)
    if found.partitions:
        _print_table(session, found)


def summary(found: Result) -> str:
    """Return one line: differences, records compared, and coverage."""
    option_error = records_by_verdict(found)
    compared = sum(one.source_records for one in found.partitions)
    if not found.partitions:
        return "no new records to compare" if found.coverage == 1 else "nothing could be compared"
    told = [
        f"{option_error[verdict]:,} {verdict}"
        for verdict in RecordVerdict
        if option_error[verdict] and verdict not in _ALWAYS
    ]
    verified = sum(one.verified for one in found.partitions)
    whole = sum(one.offsets for one in found.partitions) + sum(one.records for one in found.left_out)
    share = share_text(verified, whole) if whole else "100 %"
    said = ", ".join(told) or ("unresolved differences" if found.differing else "no difference")
    waiting = f"; {counted(found.not_due, 'record')} not due yet" if found.not_due else ""
    return f"{said} in {counted(compared, 'record')}; {share} of due offsets verified{waiting}"


def conclude_all(session: Session, status: int, *, compared: bool) -> None:
    """Print the final lines; `compared` is whether anything was compared."""
    words = {
        OK: "OK: the target holds every record that was compared.",
        FINDING: "FAILED: source and target differ; see the findings above.",
        INCOMPLETE: "Incomplete: no difference found, but not everything could be verified.",
        UNAVAILABLE: "FAILED: something was not available; see the reason above.",
        BAD_CONFIGURATION: "FAILED: invalid configuration or input; see the reason above.",
    }
    nothing = f"No new records: nothing compared. {NOT_TAKEN_BACK}"
    session.sheet.heading("Result")
    session.sheet.say(words.get(status, "") if compared or status != OK else nothing)


def _print_table(session: Session, found: Result) -> None:
    """Print a row for each topic, those with problems first; columns only for verdicts that occur."""
    by_topic: dict[str, list[PartitionResult]] = defaultdict(list)
    left_out: Counter[str] = Counter()
    for one in found.partitions:
        by_topic[one.topic].append(one)
    for left in found.left_out:
        left_out[left.topic] += left.records
    counts = records_by_verdict(found)
    shown = [verdict for verdict in RecordVerdict if counts[verdict] or verdict in _ALWAYS]
    rows = []
    for topic in dict.fromkeys([*by_topic, *left_out]):
        parts = by_topic[topic]
        verified = sum(one.verified for one in parts)
        offsets = sum(one.offsets for one in parts) + left_out[topic]
        told = [sum(one.records.get(verdict, 0) for one in parts) for verdict in shown]
        well = verified == offsets and not any(told[len(_ALWAYS) :])
        rows.append((well, [topic, *_row(parts, told, verified, offsets)]))
    several = [row for _, row in sorted(rows, key=itemgetter(0))]
    if len(rows) > 1:
        whole = sum(one.offsets for one in found.partitions) + left_out.total()
        verified = sum(one.verified for one in found.partitions)
        told = [counts[verdict] for verdict in shown]
        several = [*several[:FIRST], ["all topics", *_row(found.partitions, told, verified, whole)]]
    columns = ["topic", "partitions", "source", "target", *(str(verdict) for verdict in shown), "verified"]
    session.sheet.heading("By topic")
    session.sheet.figures(columns, several)
    print_rest(session, rows)


def _row(parts: Sequence[PartitionResult], told: Sequence[int], verified: int, offsets: int) -> list[str]:
    return [
        f"{len(parts):,}",
        f"{sum(one.source_records for one in parts):,}",
        f"{sum(one.target_records for one in parts):,}",
        *(f"{count:,}" for count in told),
        share_text(verified, offsets) if offsets else "100 %",
    ]


def _print_findings(session: Session, audit: Audit, title: str, findings: Sequence[Finding]) -> None:
    if not findings:
        return
    session.sheet.heading(f"{title} ({len(findings):,})")
    for one in findings[:FIRST]:
        cause = cause_of(one)
        told = "" if cause is Cause.UNEXPLAINED else f" ({cause})"
        session.sheet.say(f"{one.verdict}: {finding_text(one, audit.plan)}{told}", hang=4)
    print_rest(session, findings)


def print_rest(session: Session, many: Sequence[object]) -> None:
    """Print how many entries of a long list are not shown."""
    if rest(many):
        session.sheet.say(f"{rest(many)}; --json FILE lists more")
