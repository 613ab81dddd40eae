"""`mirrorwatch checksum run`: plan, digest both sides, compare, look twice, and tell, flow by flow."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from checksum.audit import Audit
from checksum.cell_rows import Side
from checksum.joining import Known
from checksum.outdated_plan import OutdatedPlanError
from checksum.plan_building import refuse_beyond
from checksum.result_document import VERSION, run_document
from checksum.run import conclude, still_there
from checksum.verdicts import result
from fleet.errors import ConfigurationError, MirrorwatchError
from fleet.quantity import bytes_text
from mirrorwatch.checksum_desk import UNAVAILABLE, check_writable, worst, write_json
from mirrorwatch.checksum_plan import plans_of, print_plan, tell_failure
from mirrorwatch.checksum_result import conclude_all, print_result
from mirrorwatch.words import counted

if TYPE_CHECKING:
    from pathlib import Path

    from checksum.plan_shape import Plan
    from checksum.run import Digests, Progressed, Silent
    from fleet.flow import Flow
    from mirrorwatch.checksum_desk import Chosen, Desk


class Spark(Protocol):
    """What `checksum_spark.Spark` does."""

    def digests(self) -> Digests:
        """Return what digests, started."""
        ...

    def folder_of(self, plan: Plan, side: Side) -> str:
        """Return where a run keeps the digest of a side."""
        ...


def run_all(desk: Desk, chosen: Chosen, *, spark: Spark, json_file: Path | None) -> int:
    """Compare what is chosen, print what was found, and return the exit status.

    Where one of several flows cannot be compared, the others are.
    """
    check_writable(json_file)
    planned = asyncio.run(plans_of(desk, chosen))
    for one in planned:
        if one.plan is not None:
            refuse_beyond(one.plan, max_bytes=desk.settings.max_bytes)
    statuses, documents = [], []
    for one in planned:
        try:
            if one.plan is None:
                statuses.append(UNAVAILABLE)
                documents.append(tell_failure(desk, one.flow, one.failure))
                continue
            print_plan(desk, one.plan)
            audit = _audited(desk, one.flow, one.plan, spark)
        except ConfigurationError:
            raise
        except MirrorwatchError as error:
            if len(planned) == 1:
                raise
            statuses.append(UNAVAILABLE)
            documents.append(tell_failure(desk, one.flow, error))
            continue
        print_result(desk, audit)
        statuses.append(audit.result.status)
        documents.append(run_document(audit))
    status = worst(statuses)
    conclude_all(desk, status)
    return write_json(desk, json_file, {"version": VERSION, "status": status, "runs": documents}, status)


def _audited(desk: Desk, flow: Flow, plan: Plan, spark: Spark) -> Audit:
    if not plan.topics:  # nothing is new: Spark is not needed to say so
        return Audit(plan, result(plan, {}, Known(()), exactly_once=flow.exactly_once))
    try:
        return _compared(desk, flow, plan, spark)
    except OutdatedPlanError as error:
        desk.sheet.say(f"{error}. Begun anew, with headers.")
        again = replace(plan, topics=tuple(replace(topic, headers=True) for topic in plan.topics))
        return _compared(desk, flow, again, spark)


def _compared(desk: Desk, flow: Flow, plan: Plan, spark: Spark) -> Audit:
    cells = {}
    for side in Side:
        asyncio.run(still_there(plan, side, desk.connects))
    for side in Side:
        folder = spark.folder_of(plan, side)
        read_side(desk, plan, side, folder, spark.digests())
        cells[side] = spark.digests().cells(plan, side, folder)
    return asyncio.run(conclude(flow, plan, cells, desk.connects, pause=desk.pause))


def read_side(desk: Desk, plan: Plan, side: Side, folder: str, digests: Digests) -> None:
    """Digest a side and say how far it is after each slice; what held no record is looked at again."""
    alias = plan.source if side is Side.SOURCE else plan.target
    begun_ns = desk.clock.monotonic_ns()
    begun_at: Progressed | None = None
    silent: tuple[Silent, ...] = ()
    for progress in digests.digest(plan, side, folder):
        silent += progress.silent
        if begun_at is None:
            begun_at = progress
            if progress.offsets:
                done = f"{progress.offsets:,} of {counted(progress.of_offsets, 'offset')}"
                desk.sheet.say(f"{alias}: {done} were read before")
            continue
        took_s = (desk.clock.monotonic_ns() - begun_ns) / 1e9
        desk.sheet.say(f"{alias}: {progress_text(begun_at, progress, took_s)}")
    asyncio.run(still_there(plan, side, desk.connects, silent))


def progress_text(begun_at: Progressed, progress: Progressed, took_s: float) -> str:
    """Say how far a digest is, and how fast it reads."""
    read = progress.records - begun_at.records
    speed = f", {read / took_s:,.0f} records/s" if took_s > 0 else ""
    size = bytes_text(progress.size_bytes)
    done = f"{progress.offsets:,} of {counted(progress.of_offsets, 'offset')} read"
    return f"{done}: {counted(progress.records, 'record')}, {size}{speed}"
