"""What retention took during a run is unverifiable, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checksum.compare.retention import LogStarts, never_read, without_expired
from checksum.plan.shape import OffsetRange
from tests.checksum.auditing import audited
from tests.checksum.compare.test_digest_findings import content, partition, told
from tests.checksum.pretend_logs import Partition


def after(topics, starts, **how):
    audit = audited(topics, **how)
    return without_expired(audit.known, audit.plan, starts)


LOSSES = {"t": [partition(without=[5, 50])]}


@pytest.mark.parametrize(
    ("starts", "left", "unverified"),
    [
        ({}, [5, 50], []),
        ({("t", 0): LogStarts(0, 500)}, [5, 50], []),
        ({("t", 0): LogStarts(3, 500)}, [50], [(0, 20)]),  # up to the next anchor that both still hold
        ({("t", 0): LogStarts(0, 501)}, [50], [(0, 20)]),
        ({("t", 0): LogStarts(45, 500)}, [], [(0, 59)]),
        ({("t", 0): LogStarts(0, 900)}, [], [(0, 60)]),
    ],
)
def test_what_may_stand_below_the_logs_starts_is_no_difference(starts, left, unverified):
    known, gone = after(LOSSES, starts, bucket_ms=1, cells=1)
    assert [one.source.first for one in known.findings] == left
    assert [(one.source.first, one.source.until) for one in gone] == unverified


def test_it_says_where_the_logs_begin():
    _, (gone,) = after(LOSSES, {("t", 0): LogStarts(3, 502)}, bucket_ms=1, cells=1)
    assert gone.why == (
        "retention deleted records during the comparison: the log now starts at 3 on A and at 502 on B"
    )


def test_blocks_that_reach_below_are_not_read():
    topics = {"t": [partition(without=[5, 6, 45, 46])]}
    known, (gone,) = after(topics, {("t", 0): LogStarts(1, 500)}, bucket_ms=10, cells=1)
    assert [block.source for block in known.read_again] == [OffsetRange(40, 59)]
    assert gone.source == OffsetRange(0, 20)


def test_extra_records_that_reach_below_are_neither_told_nor_looked_up():
    topics = {"t": [partition(after={5: [content(900)]})]}
    known, (gone,) = after(topics, {("t", 0): LogStarts(0, 501)}, bucket_ms=1, cells=1)
    assert known.findings == known.lookups == ()
    assert gone.source == OffsetRange(0, 20)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([1, 7, 1000]), st.sampled_from([1, 16]))
def test_what_expired_between_two_reads_is_never_told_as_different(source, target, bucket_ms, cells):
    # Healthy logs, read when retention had taken some of each.
    whole = partition(anchors=(0, 7, 20, 40, 59))
    held = Partition(whole.source[source:], whole.target[target:], whole.anchors)
    planned = audited({"t": [whole]}, cells=cells, bucket_ms=bucket_ms).plan
    audit = audited({"t": [held]}, cells=cells, bucket_ms=bucket_ms, plan=planned)
    starts = {("t", 0): LogStarts(source, 500 + target)}
    known, gone = without_expired(audit.known, audit.plan, starts)
    assert told(known) == []
    assert known.read_again == ()
    assert bool(gone) == (source != target)


@pytest.mark.parametrize(
    ("begins", "held", "unverified"),
    [
        (0, [], []),  # nothing was taken: a log of markers only has no record either
        (60, [], [(0, 60)]),  # both sides went before either was read
        (900, [], [(0, 60)]),
        (60, range(60), []),  # read, and taken then
        (40, range(40, 60), [(0, 40)]),
        (40, range(20, 60), [(0, 20)]),
        (60, [*range(20), *range(40, 60)], [(20, 40)]),  # one slice, and none of the next
        (40, [*range(20), *range(40, 60)], [(20, 40)]),
        (20, [*range(20), *range(40, 60)], []),  # the gap is behind: the log has it still
        (30, [*range(20), *range(40, 60)], [(20, 30)]),
        (60, [*range(20), 25, *range(40, 60)], [(20, 40)]),  # a gap of its own, or several slices: not known
    ],
)
def test_what_may_have_been_taken_before_it_was_read_is_unverified_though_nothing_differs(
    begins, held, unverified
):
    whole = partition()
    plan = audited({"t": [whole]}, bucket_ms=1, cells=1).plan
    read = Partition([whole.source[at] for at in held], [whole.target[at] for at in held], whole.anchors)
    audit = audited({"t": [read]}, plan=plan)
    assert audit.known.findings == audit.known.read_again == ()
    gone = never_read(plan, {("t", 0): LogStarts(begins, 500 + begins)}, audit.source.values())
    assert [(one.source.first, one.source.until) for one in gone] == unverified


def test_what_may_never_have_been_read_is_told_with_numbers():
    plan = audited({"t": [partition()]}, bucket_ms=1, cells=1).plan
    (gone,) = never_read(plan, {("t", 0): LogStarts(30, 500)}, [])
    assert gone.why == (
        "retention may have deleted them before they were read: the log now starts at 30 on A and at 500 on B;"
        " the digest of A has 0 records of 60 offsets"
    )


@settings(max_examples=60, deadline=None)
@given(st.data(), st.sampled_from([1, 7, 1000]), st.sampled_from([1, 16]))
def test_no_offset_that_a_digest_passed_over_counts_as_read(data, bucket_ms, cells):
    # After each slice retention takes what it likes; the next one begins where the log does by then.
    whole, begins, held = partition(), 0, []
    for first in range(0, 60, 12):
        held += range(max(first, begins), first + 12)
        begins = data.draw(st.integers(begins, 60))
    plan = audited({"t": [whole]}, cells=cells, bucket_ms=bucket_ms).plan
    read = Partition([whole.source[at] for at in held], [whole.target[at] for at in held], whole.anchors)
    audit = audited({"t": [read]}, cells=cells, bucket_ms=bucket_ms, plan=plan)
    gone = never_read(plan, {("t", 0): LogStarts(begins, 500 + begins)}, audit.source.values())
    told_of = {at for one in gone for at in range(one.source.first, one.source.until)}
    assert set(range(60)) - set(held) <= told_of
    assert all(at < begins for at in told_of)
