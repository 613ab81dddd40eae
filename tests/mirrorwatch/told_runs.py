"""Documents of finished runs, written by what writes them in a run, for the tests of the service."""

from __future__ import annotations

from checksum.compare.finding_text import time_text
from checksum.compare.findings import Finding, Proof, ReadAgain, RecordVerdict
from checksum.compare.retention import Unverified
from checksum.compare.verdicts import Audit, PartitionResult, Result
from checksum.plan.shape import LeftOut, OffsetRange, PartitionPlan, Plan, TopicPlan
from checksum.report.result_document import of_run, run_document

ENDED_AT = 1_790_000_000.0
LOST = RecordVerdict.LOST


def finding(verdict=LOST, *, topic="orders", partition=0, offset=41, number=7, records=1, **more):
    source = None if verdict is RecordVerdict.EXTRA else OffsetRange(offset, offset + 1)
    target = None if verdict is LOST else OffsetRange(offset, offset + 1)
    said = {"timestamp_ms": 1_789_990_000_000, "source": source, "target": target, "proof": Proof.READING}
    return Finding(verdict, topic, partition, records, number, **(said | more))


def block(*, lacking=0, surplus=0, certain=True, topic="orders"):
    offsets = OffsetRange(0, 100)
    return ReadAgain(
        topic, 0, offsets, offsets, "too many", certain=certain, lacking=lacking, surplus=surplus
    )


def partition(topic="orders", number=0, *, offsets=100, hidden=0, **records):
    counts = {RecordVerdict(name): count for name, count in records.items()}
    counts.setdefault(RecordVerdict.MATCH, offsets - hidden - sum(counts.values()))
    gone = (Unverified(topic, number, OffsetRange(0, hidden), "retention took it"),) if hidden else ()
    return PartitionResult(topic, number, counts, offsets, offsets, offsets, offsets - hidden, gone)


def audit(partitions, *, findings, expected, blocks, left_out, made_at_ms, unsettled=()):
    topics = {one.topic: [] for one in partitions}
    for one in partitions:
        span = OffsetRange(0, one.offsets)
        topics[one.topic].append(PartitionPlan(one.partition, span, span, (), (), "offset syncs"))
    plan = Plan(
        flow="A->B",
        source="A",
        target="B",
        made_at_ms=made_at_ms,
        cells=16,
        bucket_ms=900_000,
        isolation_source="read_uncommitted",
        isolation_target="read_uncommitted",
        excluded_headers=(),
        topics=tuple(
            TopicPlan(name, f"A.{name}", None, None, False, True, False, tuple(parts))
            for name, parts in sorted(topics.items())
        ),
        left_out=tuple(left_out),
    )
    gone = tuple(one for one in left_out if not one.later)
    open_blocks = tuple(blocks)
    result = Result(
        tuple(findings), tuple(expected), tuple(unsettled), open_blocks, open_blocks, tuple(partitions), gone
    )
    return Audit(plan, result)


def run(
    name="r1",
    *,
    partitions=None,
    findings=(),
    expected=(),
    unsettled=(),
    blocks=(),
    left_out=(),
    ended_at=ENDED_AT,
    took_s=600.0,
    planned_at=None,
    nothing_new=(),
    **more,
):
    """A run's document; `planned_at` makes another plan of the same records."""
    parts = (partition(),) if partitions is None else partitions
    made_at = ended_at - took_s if planned_at is None else planned_at
    made = audit(
        parts,
        findings=findings,
        expected=expected,
        unsettled=unsettled,
        blocks=blocks,
        left_out=left_out,
        made_at_ms=round(made_at * 1000),
    )
    found = run_document(made, nothing_new=nothing_new)
    begun_ms, ended_ms = round((ended_at - took_s) * 1000), round(ended_at * 1000)
    document = of_run(found, run=name, begun_ms=begun_ms, ended_ms=ended_ms, who="host-1", counts_only=False)
    return document | more


def left(topic="orders", number=None, *, records=50, later=False, why="before the oldest offset sync"):
    return LeftOut(topic, number, records, why, later)


def counted(name="c1", *, ended_at=ENDED_AT):
    """The document of a pass over counts alone."""
    return {
        "version": 1,
        "run": name,
        "flow": "A->B",
        "plan": "5ca1ab1e",
        "begun_at": time_text(round((ended_at - 5) * 1000)),
        "ended_at": time_text(round(ended_at * 1000)),
        "who": "host-1",
        "counts_only": True,
        "status": 0,
        "coverage": None,
        "source_records": 10,
        "target_records": 10,
        "findings": {"count": 0, "shown": []},
        "partitions": {"count": 0, "shown": []},
        "left_out": {"count": 0, "shown": []},
    }
