"""A flow's checksums for pages, API and table. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.dialect import moment_text
from fleet.quantity import duration_text
from fleet.verdicts.checksum import coverage_text
from mirrorwatch.service.view import ChecksumRunView, ChecksumView
from mirrorwatch.web.texts import counted

if TYPE_CHECKING:
    from mirrorwatch.audits.flow_audit import FlowAudit, RunSummary

EARLIER = 5


def checksum_view(standing: FlowAudit | None) -> ChecksumView | None:
    """Return the view of a flow's checksums; None if no run has ended."""
    if standing is None:
        return None
    earlier = [run for run in standing.with_findings if run is not standing.newest]
    return ChecksumView(
        _run_view(standing.newest),
        tuple(_run_view(run) for run in earlier[:EARLIER]),
        max(0, len(earlier) - EARLIER),
    )


def run_address(run: str) -> str:
    """Return the path of a run's page; its id needs no quoting."""
    return f"/checksums/{run}"


def checksum_document(view: ChecksumView | None) -> dict[str, Any] | None:
    """Return the checksums of a flow for /api/v1."""
    if view is None:
        return None
    return _run_document(view.newest) | {"earlier": [_run_document(one) for one in view.earlier]}


def run_text(run: ChecksumRunView) -> str:
    """Write the result of a run: `1,234 records of 3 topics compared, 99.5 % verified, 2 findings`."""
    if not run.source_records and not run.findings:
        compared = "no new records to compare" if run.coverage >= 1 else "nothing could be compared"
    else:
        compared = f"{counted(run.source_records, 'record')} of {counted(run.topics, 'topic')} compared"
    told = [compared, f"{coverage_text(run.coverage)} verified"]
    told.append(counted(run.findings, "finding") if run.findings else "no finding")
    if run.unresolved_blocks:
        told.append(f"{counted(run.unresolved_blocks, 'block')} of offsets unresolved")
    if run.undecided_records:
        told.append(f"{counted(run.undecided_records, 'record')} without a verdict")
    return ", ".join(told)


def took_text(run: ChecksumRunView) -> str:
    """Write how long a run took."""
    return duration_text(round(run.ended_at - run.begun_at))


def _run_view(run: RunSummary) -> ChecksumRunView:
    return ChecksumRunView(
        run=run.run,
        begun_at=run.begun_at,
        ended_at=run.ended_at,
        status=run.status,
        coverage=run.coverage,
        source_records=run.source_records,
        target_records=run.target_records,
        records={verdict.value: count for verdict, count in run.records.items()},
        findings=run.findings,
        expected=run.expected,
        unresolved_blocks=run.unresolved_blocks,
        undecided_records=run.undecided_records,
        not_due=run.not_due,
        topics=len(run.topics),
    )


def _run_document(run: ChecksumRunView) -> dict[str, Any]:
    return {
        "run": run.run,
        "started_at": moment_text(run.begun_at),
        "ended_at": moment_text(run.ended_at),
        "exit_status": run.status,
        "coverage": run.coverage,
        "topic_count": run.topics,
        "source_records": run.source_records,
        "target_records": run.target_records,
        "records_by_verdict": dict(run.records),
        "not_due_records": run.not_due,
        "undecided_records": run.undecided_records,
        "finding_count": run.findings,
        "expected_count": run.expected,
        "unresolved_block_count": run.unresolved_blocks,
        "page": run_address(run.run),
    }
