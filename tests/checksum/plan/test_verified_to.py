"""Where the next run begins: behind all that was told, but before what another look could still tell."""

from __future__ import annotations

import pytest

from checksum.compare.findings import ReadAgain
from checksum.compare.retention import Unverified
from checksum.compare.verdicts import PartitionResult, Result
from checksum.history.entries import VerifiedTo
from checksum.plan.shape import LeftOut, OffsetRange, PartitionPlan, Plan, TopicPlan
from checksum.plan.verified_to import MOST_HELD, verified_to

AT_MS = 1_790_000_000_000
MOST = 1000  # offsets of one look at a block
HERE = ("orders", 0)


def plan(first=100, until=500, *, delta=-10, compacted=False):
    held = PartitionPlan(
        0, OffsetRange(first, until), OffsetRange(first + delta, until + delta), (), (), "offset syncs"
    )
    topic = TopicPlan(
        "orders",
        "A.orders",
        "S1",
        "T1",
        headers=False,
        timestamps=True,
        compacted=compacted,
        partitions=(held,),
    )
    return Plan(
        "A->B", "A", "B", AT_MS - 1, 4, 1000, "read_uncommitted", "read_uncommitted", (), (topic,), ()
    )


def found(*blocks, unverified=()):
    one = PartitionResult("orders", 0, {}, 400, 400, 400, 400, tuple(unverified))
    return Result((), (), (), tuple(blocks), (), (one,), (LeftOut("orders", 1, 7, "gone"),))


def block(span, *, target_span=None, partition=0):
    here, there = OffsetRange(200, 200 + span), OffsetRange(190, 190 + (target_span or span))
    return ReadAgain("orders", partition, here, there, "not read")


def mark(offset, *, held=0, ids=("S1", "T1")):
    return VerifiedTo(*ids, offset, offset - 10, AT_MS - 5, held)


def moved(result, before=None, **of):
    return verified_to(plan(**of), result, {HERE: before} if before else {}, at_ms=AT_MS, most_offsets=MOST)


END = {HERE: VerifiedTo("S1", "T1", 500, 490, AT_MS)}


def stays(held):
    return {HERE: VerifiedTo("S1", "T1", 100, 90, AT_MS, held)}


@pytest.mark.parametrize(
    ("result", "before", "expected"),
    [
        (found(), None, END),
        (found(), mark(100, held=2), END),
        (found(unverified=[Unverified("orders", 0, OffsetRange(100, 200), "retention took it")]), None, END),
        (found(block(MOST + 1)), None, END),  # no look reads that much: no later run would tell either
        (found(block(10, target_span=MOST + 1)), None, END),
        (found(block(MOST)), None, stays(1)),
        (found(block(MOST, partition=1)), None, END),
        (found(block(5), block(MOST + 1)), None, stays(1)),
        (found(block(5)), mark(100), stays(1)),
        (found(block(5)), mark(100, held=1), stays(2)),
        (found(block(5)), mark(60, held=2), stays(3)),  # the beginning expired meanwhile
        (found(block(5)), mark(100, held=MOST_HELD), END),
        (found(block(5)), mark(300, held=2), stays(1)),  # the log was cut, and is compared anew
        (found(block(5)), mark(100, held=2, ids=("S0", "T1")), stays(1)),
        (found(block(5)), mark(100, held=2, ids=("S1", None)), stays(1)),
    ],
)
def test_where_the_next_run_begins(result, before, expected):
    assert moved(result, before) == expected


def test_a_range_is_held_so_often_and_no_more():
    before, seen = None, []
    for _ in range(2 * (MOST_HELD + 1)):
        (before,) = moved(found(block(5)), before).values()
        seen.append((before.source_offset, before.held))
        if before.source_offset == 500:
            break
    assert seen == [(100, 1), (100, 2), (100, 3), (500, 0)]


def test_a_compacted_one_is_held_where_it_is_and_so_often_and_no_more():
    before, seen = None, []
    for night in range(1, 10):
        (before,) = moved(found(block(5)), before, first=0, until=1000 * night, compacted=True).values()
        seen.append((before.source_offset, before.target_offset, before.held))
    begun, gone = (0, -10), (4000, 3990)
    assert seen == [
        *((*begun, held) for held in (1, 2, 3)),
        (*gone, 0),
        *((*gone, held) for held in (1, 2, 3)),
        (8000, 7990, 0),
        (8000, 7990, 1),
    ]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (mark(300, held=1), VerifiedTo("S1", "T1", 300, 290, AT_MS, 2)),
        (mark(60, held=1), VerifiedTo("S1", "T1", 100, 90, AT_MS, 2)),  # what stood before expired
        (mark(501, held=1), VerifiedTo("S1", "T1", 100, 90, AT_MS, 1)),  # a log was cut
        (VerifiedTo("S1", "T1", 300, 491, AT_MS, 1), VerifiedTo("S1", "T1", 100, 90, AT_MS, 1)),
        (mark(300, held=1, ids=("S0", "T1")), VerifiedTo("S1", "T1", 100, 90, AT_MS, 1)),
    ],
)
def test_a_compacted_one_that_is_held_goes_back_only_for_other_records(before, expected):
    assert moved(found(block(5)), before, compacted=True) == {HERE: expected}
