"""Counts of both sides become differences only where numbers prove one, and nothing is ever verified."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum.compare.retention import LogStarts
from checksum.counts.counting import (
    BucketCount,
    BucketDifference,
    Difference,
    added_rows,
    compare_counts,
    confirmed,
    differing_only,
)
from checksum.counts.document import counts_document, difference_text, produced_and_mirrored
from checksum.digest.cell_rows import planned_partitions
from checksum.digest.record_hash import Content
from checksum.history.entries import Counted
from checksum.plan.shape import LeftOut
from tests.checksum.pretend_logs import Held, Partition, plan_of

BUCKET_MS = 60_000


def log(*offsets):
    return [Held(offset, Content(None, b"", 0, ())) for offset in offsets]


def plan(*, timestamps=True, compacted=False, partitions=2, left_out=()):
    held = [Partition(log(0, 999), log(0, 999), [(0, 0), (400, 300), (900, 800)])] * partitions
    found = plan_of({"orders": held}, bucket_ms=BUCKET_MS, timestamps=timestamps)
    topics = tuple(replace(topic, compacted=compacted, source_topic_id="X") for topic in found.topics)
    return replace(found, topics=topics, left_out=tuple(left_out))


def row(records, *, partition=0, bucket=100, first=0, last=999):
    return BucketCount("orders", partition, bucket, records, first, last)


def compared(source, target, *, of=None, exactly_once=False, starts=None):
    return compare_counts(of or plan(), source, target, starts=starts or {}, exactly_once=exactly_once)


@pytest.mark.parametrize(
    ("source", "target", "exactly_once", "status", "how"),
    [
        ([row(5)], [row(5)], False, 0, []),
        ([], [], False, 0, []),
        ([row(5)], [row(4)], False, 1, ["lacking"]),
        ([row(5)], [], False, 1, ["lacking"]),
        # What is too much may be second copies: no difference under at-least-once, and nothing fine either.
        ([row(5)], [row(6)], False, 3, ["surplus"]),
        ([row(5)], [row(6)], True, 1, ["surplus"]),
        ([], [row(1)], True, 1, ["surplus"]),
        # Equal sums hide nothing: each bucket and each partition by itself.
        ([row(5), row(5, bucket=101)], [row(4), row(6, bucket=101)], False, 1, ["lacking", "surplus"]),
        ([row(5), row(5, partition=1)], [row(6), row(4, partition=1)], False, 1, ["surplus", "lacking"]),
    ],
)
def test_how_counts_are_judged(source, target, exactly_once, status, how):
    found = compared(source, target, exactly_once=exactly_once)
    assert found.status == status
    assert [one.how for one in found.differences] == how


def test_slices_of_one_bucket_add_up():
    found = compared([row(2, last=3), row(3, first=4)], [row(5)])
    assert found.status == 0
    assert added_rows([row(2, first=1, last=3), row(3, first=4, last=9)]) == {
        ("orders", 0, 100): row(5, first=1, last=9)
    }


def test_what_the_plan_left_out_makes_it_incomplete_unless_a_later_run_reaches_it():
    gone = LeftOut("orders", 0, 10, "retention took them")
    assert compared([row(1)], [row(1)], of=plan(left_out=[gone])).status == 3
    assert compared([row(1)], [row(1)], of=plan(left_out=[replace(gone, later=True)])).status == 0
    assert compared([row(2)], [row(1)], of=plan(left_out=[gone])).status == 1


@pytest.mark.parametrize("starts", [LogStarts(1, 0), LogStarts(0, 1)])
def test_what_retention_took_meanwhile_is_no_difference(starts):
    found = compared(
        [row(5), row(5, partition=1)], [row(4), row(4, partition=1)], starts={("orders", 0): starts}
    )
    assert [one.partition for one in found.differences] == [1]
    first, second = found.partitions
    assert (first.differing, second.differing, second.not_compared) == (1, 1, "")
    assert "retention deleted records during the count" in first.not_compared
    assert f"the log now starts at {starts.source} on A and at {starts.target} on B" in first.not_compared
    alone = compared([row(5)], [row(4)], starts={("orders", 0): starts})
    assert (alone.status, alone.differences) == (3, ())
    # What is equal in spite of it is equal.
    assert compared([row(5)], [row(5)], starts={("orders", 0): starts}).status == 0


def test_counts_of_a_compacted_topic_mean_nothing_and_are_not_kept():
    found = compared([row(5)], [row(3)], of=plan(compacted=True))
    assert (found.status, found.differences, found.counted) == (3, (), ())
    assert "compacted" in found.partitions[0].not_compared


def test_counts_are_kept_by_time_and_from_where_they_begin():
    found = compared([row(5)], [row(4)])
    assert found.counted == (Counted("orders", 0, 100 * BUCKET_MS, 5, 4, 0, "X"),)
    # Segments of a log whose target stamps records itself are no times.
    assert compared([row(5)], [row(4)], of=plan(timestamps=False)).counted == ()


def test_a_difference_stands_only_where_two_looks_see_the_same():
    first = compared([row(5), row(5, partition=1)], [row(4), row(4, partition=1)])
    again = differing_only(first.plan, first)
    assert [one.partition for topic in again.topics for one in topic.partitions] == [0, 1]
    second = compared([row(5), row(5, partition=1)], [row(4), row(5, partition=1)], of=again)
    found = confirmed(first, second)
    assert [one.partition for one in found.differences] == [0]
    assert [one.not_compared for one in found.partitions] == [
        "",
        "the first and the second count differ",
    ]
    assert found.status == 1
    fewer = compared([row(5), row(5, partition=1)], [row(3), row(4, partition=1)], of=again)
    assert [one.partition for one in confirmed(first, fewer).differences] == [1]
    nothing = confirmed(first, compared([], [], of=again))
    assert (nothing.status, nothing.differences) == (3, ())


def test_only_what_differs_is_looked_at_again():
    first = compared([row(5), row(5, partition=1)], [row(5), row(4, partition=1)])
    again = differing_only(first.plan, first)
    assert [one.partition for topic in again.topics for one in topic.partitions] == [1]
    same = compared([row(5)], [row(5)])
    assert differing_only(same.plan, same).topics == ()


counts = st.dictionaries(
    st.tuples(st.integers(0, 1), st.integers(95, 105)), st.integers(1, 50), max_size=12
).map(lambda held: [row(count, partition=place, bucket=bucket) for (place, bucket), count in held.items()])


@given(counts, counts, st.booleans())
def test_every_record_is_counted_once_and_each_difference_has_its_numbers(source, target, exactly_once):
    found = compared(source, target, exactly_once=exactly_once)
    assert sum(one.source_records for one in found.partitions) == sum(one.records for one in source)
    assert sum(one.target_records for one in found.partitions) == sum(one.records for one in target)
    assert sum(one.source_records - one.target_records for one in found.differences) == sum(
        one.records for one in source
    ) - sum(one.records for one in target)
    assert (found.status == 0) == (added_numbers(source) == added_numbers(target))
    assert counts_document(found)["coverage"] is None


def added_numbers(rows):
    return {(one.partition, one.bucket): one.records for one in rows}


def test_a_difference_is_a_sentence_with_both_numbers_and_the_time():
    one = compared([row(1200)], [row(1199)])
    (differing,) = one.differences
    where = planned_partitions(one.plan)["orders", 0]
    assert difference_text(differing, one.plan, where) == (
        "orders [0]: 1 record missing on B from 1970-01-01T01:40:00.000Z to 1970-01-01T01:41:00.000Z: 1,200 on A,"
        " 1,199 on B"
    )
    none = BucketDifference("orders", 0, 100, 12_345, 0)
    assert difference_text(none, one.plan, where).endswith("12,345 on A, 0 on B")
    more = BucketDifference("orders", 0, 100, 1, 3)
    assert difference_text(more, one.plan, where).endswith("1 on A, 3 on B; duplicates or foreign records")


@pytest.mark.parametrize(("segment", "offsets"), [(0, [0, 400]), (1, [400, 900]), (2, [900, 1000])])
def test_without_times_a_difference_is_told_by_the_source_s_offsets(segment, offsets):
    found = compared([row(5, bucket=segment)], [row(4, bucket=segment)], of=plan(timestamps=False))
    (told,) = counts_document(found)["findings"]["shown"]
    assert (told["at"], told["until"], told["source_offsets"]) == (None, None, offsets)
    assert f"at source offsets {offsets[0]} to {offsets[1] - 1}" in told["sentence"]


def test_the_document_holds_numbers_for_each_partition_and_bucket():
    found = counts_document(compared([row(5), row(7, partition=1)], [row(4), row(7, partition=1)]))
    assert (found["status"], found["counts_only"]) == (1, True)
    assert (found["source_records"], found["target_records"]) == (12, 11)
    assert found["findings"]["count"] == 1
    assert [
        (one["partition"], one["bucket_at"], one["source_records"], one["target_records"])
        for one in found["counts"]["shown"]
    ] == [(0, "1970-01-01T01:40:00.000Z", 5, 4), (1, "1970-01-01T01:40:00.000Z", 7, 7)]


def test_produced_against_mirrored_minute_by_minute():
    rows = [
        Counted("orders", 1, 60_000, 5, 4),
        Counted("orders", 0, 60_000, 10, 10),
        # Counted by two runs, each a part of the bucket.
        Counted("orders", 0, 120_000, 3, 3, since_offset=0),
        Counted("orders", 0, 120_000, 4, 5, since_offset=17),
    ]
    buckets, count = produced_and_mirrored(rows, limit=10)
    assert count == 2
    assert buckets == [
        {
            "at": "1970-01-01T00:01:00.000Z",
            "source_records": 15,
            "target_records": 14,
            "differing": [{"partition": 1, "source_records": 5, "target_records": 4}],
        },
        {
            "at": "1970-01-01T00:02:00.000Z",
            "source_records": 7,
            "target_records": 8,
            "differing": [{"partition": 0, "source_records": 7, "target_records": 8}],
        },
    ]
    assert produced_and_mirrored(rows, offset=1, limit=10) == (buckets[1:], 2)
    assert produced_and_mirrored(rows, limit=1) == (buckets[:1], 2)


def test_lacking_and_surplus_are_told_apart():
    assert BucketDifference("t", 0, 0, 2, 1).how is Difference.LACKING
    assert BucketDifference("t", 0, 0, 1, 2).how is Difference.SURPLUS
