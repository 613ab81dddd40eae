"""Rows of digests: parts add up to the whole, and what no digest can hold is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum.digest.cell_rows import CellRow, Side, added, bucket_of, check_row, joined, planned_partitions
from checksum.digest.record_hash import Content, place_hash, record_hash
from fleet.errors import MalformedError
from tests.checksum.pretend_logs import Held, Partition, digest, halves, plan_of, row

LOG = [Held(10 + number, Content(b"%d" % number, b"v", 100 + 7 * number)) for number in range(9)]
PARTITION = Partition(LOG, LOG, [(12, 12), (15, 15)])
PLAN = plan_of({"t": [PARTITION]}, cells=2, bucket_ms=10)
PLANNED = planned_partitions(PLAN)


def rows():
    topic = PLAN.topics[0]
    return [row(held, topic, topic.partitions[0], PLAN, Side.SOURCE) for held in LOG]


@given(st.permutations(range(len(LOG))), st.integers(0, len(LOG)))
def test_parts_add_up_to_the_whole_in_any_order(order, cut):
    single = [rows()[index] for index in order]
    parts = [*joined(single[:cut]).values(), *joined(single[cut:]).values()]
    assert joined(parts) == joined(rows())


def test_sums_are_of_unsigned_halves_and_offsets_of_their_range():
    one, other = rows()[2], rows()[3]  # offsets 12 and 13, both in the run, made to be of one cell
    whole = added(one, other._replace(bucket=one.bucket, cell=one.cell))
    low = high = 0
    for held in LOG[2:4]:
        parts = halves(place_hash(record_hash(held.content), held.offset))
        low, high = low + parts[0], high + parts[1]
    assert whole.order == (low, high)
    assert whole.content[:3] == (2, one.h_low + other.h_low, one.h_high + other.h_high)
    assert (whole.offset_sum, whole.first_offset, whole.last_offset) == (2 + 3, 12, 13)
    assert whole.key == one.key


@pytest.mark.parametrize("side", Side)
def test_what_a_digest_holds_is_let_through(side):
    for one in digest({"t": [PARTITION]}, PLAN, side).values():
        check_row(one, PLAN, PLANNED, side)


GOOD = CellRow("t", 0, 10, 0, 2, 5, 5, 5, 5, 5, 5, 9, 5, 5, 3, 11, 12)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"topic": "u"}, "partition not in the plan"),
        ({"partition": 1}, "partition not in the plan"),
        ({"first_offset": 9}, "offsets 9 to 12 outside the planned 10 to 18"),
        ({"last_offset": 19}, "offsets 11 to 19 outside the planned 10 to 18"),
        ({"first_offset": 13}, "offsets 13 to 12"),
        ({"records": 0}, "impossible count of 0 records at offsets 11 to 12"),
        ({"records": 3}, "impossible count of 3 records at offsets 11 to 12"),
        ({"cell": 2}, "cell outside the planned 2"),
        ({"cell": -1}, "cell outside the planned 2"),
        ({"h_low": -1}, "impossible sum for 2 records"),
        ({"third_high": 2 << 32}, "impossible sum for 2 records"),
        ({"order_high": 2 << 32}, "impossible sum for 2 records"),
        ({"time_sum": 19}, "impossible sum of times for 2 records"),
        ({"time_sum": -1}, "impossible sum of times for 2 records"),
        ({"offset_sum": 1}, "impossible sum of offsets for 2 records"),
        ({"offset_sum": 5}, "impossible sum of offsets for 2 records"),
    ],
)
def test_what_no_digest_can_hold_is_refused_in_a_sentence(changes, said):
    check_row(GOOD, PLAN, PLANNED, Side.SOURCE)
    with pytest.raises(MalformedError) as refused:
        check_row(GOOD._replace(**changes), PLAN, PLANNED, Side.SOURCE)
    assert said in str(refused.value)
    assert str(refused.value).startswith("source, ")


def test_times_that_are_left_out_have_no_sum():
    plan = plan_of({"t": [PARTITION]}, cells=2, bucket_ms=10, timestamps=False)
    with pytest.raises(MalformedError, match="sum of times"):
        check_row(GOOD, plan, planned_partitions(plan), Side.SOURCE)


@pytest.mark.parametrize(("time_ms", "bucket"), [(0, 0), (9, 0), (10, 1), (-1, -1), (-10, -1), (-11, -2)])
def test_a_time_is_in_the_bucket_below_it(time_ms, bucket):
    assert bucket_of(PLANNED["t", 0], 10, Side.SOURCE, offset=0, timestamp_ms=time_ms) == bucket


@pytest.mark.parametrize("side", Side)
def test_where_times_are_left_out_segments_are_the_buckets(side):
    shifted = [held._replace(offset=held.offset + 90) for held in LOG]
    apart = Partition(LOG, shifted, [(12, 102), (15, 105)])
    plan = plan_of({"t": [apart]}, timestamps=False)
    first = 0 if side is Side.SOURCE else 90
    found = [
        bucket_of(planned_partitions(plan)["t", 0], 10, side, offset=first + offset, timestamp_ms=0)
        for offset in range(10, 19)
    ]
    assert found == [0, 0, 1, 1, 1, 2, 2, 2, 2]
