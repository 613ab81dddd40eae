"""Counts stand in a document by bucket, in few enough rows, and none of their records goes missing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from checksum.compare.retention import Unverified
from checksum.counts import buckets as count_drawing
from checksum.counts.buckets import BucketRow, rows_document, rows_of_cells
from checksum.digest.cell_rows import Side
from checksum.digest.record_hash import Content
from checksum.plan.shape import OffsetRange
from tests.checksum.pretend_logs import Held, Partition, digest, plan_of

BUCKET_MS = 10


def logs():
    held = [Held(offset, Content(None, b"%d" % offset, 10 * (offset // 4), ())) for offset in range(20)]
    return {"orders": [Partition(held, held[:-1])]}


def result(*unverified):
    return SimpleNamespace(
        partitions=[SimpleNamespace(topic="orders", partition=0, unverified=tuple(unverified))]
    )


@pytest.mark.parametrize(
    ("first", "until", "buckets"), [(0, 1, {0}), (3, 5, {0, 1}), (4, 8, {1}), (19, 20, {4}), (20, 30, set())]
)
def test_a_bucket_is_not_verified_where_it_holds_an_offset_that_was_not(first, until, buckets):
    topics = logs()
    plan = plan_of(topics, bucket_ms=BUCKET_MS)
    cells = {side: digest(topics, plan, side).values() for side in Side}
    gone = Unverified("orders", 0, OffsetRange(first, until), "why")
    found = rows_of_cells(plan, cells, result(gone))
    assert {one.bucket for one in found if one.unverified} == buckets
    assert sorted((one.bucket, one.source_records, one.target_records) for one in found) == [
        (0, 4, 4), (1, 4, 4), (2, 4, 4), (3, 4, 4), (4, 4, 3),
    ]  # fmt: skip


def test_offsets_that_were_not_verified_are_the_source_s():
    held = [Held(offset, Content(None, b"", 10 * offset, ())) for offset in range(3)]
    topics = {"orders": [Partition(held, [one._replace(offset=one.offset + 10) for one in held])]}
    plan = plan_of(topics, bucket_ms=BUCKET_MS)
    cells = {side: digest(topics, plan, side).values() for side in Side}
    gone = Unverified("orders", 0, OffsetRange(10, 13), "why")
    assert not any(one.unverified for one in rows_of_cells(plan, cells, result(gone)))


def test_buckets_that_are_no_times_are_not_drawn():
    topics = logs()
    plan = plan_of(topics, bucket_ms=BUCKET_MS, timestamps=False)
    cells = {side: digest(topics, plan, side).values() for side in Side}
    assert rows_of_cells(plan, cells, result()) == []


def test_many_buckets_are_joined_until_there_are_few_enough(monkeypatch):
    monkeypatch.setattr(count_drawing, "MOST_ROWS", 10)
    rows = [
        BucketRow("orders", part, bucket, 2, 1, bucket == 33) for part in range(2) for bucket in range(36)
    ]
    found = rows_document(rows, bucket_ms=1000)
    assert found["bucket_ms"] == 8000
    assert found["count"] == len(found["shown"]) == 10
    assert sum(one["source_records"] for one in found["shown"]) == 144
    assert sum(one["target_records"] for one in found["shown"]) == 72
    assert [one["bucket_at"] for one in found["shown"] if one.get("unverified")] == [
        "1970-01-01T00:00:32.000Z"
    ] * 2


def test_of_too_many_partitions_those_stay_that_differ(monkeypatch):
    monkeypatch.setattr(count_drawing, "MOST_ROWS", 3)
    rows = [BucketRow("orders", part, 0, 5, 4 if part in (7, 11) else 5) for part in range(20)]
    found = rows_document(rows, bucket_ms=1000)
    assert found["count"] == 20
    assert [one["partition"] for one in found["shown"]] == [0, 7, 11]
