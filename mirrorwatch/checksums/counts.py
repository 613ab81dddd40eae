"""`mirrorwatch checksum run --counts-only`: compare how many records both sides have in each time bucket."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from checksum.counts.counting import Counts, compare_counts, confirmed, differing_only
from checksum.counts.document import NOTHING_ELSE, counts_document, difference_text
from checksum.digest.cell_rows import Side, planned_partitions
from checksum.inventory.connections import both_sides
from checksum.plan.document import plan_id
from checksum.recheck.recheck import log_starts
from checksum.run import check_topics
from mirrorwatch.audits.earlier_runs import repeat_finding
from mirrorwatch.check.sheet import FIRST
from mirrorwatch.checksums.flows import every_flow
from mirrorwatch.checksums.plan import print_failure, print_plan
from mirrorwatch.checksums.results.result import NOT_TAKEN_BACK, print_rest
from mirrorwatch.checksums.session import BAD_CONFIGURATION, FINDING, INCOMPLETE, OK, UNAVAILABLE
from mirrorwatch.web.texts import counted
from runtime.process.loop import run_to_end

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from checksum.compare.retention import LogStarts
    from checksum.counts.counting import BucketCount, CountProgress, PartitionCounts
    from checksum.plan.shape import Plan
    from checksum.run import EmptyRange
    from fleet.verdicts.flow import Flow
    from mirrorwatch.checksums.pace import StageTasks
    from mirrorwatch.checksums.plan import Planned
    from mirrorwatch.checksums.progress import Reading
    from mirrorwatch.checksums.session import Chosen, Session
    from mirrorwatch.checksums.state import State


class Counting(Protocol):
    """Counts sides of plans, on Spark."""

    def count(self, plan: Plan, side: Side) -> Iterator[CountProgress]:
        """Count one side; yield the progress and the rows after each slice."""
        ...


class Spark(Protocol):
    """The part of `mirrorwatch.checksums.spark.Spark` that a count needs."""

    def digests(self) -> Counting:
        """Start Spark if needed, and return what counts."""
        ...

    def stages(self) -> Sequence[StageTasks]:
        """Return Spark's active stages. Thread-safe."""
        ...

    def keep_log(self) -> None:
        """Keep Spark's log, if it is not empty, and print its path."""
        ...


def count_all(session: Session, chosen: Chosen, *, spark: Spark, json_file: Path | None) -> int:
    """Count the chosen flows, print where counts differ, and return the exit status."""
    work = partial(_run, session, spark)
    return every_flow(
        session,
        chosen,
        work,
        conclude=_conclude,
        json_file=json_file,
        keep_log=spark.keep_log,
        counts_only=True,
    )


def _run(
    session: Session, spark: Spark, one: Planned, state: State
) -> tuple[dict[str, Any], Exception | None]:
    """Count one flow; return its document, and the store's error or None."""
    plan, run = one.plan, one.run
    if plan is None or run is None:
        return print_failure(session, one.flow, one.failure), None
    print_plan(session, plan, nothing_new=one.nothing_new)
    run.planned(plan_id(plan))
    last = state.last_finding(one.flow) if not plan.topics else None
    counts = count_flow(session, one.flow, plan, spark)
    document = run.document(counts_document(counts))
    failure = run.finish(document, {}, counts.counted)
    print_counts(session, counts)
    if last is not None:
        repeat_finding(session, last)
    return document, failure


def _conclude(session: Session, status: int, *, compared: bool) -> None:
    words = f"{_LAST_WORDS[status]} {NOTHING_ELSE}"
    nothing = f"No new records: nothing counted. {NOT_TAKEN_BACK}"
    session.sheet.heading("Result")
    session.sheet.say(words if compared or status != OK else nothing)


def count_flow(session: Session, flow: Flow, plan: Plan, spark: Spark) -> Counts:
    """Count both sides of a plan, then again where counts differ, and keep what both counts agree on.

    Raises UnavailableError if a cluster or Spark does not answer or a topic was re-created meanwhile, and
    RefusedError if a permission is missing.
    """
    first = _look(session, flow, plan, spark)
    if not first.differences:
        return first
    session.sheet.say("Counts differ: counting these partitions again.")
    return confirmed(first, _look(session, flow, differing_only(plan, first), spark))


def _look(session: Session, flow: Flow, plan: Plan, spark: Spark) -> Counts:
    rows: dict[Side, list[BucketCount]] = {side: [] for side in Side}
    if plan.topics:
        for side in Side:
            run_to_end(check_topics(plan, side, session.connects))
        with session.shown.reading(plan, tuple(Side), spark.stages) as shown:
            for side in Side:
                rows[side] = _counted(session, plan, side, spark, shown)
    return compare_counts(
        plan,
        rows[Side.SOURCE],
        rows[Side.TARGET],
        starts=run_to_end(_starts(session, flow, plan)) if plan.topics else {},
        exactly_once=flow.exactly_once,
    )


def _counted(session: Session, plan: Plan, side: Side, spark: Spark, shown: Reading) -> list[BucketCount]:
    rows: list[BucketCount] = []
    empty_ranges: tuple[EmptyRange, ...] = ()
    for progress in spark.digests().count(plan, side):
        rows += progress.rows
        empty_ranges += progress.empty_ranges
        shown.at(side, progress)
    run_to_end(check_topics(plan, side, session.connects, empty_ranges))
    return rows


async def _starts(session: Session, flow: Flow, plan: Plan) -> dict[tuple[str, int], LogStarts]:
    async with both_sides(flow, session.connects) as sides:
        return await asyncio.to_thread(log_starts, plan, sides.readers)


_LAST_WORDS = {
    OK: "OK: both sides have the same number of records in each time bucket.",
    FINDING: "FAILED: record counts differ; see above.",
    INCOMPLETE: "Incomplete: no records missing in what could be compared; see above for the rest.",
    UNAVAILABLE: "FAILED: something was not available; see the reason above.",
    BAD_CONFIGURATION: "FAILED: invalid configuration or input; see the reason above.",
}


def _is_well(topic: tuple[str, list[PartitionCounts]]) -> bool:
    """Return whether no bucket of a topic differs; topics with differences are printed first."""
    return not any(one.differing for one in topic[1])


def print_counts(session: Session, counts: Counts) -> None:
    """Print how many records both sides of a flow have, and where these counts differ."""
    plan, planned = counts.plan, planned_partitions(counts.plan)
    sheet = session.sheet
    sheet.heading(f"{plan.flow}: {_summary(counts)}")
    topics: dict[str, list[PartitionCounts]] = {}
    for one in counts.partitions:
        topics.setdefault(one.topic, []).append(one)
    rows = [
        [
            topic,
            f"{len(parts):,}",
            f"{sum(one.source_records for one in parts):,}",
            f"{sum(one.target_records for one in parts):,}",
            f"{sum(one.buckets for one in parts):,}",
            f"{sum(one.differing for one in parts):,}",
        ]
        for topic, parts in sorted(topics.items(), key=_is_well)
    ]
    if rows:
        columns = ["topic", "partitions", plan.source, plan.target, "buckets", "differing"]
        sheet.figures(columns, rows[:FIRST])
        print_rest(session, rows)
    if counts.differences:
        sheet.heading(f"Counts that differ ({len(counts.differences):,})")
        for differing in counts.differences[:FIRST]:
            where = planned[differing.topic, differing.partition]
            sheet.say(difference_text(differing, plan, where), hang=4)
        print_rest(session, counts.differences)
    spoiled = [one for one in counts.partitions if one.not_compared]
    if spoiled or counts.left_out:
        sheet.heading("Not compared")
        for part in spoiled[:FIRST]:
            sheet.say(f"{part.topic} [{part.partition}]: {part.not_compared}", hang=4)
        print_rest(session, spoiled)
        for left in counts.left_out[:FIRST]:
            at = left.topic if left.partition is None else f"{left.topic} [{left.partition}]"
            sheet.say(f"{at}: {counted(left.records, 'record')}: {left.why}", hang=4)
        print_rest(session, counts.left_out)


def _summary(counts: Counts) -> str:
    if not counts.partitions:
        return "no new records to count" if not counts.left_out else "nothing could be counted"
    records = counted(sum(one.source_records for one in counts.partitions), "record")
    if not counts.differences:
        return f"no difference in the counts of {records}"
    buckets = counted(len(counts.differences), "bucket")
    return f"counts differ in {buckets}; {records} counted"
