"""Counts by bucket: each record once, however often its range is counted again."""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from checksum.digest.cell_rows import CellRow, Side
from checksum.history import rows as history_rows
from checksum.history.counts import counts_of_cells
from checksum.history.entries import Counted, OpenRun, PackedRun, RunRow, VerifiedTo
from checksum.history.tables import MIGRATIONS
from checksum.plan.shape import OffsetRange, PartitionPlan, Plan, TopicPlan

MINUTE_MS = 60_000


def topic(name, *, timestamps=True, compacted=False, first=7):
    held = PartitionPlan(0, OffsetRange(first, 100), OffsetRange(first, 100), (), (), "offset syncs")
    return TopicPlan(
        name,
        f"A.{name}",
        "S1",
        "T1",
        headers=False,
        timestamps=timestamps,
        compacted=compacted,
        partitions=(held,),
    )


def cell(name, bucket, number, records):
    return CellRow(name, 0, bucket, number, records, *[0] * 10, 7, 8)


def test_cells_add_up_by_bucket_and_side_and_buckets_without_a_time_are_left_out():
    topics = (topic("orders"), topic("stamped", timestamps=False), topic("state", compacted=True))
    plan = Plan("A->B", "A", "B", 0, 4, MINUTE_MS, "", "", (), topics, ())
    cells = {
        Side.SOURCE: [
            cell("orders", 5, 0, 3),
            cell("orders", 5, 1, 4),
            cell("orders", 6, 0, 1),
            cell("stamped", 1, 0, 9),
        ],
        Side.TARGET: [cell("orders", 5, 0, 6), cell("orders", -2, 3, 1), cell("state", 5, 0, 9)],
    }
    assert counts_of_cells(plan, cells) == [
        Counted("orders", 0, -2 * MINUTE_MS, 0, 1, 7, "S1"),
        Counted("orders", 0, 5 * MINUTE_MS, 7, 6, 7, "S1"),
        Counted("orders", 0, 6 * MINUTE_MS, 1, 0, 7, "S1"),
    ]


def store():
    connection = sa.create_engine("sqlite://").connect()
    for migration in MIGRATIONS:
        migration.apply(connection)
    return connection


def finish(connection, number, counts, verified):
    run = OpenRun(f"r{number}", "A->B", "", "", "", 0, 0, counts_only=False)
    row = RunRow(run.run, "A->B", "p", "", number, number, 0, False, 1.0, 0, 0, 0)
    assert history_rows.begin(connection, run, lambda _other: False) is None
    assert history_rows.finish(
        connection,
        PackedRun(row, b""),
        open_as=run.run,
        counts=counts,
        verified=verified,
        now_ms=number,
        unposted=False,
    )


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_whatever_runs_count_again_each_record_is_counted_once(data):
    """A log that grows; runs move their mark to its end, or leave it and count again from there."""
    minutes = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=40))  # of the record at each offset
    connection, mark, end = store(), 0, 0
    for number in range(data.draw(st.integers(1, 5))):
        end, moves = data.draw(st.integers(end, len(minutes))), data.draw(st.booleans())
        counted = Counter(minute * MINUTE_MS for minute in minutes[mark:end])
        rows = [Counted("t", 0, at_ms, count, 2 * count, mark, "S1") for at_ms, count in counted.items()]
        finish(connection, number, rows, {("t", 0): VerifiedTo("S1", "T1", end, end, 0)} if moves else {})
        found = history_rows.counts_of(connection, "A->B", "t", since_ms=0, until_ms=1 << 40, limit=1000)
        expected = Counter(minute * MINUTE_MS for minute in minutes[:end])
        assert {one.bucket_at_ms: one.source_records for one in found} == dict(expected)
        assert {one.bucket_at_ms: one.target_records for one in found} == {
            at_ms: 2 * count for at_ms, count in expected.items()
        }
        mark = end if moves else mark


def test_what_expired_since_it_was_counted_is_still_told():
    connection = store()
    finish(connection, 0, [Counted("t", 0, at * MINUTE_MS, 5, 5, 0, "S1") for at in range(4)], {})
    # The log begins in the third minute now; nothing was verified, so all that it holds is counted again.
    finish(connection, 1, [Counted("t", 0, at * MINUTE_MS, 6, 5, 12, "S1") for at in (2, 3, 4)], {})
    found = history_rows.counts_of(connection, "A->B", "t", since_ms=0, until_ms=1 << 40, limit=9)
    assert [one.source_records for one in found] == [5, 5, 6, 6, 6]


def test_a_topic_that_was_made_anew_counts_beside_the_old_one():
    connection = store()
    for number, topic_id in enumerate(["S1", "S2"]):
        marks = {("t", 0): VerifiedTo(topic_id, "T", 5, 4, 0)}
        finish(connection, number, [Counted("t", 0, 0, 5, 4, 0, topic_id)], marks)
    (found,) = history_rows.counts_of(connection, "A->B", None, since_ms=0, until_ms=1, limit=10)
    assert (found.source_records, found.target_records) == (10, 8)
