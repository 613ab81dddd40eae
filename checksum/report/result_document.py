"""A result as plain values, for `--json` and for other programs. Pure.

Offsets are lists [first, until); times are ISO 8601 in UTC with milliseconds; hashes are signed decimal
strings, as in Spark. Long lists are cut, and have their full count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checksum.compare.finding_text import finding_text, open_block_text, time_text
from checksum.compare.findings import RecordVerdict, cause_of, worst_first
from checksum.plan.building import bytes_to_read
from checksum.plan.document import plan_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from checksum.compare.findings import Finding, ReadAgain
    from checksum.compare.verdicts import Audit, PartitionResult, Result
    from checksum.history.entries import Place, VerifiedTo
    from checksum.plan.shape import LeftOut, OffsetRange, Plan

VERSION = 1
MOST_FINDINGS = 10_000
MOST_PARTITIONS = 100_000
MOST_LEFT_OUT = 10_000
MOST_TOPICS = 10_000


def run_document(
    audit: Audit,
    verified: Mapping[Place, VerifiedTo] | None = None,
    *,
    nothing_new: Sequence[str] = (),
    whole: bool = False,
) -> dict[str, Any]:
    """Return one flow's result; `verified` are the stored positions, where the next run starts.

    `nothing_new` are requested topics without new records. `whole`: all topics of the flow were requested.
    """
    plan, found = audit.plan, audit.result
    marks = verified or {}
    return {
        **plan_document(plan),
        "status": found.status,
        "coverage": found.coverage,
        "not_due": found.not_due,
        "records": records_by_verdict(found),
        "source_records": sum(one.source_records for one in found.partitions),
        "target_records": sum(one.target_records for one in found.partitions),
        "findings": _some(
            [_finding(one, plan) for one in worst_first(found.findings)[:MOST_FINDINGS]], found.findings
        ),
        "expected": _some([_finding(one, plan) for one in found.expected[:MOST_FINDINGS]], found.expected),
        "not_read_again": _some(
            [_block(one, plan) for one in found.open_blocks[:MOST_FINDINGS]], found.open_blocks
        ),
        "unsettled": _some([_finding(one, plan) for one in found.unsettled[:MOST_FINDINGS]], found.unsettled),
        "partitions": _some(
            [
                _partition(one, marks.get((one.topic, one.partition)))
                for one in found.partitions[:MOST_PARTITIONS]
            ],
            found.partitions,
        ),
        "nothing_new": list(nothing_new[:MOST_TOPICS]),
        "whole": whole,
    }


def of_run(
    found: dict[str, Any], *, run: str, begun_ms: int, ended_ms: int, who: str, counts_only: bool
) -> dict[str, Any]:
    """Return a result with the run's own id, times and process, as it is stored and reported."""
    return {
        "version": VERSION,
        "run": run,
        "begun_at": time_text(begun_ms),
        "ended_at": time_text(ended_ms),
        "who": who,
        "counts_only": counts_only,
        **found,
    }


def plan_document(plan: Plan) -> dict[str, Any]:
    """Return a summary of a plan, without its ranges, which are in the plan's own file.

    What is not due yet comes last, so that it is cut first.
    """
    source, target = bytes_to_read(plan)
    partitions = [one for topic in plan.topics for one in topic.partitions]
    left_out = sorted(plan.left_out, key=lambda one: one.later)[:MOST_LEFT_OUT]
    return {
        "flow": plan.flow,
        "plan": plan_id(plan),
        "planned_at": time_text(plan.made_at_ms),
        "topics": len(plan.topics),
        "offsets": {
            "source": sum(one.source.span for one in partitions),
            "target": sum(one.target.span for one in partitions),
        },
        "bytes": {"source": source, "target": target},
        "left_out": _some([_left_out(one) for one in left_out], plan.left_out),
    }


def records_by_verdict(found: Result) -> dict[str, int]:
    """Return how many records have each verdict, with zeros."""
    return {
        verdict.value: sum(one.records.get(verdict, 0) for one in found.partitions)
        for verdict in RecordVerdict
    }


def _some(shown: list[dict[str, Any]], of: Sequence[object]) -> dict[str, Any]:
    return {"count": len(of), "shown": shown}


def _finding(one: Finding, plan: Plan) -> dict[str, Any]:
    return {
        "verdict": one.verdict.value,
        "cause": cause_of(one).value,
        "sentence": finding_text(one, plan),
        "topic": one.topic,
        "partition": one.partition,
        "records": one.records,
        "at": None if one.timestamp_ms is None else time_text(one.timestamp_ms),
        "target_at": None if one.target_timestamp_ms is None else time_text(one.target_timestamp_ms),
        "source_offsets": _offsets(one.source),
        "target_offsets": _offsets(one.target),
        "found_in": list(one.found_in) if one.found_in else None,
        "altered": list(one.what),
        "aborted": one.aborted,
        "tombstone": one.tombstone,
        "proof": one.proof.value,
        "hash": str(one.hash),
        "target_hash": None if one.target_hash is None else str(one.target_hash),
    }


def _block(one: ReadAgain, plan: Plan) -> dict[str, Any]:
    return {
        "topic": one.topic,
        "partition": one.partition,
        "source_offsets": _offsets(one.source),
        "target_offsets": _offsets(one.target),
        "lacking": one.lacking,
        "surplus": one.surplus,
        "certain": one.certain,
        "sentence": open_block_text(one, plan),
    }


def _partition(one: PartitionResult, mark: VerifiedTo | None) -> dict[str, Any]:
    return {
        "topic": one.topic,
        "partition": one.partition,
        "source_records": one.source_records,
        "target_records": one.target_records,
        "offsets": one.offsets,
        "verified": one.verified,
        "records": {verdict.value: count for verdict, count in sorted(one.records.items()) if count},
        "unverified": [{"offsets": _offsets(gone.source), "why": gone.why} for gone in one.unverified],
        "verified_to": None if mark is None else {"source": mark.source_offset, "target": mark.target_offset},
        "held": 0 if mark is None else mark.held,
    }


def _left_out(one: LeftOut) -> dict[str, Any]:
    return {
        "topic": one.topic,
        "partition": one.partition,
        "records": one.records,
        "why": one.why,
        "later": one.later,
    }


def _offsets(held: OffsetRange | None) -> list[int] | None:
    return None if held is None else [held.first, held.until]
