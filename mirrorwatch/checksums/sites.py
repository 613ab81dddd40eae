"""`mirrorwatch checksum digest` and `compare`: each side is read at its own site, by a plan file."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from checksum.counts.buckets import rows_document, rows_of_cells
from checksum.digest.cell_rows import Side
from checksum.plan.document import canonical
from checksum.plan.file import read_plan
from checksum.plan.places import places_of
from checksum.report.result_document import VERSION, of_run, run_document
from checksum.run import check_topics, compare_and_recheck
from fleet.errors import ConfigurationError, Problem
from mirrorwatch.checksums.plan import print_plan
from mirrorwatch.checksums.results.outlets import deliver
from mirrorwatch.checksums.results.result import conclude_all, print_result
from mirrorwatch.checksums.run import read_side
from mirrorwatch.checksums.session import OK, check_writable
from mirrorwatch.checksums.state import who
from runtime.process.loop import run_to_end

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from checksum.plan.shape import Plan
    from mirrorwatch.checksums.run import Spark
    from mirrorwatch.checksums.session import Session


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
    session.sheet.say(f"Wrote the {which}'s digest of plan {identity[:12]} to {folder}.", indent=0)
    return OK


def compare_digests(
    session: Session, plan_file: Path, source: str, target: str, *, spark: Spark, json_file: Path | None
) -> int:
    """Compare the digests of both sides of a plan, and return the exit status."""
    check_writable(json_file)
    folders = {Side.SOURCE: source, Side.TARGET: target}
    begun_ms = _now_ms(session)
    plan, _ = read_plan(plan_file)
    flow = session.flow_of(plan, plan_file)
    _check_digests(plan, folders, spark)
    cells = {
        side: spark.digests().cells(plan, side, folder) if plan.topics else []
        for side, folder in folders.items()
    }
    audit = run_to_end(compare_and_recheck(flow, plan, cells, session.connects, pause=session.pause))
    print_result(session, audit)
    status = audit.result.status
    conclude_all(session, status, compared=bool(audit.result.partitions))
    counts = rows_document(rows_of_cells(plan, cells, audit.result), bucket_ms=plan.bucket_ms)
    found = run_document(audit) | {"counts": counts}
    told = of_run(
        found,
        # Derived from the result, so that a service stores it once.
        run=sha256(canonical(found)).hexdigest()[:32],
        begun_ms=begun_ms,
        ended_ms=max(begun_ms, _now_ms(session)),
        who=who(),
        counts_only=False,
    )
    return deliver(session, json_file, {"version": VERSION, "status": status, "runs": [told]}, status)[0]


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


def _now_ms(session: Session) -> int:
    return int(session.clock.wall_s() * 1000)
