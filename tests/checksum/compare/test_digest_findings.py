"""What digests alone prove of one fault each, and what they leave to be read."""

from __future__ import annotations

import pytest

from checksum.compare.digest_findings import (
    BOTH_WAYS,
    COMPACTED,
    MAY_BE_ELSEWHERE,
    MOVED,
    OTHERS_DIFFER,
    digest_findings,
    to_pinpoint,
)
from checksum.compare.findings import Proof, RecordVerdict
from checksum.digest.record_hash import Content, record_hash
from checksum.plan.shape import OffsetRange
from tests.checksum.auditing import audited
from tests.checksum.pretend_logs import Held, Partition

V = RecordVerdict
COUNT = 60


def content(number):
    return Content(b"key-%d" % number, b"value", 1000 + number)


def partition(
    *, without=(), after=None, instead=None, anchors=(0, 20, 40, 59), base=500, numbers=range(COUNT)
):
    """60 records; `without` some, others `after` one each, or others `instead` of one, with anchors at some."""
    source = [Held(place, content(number)) for place, number in enumerate(numbers)]
    target = []
    for place, held in enumerate(source):
        if place not in without:
            target.append((place, (instead or {}).get(place, held.content)))
        target += [(None, one) for one in (after or {}).get(place, [])]
    copies = [Held(base + place, one) for place, (_, one) in enumerate(target)]
    pairs = {place: base + index for index, (place, _) in enumerate(target) if place is not None}
    return Partition(source, copies, [(place, pairs[place]) for place in anchors if place in pairs])


def told(known):
    return [(str(one.verdict), one.source, one.target, one.records) for one in known.findings]


def asked(known):
    return [(block.why, block.source, block.target) for block in known.read_again]


def at(first, until=None):
    return OffsetRange(first, first + 1 if until is None else until)


def test_a_loss_is_told_by_digests_alone():
    audit = audited({"t": [partition(without=[30])]}, cells=64, bucket_ms=1000)
    (lost,) = audit.known.findings
    assert (lost.verdict, lost.proof, lost.records) == (V.LOST, Proof.DIGESTS, 1)
    assert (lost.hash, lost.timestamp_ms) == (record_hash(content(30)), 1030)
    assert lost.source.first <= 30 < lost.source.until
    assert lost.target is None
    assert audit.known.read_again == audit.known.lookups == ()


def test_reading_pinpoints_what_digests_tell():
    audit = audited({"t": [partition(without=[30])]}, cells=1, bucket_ms=1000)
    assert told(audit.known) == [("lost", at(0, 60), None, 1)]
    (block,) = to_pinpoint(audit.cells)
    assert (block.source, block.target) == (at(0, 60), at(500, 559))
    (lost,) = audit.read(pinpoint=True).findings
    assert (lost.source, lost.proof) == (at(30), Proof.READING)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (content(30)._replace(value=b"other"), ()),
        (content(30)._replace(key=None), ()),
        (content(30)._replace(headers=[("h", b"")]), ()),
        (content(30)._replace(timestamp_ms=9999), ("time",)),
    ],
)
def test_an_altered_record_is_told_at_its_place(changed, what):
    audit = audited({"t": [partition(instead={30: changed})]}, cells=61, bucket_ms=1000)
    (altered,) = audit.known.findings
    assert (altered.verdict, altered.proof, altered.what) == (V.ALTERED, Proof.DIGESTS, what)
    assert (altered.source, altered.target) == (at(30), at(530))
    assert (altered.hash, altered.target_hash) == (record_hash(content(30)), record_hash(changed))
    assert (altered.timestamp_ms, altered.target_timestamp_ms) == (1030, changed.timestamp_ms)
    assert audit.known.read_again == ()


def test_outside_runs_an_altered_record_must_be_read():
    changed = content(30)._replace(value=b"other")
    audit = audited({"t": [partition(instead={30: changed}, anchors=())]}, cells=64, bucket_ms=1000)
    assert audit.known.findings == ()
    assert [why for why, *_ in asked(audit.known)] == [BOTH_WAYS]
    assert told(audit.read()) == [("altered", at(30), at(530), 1)]


def test_a_second_copy_in_the_place_of_a_lost_record_is_not_taken_for_it_altered():
    twice = partition(without=[30], after={29: [content(29)]})
    audit = audited({"t": [twice]}, cells=1, bucket_ms=1)
    assert audit.known.findings == ()
    assert [why for why, *_ in asked(audit.known)] == [BOTH_WAYS]
    assert told(audit.read()) == [("lost", at(30), None, 1), ("duplicated", None, at(530), 1)]


def test_records_that_went_to_another_partition_are_misrouted():
    strayed = content(30)
    topics = {
        "t": [partition(without=[30]), partition(numbers=range(100, 160))],
        "u": [partition(after={10: [strayed]}, numbers=range(200, 260))],
    }
    audit = audited(topics, cells=64, bucket_ms=100_000)
    (one,) = audit.known.findings
    assert (one.verdict, one.topic, one.partition, one.found_in) == (V.MISROUTED, "t", 0, ("u", 0))
    assert one.source.first <= 30 < one.source.until
    assert one.target.first <= 511 < one.target.until
    assert audit.known.lookups == ()


def test_a_loss_is_not_told_while_another_partition_may_hold_the_record():
    # In the second partition one cell has the stray record and another difference, so nobody can tell yet.
    strayed = partition(after={10: [content(30), content(400)]}, numbers=range(100, 160))
    audit = audited({"t": [partition(without=[30]), strayed]}, cells=1, bucket_ms=100_000)
    assert audit.known.findings == ()
    assert [why for why, *_ in asked(audit.known)] == [MAY_BE_ELSEWHERE, OTHERS_DIFFER]
    known = audit.read()
    assert [(str(one.verdict), one.partition, one.found_in) for one in known.findings] == [
        ("misrouted", 0, ("t", 1)),
        ("extra", 1, None),
    ]


def test_without_times_a_stray_record_may_be_in_any_segment_of_another_partition():
    strayed = partition(after={50: [content(30), content(400)]}, numbers=range(100, 160))
    topics = {"t": [partition(without=[10]), strayed]}
    audit = audited(topics, cells=1, timestamps=False)
    assert audit.known.findings == ()
    assert [why for why, *_ in asked(audit.known)] == [MAY_BE_ELSEWHERE, OTHERS_DIFFER]


def test_a_loss_is_not_told_while_a_partition_that_must_be_read_has_the_record_too_many():
    # There another lacks as well, so that partition must be read; and what of it went astray is not known.
    strayed = partition(after={10: [content(30)]}, without=[40], numbers=range(100, 160))
    audit = audited({"t": [partition(without=[30]), strayed]}, cells=16, bucket_ms=100_000)
    assert audit.known.findings == ()
    assert [why for why, *_ in asked(audit.known)] == [MAY_BE_ELSEWHERE, BOTH_WAYS]
    assert [str(one.verdict) for one in audit.read().findings] == ["misrouted", "lost"]


def test_a_second_copy_is_told_where_the_source_s_cell_holds_nothing_else():
    repeated = partition(after={30: [content(30)]})
    audit = audited({"t": [repeated]}, cells=64, bucket_ms=1)
    assert [(str(one.verdict), one.records) for one in audit.known.findings] == [("duplicated", 1)]
    assert audit.known.findings[0].target == at(530, 532)
    assert audit.known.lookups == ()


def test_a_record_that_may_be_a_second_copy_is_looked_up():
    audit = audited({"t": [partition(after={30: [content(30)]})]}, cells=1, bucket_ms=1000)
    (extra,) = audit.known.findings
    (lookup,) = audit.known.lookups
    assert extra.verdict is V.EXTRA
    assert lookup.finding is extra
    assert (lookup.hash, lookup.timestamp_ms, lookup.offsets) == (
        record_hash(content(30)),
        1030,
        at(0, 60),
    )


def test_a_record_that_the_compared_source_cannot_hold_is_looked_up_beyond_it():
    audit = audited({"t": [partition(after={30: [content(900)]})]}, cells=1, bucket_ms=100)
    assert audit.known.lookups[0].offsets is None


def test_other_order_within_a_run_is_read_and_told():
    swapped = partition(instead={30: content(31), 31: content(30)})
    audit = audited({"t": [swapped]}, cells=64, bucket_ms=1)
    assert audit.known.findings == ()
    assert asked(audit.known) == [(MOVED, at(20, 40), at(520, 540))]
    assert audit.known.read_again[0].certain
    assert told(audit.read()) == [("reordered", at(30), at(531), 1)]


def test_in_a_log_with_gaps_other_places_are_no_proof_of_another_order():
    swapped = partition(instead={30: content(31), 31: content(30)})
    swapped.target_until = 600
    audit = audited({"t": [swapped]}, cells=64, bucket_ms=1000)
    assert [block.certain for block in audit.known.read_again] == [False]


def test_several_differences_of_one_cell_are_read():
    audit = audited({"t": [partition(without=[30, 31])]}, cells=1, bucket_ms=1000)
    assert asked(audit.known) == [(OTHERS_DIFFER, at(0, 60), at(500, 558))]
    (block,) = audit.known.read_again
    assert (block.certain, block.lacking, block.surplus) == (True, 2, 0)
    assert told(audit.read()) == [("lost", at(30), None, 1), ("lost", at(31), None, 1)]


def test_as_many_but_not_the_same_means_that_one_lacks_at_least():
    changed = content(30)._replace(value=b"other")
    audit = audited({"t": [partition(instead={30: changed})]}, cells=1, bucket_ms=1000)
    (block,) = audit.known.read_again
    assert (block.lacking, block.surplus) == (1, 0)


def test_blocks_are_no_wider_than_between_anchors():
    audit = audited({"t": [partition(without=[25, 26, 45, 46])]}, cells=1, bucket_ms=10)
    assert asked(audit.known) == [
        (OTHERS_DIFFER, at(20, 40), at(520, 538)),
        (OTHERS_DIFFER, at(40, 59), at(538, 555)),
    ]


def test_a_compacted_topic_is_read_whole_where_it_differs():
    audit = audited({"t": [partition(without=[30]), partition()]}, cells=64, bucket_ms=1000)
    for cells in audit.cells.values():
        object.__setattr__(cells.planned.topic, "compacted", True)
    known = digest_findings(audit.plan, audit.cells, audit.source)
    assert known.findings == ()
    assert asked(known) == [(COMPACTED, at(0, 60), at(500, 559))]


def test_nothing_is_said_of_a_mirror_that_did_its_work():
    audit = audited({"t": [partition(), partition(numbers=range(100, 160))]})
    assert audit.known.findings == audit.known.read_again == audit.known.lookups == ()
    assert to_pinpoint(audit.cells) == []
