"""`mirrorwatch checksum digest` and `compare`: each side is read at its own site, by a plan file."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from checksum.counts.buckets import rows_document, rows_of_cells
from checksum.digest.cell_rows import Side
from checksum.history.counts import counts_of_cells
from checksum.plan.document import canonical
from checksum.plan.file import read_plan
from checksum.plan.places import places_of
from checksum.plan.verified_to import verified_to
from checksum.recheck.recheck import MOST_OFFSETS
from checksum.report.result_document import VERSION, run_document
from checksum.run import check_topics, compare_and_recheck
from fleet.errors import ConfigurationError, Problem
from mirrorwatch.checksums.flows import print_store_error, with_store_error
from mirrorwatch.checksums.plan import print_plan
from mirrorwatch.checksums.results.outlets import deliver
from mirrorwatch.checksums.results.result import conclude_all, print_result
from mirrorwatch.checksums.run import read_side
from mirrorwatch.checksums.session import OK, check_writable
from mirrorwatch.checksums.state import state_for
from runtime.process.loop import run_to_end

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from checksum.compare.verdicts import Audit
    from checksum.digest.cell_rows import CellRow
    from checksum.plan.shape import Plan
    from fleet.errors import MirrorwatchError
    from mirrorwatch.checksums.run import Spark
    from mirrorwatch.checksums.session import Session
    from mirrorwatch.checksums.state import Run


def digest_side(session: Session, plan_file: Path, side: str, folder: str, *, spark: Spark) -> int:
    """Digest one side of a plan into a folder, and return the exit status."""
    plan, identity = read_plan(plan_file)
    session.flow_of(plan, plan_file)
    session.check_max_bytes(plan)
    which = Side(side)
    print_plan(session, plan)
    run_to_end(check_topics(plan, which, session.connects))
    if plan.topics:
        with session.shown.reading(plan, (which,), spark.stages) as shown:
            read_side(session, plan, which, folder=folder, digests=spark.digests(), shown=shown)
    if any(place.offsets.span for place in places_of(plan, which)):
        said = f"Wrote the {which}'s digest of plan {identity[:12]} to {folder}."
    else:
        said = f"Plan {identity[:12]} reads nothing of the {which}: no digest, and `compare` needs none."
    session.sheet.say(said, indent=0)
    return OK


def compare_digests(
    session: Session, plan_file: Path, source: str, target: str, *, spark: Spark, json_file: Path | None
) -> int:
    """Compare the digests of both sides of a plan, store the result, and return the exit status."""
    check_writable(json_file)
    folders = {Side.SOURCE: source, Side.TARGET: target}
    plan, identity = read_plan(plan_file)
    flow = session.flow_of(plan, plan_file)
    _check_digests(plan, folders, spark)
    with state_for(session) as state:
        if state.why_none:
            session.sheet.say(f"{state.why_none}: the result is not stored.", indent=0)
        run = state.begin(flow)
        run.planned(identity)
        cells = {
            side: spark.digests().cells(plan, side, folder) if plan.topics else []
            for side, folder in folders.items()
        }
        audit = run_to_end(compare_and_recheck(flow, plan, cells, session.connects, pause=session.pause))
        told, failure = _stored(plan, audit, cells, run, now_ms=state.now_ms())
        print_result(session, audit)
        told = with_store_error(session, told, failure)
        conclude_all(session, told["status"], compared=bool(audit.result.partitions))
        print_store_error(session, told)
        document = {"version": VERSION, "status": told["status"], "runs": [told]}
        status, delivery = deliver(session, json_file, document, told["status"])
        state.mark_reported([told["run"]])
        state.mark_posted(delivery.done)
    return status


def _stored(
    plan: Plan, audit: Audit, cells: Mapping[Side, Sequence[CellRow]], run: Run, *, now_ms: int
) -> tuple[dict[str, Any], MirrorwatchError | None]:
    """Store a result; return its document, and the store's error or None."""
    before = run.before.verified
    moved = verified_to(plan, audit.result, before, at_ms=now_ms, most_offsets=MOST_OFFSETS)
    verified = {
        place: one
        for place, one in moved.items()
        # Another run may have compared more since the plan was made.
        if place not in before or before[place].at_ms <= plan.made_at_ms
    }
    counts = {"counts": rows_document(rows_of_cells(plan, cells, audit.result), bucket_ms=plan.bucket_ms)}
    # The id is derived from the result, so that the same digests are one run however often they are compared.
    identity = sha256(canonical(run_document(audit) | counts)).hexdigest()[:32]
    document = run.document(run_document(audit, verified) | counts, run=identity)
    return document, run.finish(document, verified, counts_of_cells(plan, cells))


def _check_digests(plan: Plan, folders: Mapping[Side, str], spark: Spark) -> None:
    """Raise ConfigurationError for folders without a digest, before Spark starts.

    A side with nothing to read has no files.
    """
    missing = [
        Problem(
            "the command line",
            f"--{side}",
            f"no digest in {folder}; name the folder that `checksum digest --side {side}` wrote to",
        )
        for side, folder in folders.items()
        if any(place.offsets.span for place in places_of(plan, side)) and not spark.may_hold(folder)
    ]
    if missing:
        raise ConfigurationError(missing)
