"""`mirrorwatch checksum run`: plan, digest both sides, compare, check differences twice, and report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from checksum.compare.finding_text import time_text
from checksum.compare.flow_findings import FlowFindings
from checksum.compare.verdicts import Audit, result
from checksum.counts.buckets import rows_document, rows_of_cells
from checksum.digest.cell_rows import Side
from checksum.history.counts import counts_of_cells
from checksum.plan.document import plan_id
from checksum.plan.shape import OutdatedPlanError
from checksum.plan.validity import basis
from checksum.plan.verified_to import verified_to
from checksum.recheck.recheck import MOST_OFFSETS
from checksum.report.result_document import run_document
from checksum.run import IncompleteDigestError, check_topics, compare_and_recheck
from fleet.errors import ConfigurationError
from mirrorwatch.audits.earlier_runs import repeat_finding
from mirrorwatch.checksums.flows import every_flow
from mirrorwatch.checksums.plan import print_failure, print_plan
from mirrorwatch.checksums.results.result import conclude_all, print_result
from runtime.process.loop import run_to_end

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from checksum.counts.buckets import BucketRow
    from checksum.history.history import Counted
    from checksum.plan.shape import Plan
    from checksum.run import Digests, EmptyRange
    from mirrorwatch.checksums.pace import StageTasks
    from mirrorwatch.checksums.plan import Planned
    from mirrorwatch.checksums.progress import Reading
    from mirrorwatch.checksums.session import Chosen, Session
    from mirrorwatch.checksums.state import Run, State


class Spark(Protocol):
    """The part of `mirrorwatch.checksums.spark.Spark` that a run needs."""

    def digests(self) -> Digests:
        """Start Spark if needed, and return what digests."""
        ...

    def may_hold(self, folder: str) -> bool:
        """Return False if a folder certainly has no digest."""
        ...

    def folder_of(self, plan: Plan, side: Side, *, beside: Path | None = None) -> str:
        """Return the folder of a side's digest: in `beside` unless `--folder` names another place."""
        ...

    def forget(self, plan: Plan) -> None:
        """Delete a plan's digests in `--folder`."""
        ...

    def stages(self) -> Sequence[StageTasks]:
        """Return Spark's active stages. Thread-safe."""
        ...

    def keep_log(self) -> None:
        """Keep Spark's log, if it is not empty, and print its path."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one flow; `counts` are of both sides, by partition and time bucket."""

    audit: Audit
    counts: Sequence[Counted] = ()
    bucket_rows: Sequence[BucketRow] = ()


def run_all(session: Session, chosen: Chosen, *, spark: Spark, json_file: Path | None) -> int:
    """Compare the chosen flows, print the results, and return the exit status."""
    work = partial(_run, session, spark)
    return every_flow(
        session, chosen, work, conclude=conclude_all, json_file=json_file, keep_log=spark.keep_log
    )


def _run(
    session: Session, spark: Spark, one: Planned, state: State
) -> tuple[dict[str, Any], Exception | None]:
    """Compare one flow; return its document, and the store's error or None."""
    plan, run = one.plan, one.run
    if plan is None or run is None:
        return print_failure(session, one.flow, one.failure), None
    if one.resumed:
        begun = f"{plan_id(plan)[:12]} of {time_text(plan.made_at_ms)}"
        session.sheet.say(f"{plan.flow}: resuming plan {begun}, which was interrupted.", indent=0)
    print_plan(session, plan, nothing_new=one.nothing_new)
    if not plan.topics:  # no new records: Spark is not needed
        outcome = Outcome(Audit(plan, result(plan, {}, FlowFindings(()), exactly_once=one.flow.exactly_once)))
    else:
        outcome = _audited(session, one, plan, run, spark)
    audit = outcome.audit
    verified = verified_to(
        audit.plan, audit.result, run.before.verified, at_ms=state.now_ms(), most_offsets=MOST_OFFSETS
    )
    told = run_document(audit, verified, nothing_new=one.nothing_new, whole=one.whole)
    bucket_rows = rows_document(outcome.bucket_rows, bucket_ms=audit.plan.bucket_ms)
    document = run.document(told | {"counts": bucket_rows})
    last = state.last_finding(one.flow) if not plan.topics else None
    failure = run.finish(document, verified, outcome.counts)
    if failure is None:
        _forget(audit.plan, run, spark)
    print_result(session, audit)
    if last is not None:
        repeat_finding(session, last)
    return document, failure


def _audited(session: Session, one: Planned, plan: Plan, run: Run, spark: Spark) -> Outcome:
    again = plan
    try:
        return _compared(session, one, plan, run, spark)
    except OutdatedPlanError as error:
        session.sheet.say(f"{error}. Restarting with headers.")
        again = replace(plan, topics=tuple(replace(topic, headers=True) for topic in plan.topics))
    except IncompleteDigestError:
        _forget(plan, run, spark)  # a resumed run would fail again
        raise
    except ConfigurationError as error:
        if not one.resumed:
            raise
        session.sheet.say(f"{error}. Restarting.")
        # With a new plan id: `--folder` stores digests by plan id, and would return the same ones.
        now_ms = int(session.clock.wall_s() * 1000)
        again = replace(plan, made_at_ms=max(now_ms, plan.made_at_ms + 1))
    _forget(plan, run, spark)
    return _compared(session, one, again, run, spark)


def _forget(plan: Plan, run: Run, spark: Spark) -> None:
    """Delete a plan and its digests, wherever they are."""
    if run.plans is not None:
        run.plans.forget(plan)
    spark.forget(plan)


def _compared(session: Session, one: Planned, plan: Plan, run: Run, spark: Spark) -> Outcome:
    beside = None
    if run.plans is not None:
        based_on = basis(plan, run.before.verified, session.rules)
        beside = run.plans.keep(plan, one.asked, basis=based_on, nothing_new=one.nothing_new)
    run.planned(plan_id(plan))
    cells = {}
    for side in Side:
        run_to_end(check_topics(plan, side, session.connects))
    with session.shown.reading(plan, tuple(Side), spark.stages) as shown:
        for side in Side:
            folder = spark.folder_of(plan, side, beside=beside)
            read_side(session, plan, side, folder=folder, digests=spark.digests(), shown=shown)
            cells[side] = spark.digests().cells(plan, side, folder)
    audit = run_to_end(compare_and_recheck(one.flow, plan, cells, session.connects, pause=session.pause))
    return Outcome(audit, counts_of_cells(plan, cells), rows_of_cells(plan, cells, audit.result))


def read_side(
    session: Session, plan: Plan, side: Side, *, folder: str, digests: Digests, shown: Reading
) -> None:
    """Digest a side, show its progress, and check stretches without records with a consumer."""
    empty_ranges: tuple[EmptyRange, ...] = ()
    for progress in digests.digest(plan, side, folder):
        empty_ranges += progress.empty_ranges
        shown.at(side, progress)
    run_to_end(check_topics(plan, side, session.connects, empty_ranges))
