"""Documents of runs for tests of their page, as large and as nasty as asked for."""

from __future__ import annotations

import random

from checksum.compare.finding_text import time_text

BUCKET_MS = 900_000
BEGIN_MS = 1_763_000_000_000 // BUCKET_MS * BUCKET_MS


def at(bucket, ms=0):
    return time_text(BEGIN_MS + bucket * BUCKET_MS + ms)


def some(entries, count=None):
    return {"count": len(entries) if count is None else count, "shown": entries}


def finding(topic="orders", partition=3, bucket=50, offset=50_000, verdict="lost", **more):
    return {
        "verdict": verdict,
        "cause": "filtered",
        "sentence": f"{topic} [{partition}]: record at offset {offset} on A is not on B",
        "topic": topic,
        "partition": partition,
        "records": 1,
        "at": at(bucket, 1000),
        "target_at": None,
        "source_offsets": [offset, offset + 1],
        "target_offsets": None,
    } | more


def bucket(topic, partition, number, source=1000, target=None, **more):
    return {
        "topic": topic,
        "partition": partition,
        "bucket_at": at(number),
        "source_records": source,
        "target_records": source if target is None else target,
    } | more


def part(topic, partition, records=100_000, **more):
    return {
        "topic": topic,
        "partition": partition,
        "source_records": records,
        "target_records": records,
        "offsets": records,
        "verified": records,
        "records": {"match": records},
        "unverified": [],
    } | more


def left_out(topic, partition, records, why, *, later=False):
    return {"topic": topic, "partition": partition, "records": records, "why": why, "later": later}


def document(*, topics=("orders", "audit", "clicks"), partitions=4, buckets=24, **more):
    """Return a run in which all is well, but for what `more` says."""
    counted = [
        bucket(topic, number, place, 500 + random.Random(f"{topic}{number}{place}").randrange(1000))
        for topic in topics
        for number in range(partitions)
        for place in range(buckets)
    ]
    held = [part(topic, number) for topic in topics for number in range(partitions)]
    records = sum(one["source_records"] for one in held)
    return {
        "version": 1,
        "run": "77aa" * 8,
        "flow": "A->B",
        "plan": "ab12" * 16,
        "planned_at": at(buckets),
        "begun_at": at(buckets),
        "ended_at": at(buckets, 90_000),
        "who": "night, process 7",
        "status": 0,
        "coverage": 1.0,
        "topics": len(topics),
        "records": {"match": records, "lost": 0, "duplicated": 0},
        "source_records": records,
        "target_records": records,
        "findings": some([]),
        "expected": some([]),
        "not_read_again": some([]),
        "partitions": some(held),
        "left_out": some([]),
        "counts": {**some(counted), "bucket_ms": BUCKET_MS, "tells_unverified": True},
    } | more


def with_everything():
    """Return a run with one of each: a loss, second copies, what was not verified and what was left out."""
    found = document()
    gone = {"offsets": [0, 3000], "why": "retention deleted records during the comparison"}
    found["partitions"]["shown"][3] |= {"records": {"match": 99_999, "lost": 1}}
    found["partitions"]["shown"][7] |= {"verified": 97_000, "unverified": [gone]}
    for one in found["counts"]["shown"]:
        if (one["topic"], one["partition"]) == ("audit", 3) and one["bucket_at"] < at(6):
            one["unverified"] = True
    return found | {
        "status": 1,
        "coverage": 0.9975,
        "not_due": 12,
        "records": {"match": 1_196_999, "lost": 1, "duplicated": 9},
        "findings": some([finding(bucket=12)]),
        "expected": some([finding("clicks", 1, 18, verdict="duplicated", records=9, cause="unexplained")]),
        "left_out": some(
            [
                left_out("orders", 2, 1200, "retention deleted them before they were compared"),
                left_out("gone", None, 5000, "B has no such topic"),
                left_out("clicks", 0, 12, "not due yet", later=True),
            ]
        ),
    }
