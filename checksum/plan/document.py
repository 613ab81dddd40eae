"""A plan as JSON, its id, and how it is read and checked. Pure.

The id is the SHA-256 of the canonical JSON (sorted keys, no blanks, ASCII), so that one changed offset makes
another plan. Every number of a file is checked, and errors name the path of the value in the document.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from checksum.plan.shape import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    SEEDS,
    VERSION,
    Anchored,
    LeftOut,
    OffsetRange,
    PartitionPlan,
    Plan,
    Run,
    TopicPlan,
)
from checksum.report.document_values import Value, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_TOPICS = 100_000
MAX_PARTITIONS = 100_000  # of one topic; partition numbers are smaller
MAX_RUNS = 10_000  # of one partition
MAX_SEGMENTS = 10_000  # of one partition
MAX_LEFT_OUT = 1_000_000
MAX_HEADERS = 1_000
MAX_CELLS = 65_536
MAX_BUCKET_MS = 366 * 86_400_000
MAX_OFFSET = (1 << 63) - 1
MAX_TEXT = 2_000
_NAME = 249  # Kafka's longest topic name


def plan_id(plan: Plan) -> str:
    """Return the id of a plan, 64 hexadecimal digits."""
    return hashlib.sha256(canonical(to_document(plan))).hexdigest()


def canonical(document: object) -> bytes:
    """Return the canonical JSON of a document."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def to_document(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain values."""
    return {
        "version": plan.version,
        "flow": plan.flow,
        "source": plan.source,
        "target": plan.target,
        "made_at_ms": plan.made_at_ms,
        "cells": plan.cells,
        "bucket_ms": plan.bucket_ms,
        "seeds": list(plan.seeds),
        "isolation_source": plan.isolation_source,
        "isolation_target": plan.isolation_target,
        "excluded_headers": list(plan.excluded_headers),
        "topics": [_topic_document(topic) for topic in plan.topics],
        "left_out": [_left_out_entry(one) for one in plan.left_out],
    }


def from_document(document: object, *, file: str) -> Plan:
    """Return the plan in a document that came from `file`; raises ConfigurationError if it is invalid."""
    found = Value(document, file=file)
    version = found["version"].whole(0, 1_000_000)
    if version != VERSION:
        refuse(file, "version", f"unsupported version {version}, this release uses {VERSION}; plan again")
    seeds = tuple(found["seeds"].wholes(len(SEEDS), 0, MAX_OFFSET))
    if seeds != SEEDS:
        refuse(file, "seeds", f"unsupported seeds {list(seeds)}, this release uses {list(SEEDS)}; plan again")
    plan = Plan(
        flow=found["flow"].text(MAX_TEXT),
        source=found["source"].text(_NAME),
        target=found["target"].text(_NAME),
        made_at_ms=found["made_at_ms"].whole(0, MAX_OFFSET),
        cells=found["cells"].whole(1, MAX_CELLS),
        bucket_ms=found["bucket_ms"].whole(1000, MAX_BUCKET_MS),
        isolation_source=found["isolation_source"].one_of(READ_COMMITTED, READ_UNCOMMITTED),
        isolation_target=found["isolation_target"].one_of(READ_COMMITTED, READ_UNCOMMITTED),
        excluded_headers=tuple(one.text(MAX_TEXT) for one in found["excluded_headers"].items(MAX_HEADERS)),
        topics=tuple(_topic(one) for one in found["topics"].items(MAX_TOPICS)),
        left_out=tuple(_left_out(one) for one in found["left_out"].items(MAX_LEFT_OUT)),
    )
    found.nothing_but(*_names(Plan))
    found["topics"].distinct("topic", [topic.topic for topic in plan.topics])
    found["topics"].distinct("topic of the target", [topic.target_topic for topic in plan.topics])
    return plan


def _names(shape: type[Plan | TopicPlan | PartitionPlan]) -> list[str]:
    return [field.name for field in fields(shape)]


def _topic_document(topic: TopicPlan) -> dict[str, Any]:
    return {
        "topic": topic.topic,
        "target_topic": topic.target_topic,
        "source_topic_id": topic.source_topic_id,
        "target_topic_id": topic.target_topic_id,
        "headers": topic.headers,
        "timestamps": topic.timestamps,
        "compacted": topic.compacted,
        "record_bytes": topic.record_bytes,
        "partitions": [
            {
                "partition": one.partition,
                "source": [one.source.first, one.source.until],
                "target": [one.target.first, one.target.until],
                "runs": [[run.first, run.until, run.delta] for run in one.runs],
                "segments": [list(segment) for segment in one.segments],
                "anchored": str(one.anchored),
                # Only if set, so that a plan without them keeps its id.
                **({"recreated": list(one.recreated)} if one.recreated is not None else {}),
                **({"left_behind": one.left_behind} if one.left_behind is not None else {}),
            }
            for one in topic.partitions
        ],
    }


def _left_out_entry(one: LeftOut) -> list[Any]:
    return [one.topic, one.partition, one.records, one.why, one.later]


def _topic(found: Value) -> TopicPlan:
    topic = TopicPlan(
        topic=found["topic"].text(_NAME),
        target_topic=found["target_topic"].text(_NAME),
        source_topic_id=found["source_topic_id"].text_or_none(64),
        target_topic_id=found["target_topic_id"].text_or_none(64),
        headers=found["headers"].flag(),
        timestamps=found["timestamps"].flag(),
        compacted=found["compacted"].flag(),
        record_bytes=found["record_bytes"].whole(0, MAX_OFFSET),
        partitions=tuple(_partition(one) for one in found["partitions"].items(MAX_PARTITIONS)),
    )
    found.nothing_but(*_names(TopicPlan))
    found["partitions"].distinct("partition", [one.partition for one in topic.partitions])
    return topic


def _partition(found: Value) -> PartitionPlan:
    source, target = _range(found["source"]), _range(found["target"])
    if not source.span + target.span:
        found.refuse("has no offsets on either side")
    runs = tuple(Run(*one.wholes(3, -MAX_OFFSET, MAX_OFFSET)) for one in found["runs"].items(MAX_RUNS))
    if not _runs_fit(runs, source, target):
        found["runs"].refuse("must be in order and within both ranges")
    segments = tuple(_pair(one.wholes(2, 0, MAX_OFFSET)) for one in found["segments"].items(MAX_SEGMENTS))
    if not _segments_fit(segments, source, target):
        found["segments"].refuse("must rise within both ranges")
    found.nothing_but(*_names(PartitionPlan))
    return PartitionPlan(
        partition=found["partition"].whole(0, MAX_PARTITIONS - 1),
        source=source,
        target=target,
        runs=runs,
        segments=segments,
        anchored=Anchored(found["anchored"].one_of(*Anchored)),
        recreated=_recreated(found, source, target),
        left_behind=found["left_behind"].whole(source.first, source.until)
        if found.has("left_behind")
        else None,
    )


def _recreated(found: Value, source: OffsetRange, target: OffsetRange) -> tuple[int, int] | None:
    if not found.has("recreated"):
        return None
    upstream, downstream = _pair(found["recreated"].wholes(2, 0, MAX_OFFSET))
    if not (source.first <= upstream <= source.until and downstream <= target.first):
        found["recreated"].refuse("must lie where both ranges start")
    return upstream, downstream


def _range(found: Value) -> OffsetRange:
    first, until = found.wholes(2, 0, MAX_OFFSET)
    if first > until:
        found.refuse(f"invalid range [{first}, {until}): it ends before it starts")
    return OffsetRange(first, until)


def _pair(numbers: Sequence[int]) -> tuple[int, int]:
    first, second = numbers
    return first, second


def _runs_fit(runs: Sequence[Run], source: OffsetRange, target: OffsetRange) -> bool:
    at, there = source.first, target.first
    for run in runs:
        if not at <= run.first < run.until <= source.until:
            return False
        if not there <= run.first + run.delta < run.until + run.delta <= target.until:
            return False
        at, there = run.until, run.until + run.delta
    return True


def _segments_fit(segments: Sequence[tuple[int, int]], source: OffsetRange, target: OffsetRange) -> bool:
    at, there = source.first - 1, target.first - 1
    for upstream, downstream in segments:
        if not (at < upstream < source.until and there < downstream < target.until):
            return False
        at, there = upstream, downstream
    return True


def _left_out(found: Value) -> LeftOut:
    topic, partition, records, why, later = found.items(5, least=5)
    return LeftOut(
        topic.text(_NAME),
        None if partition.is_none else partition.whole(0, MAX_PARTITIONS - 1),
        records.whole(0, MAX_OFFSET),
        why.text(MAX_TEXT),
        later.flag(),
    )
