"""The result of an audit: records by verdict, coverage, and what changes the exit status."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checksum.compare.digest_findings import compared
from checksum.compare.findings import Finding, Proof, RecordVerdict, cause_of
from checksum.compare.findings import LookupAnswer as Answer
from checksum.compare.flow_findings import FlowFindings, with_answer, with_answers
from checksum.compare.retention import Unverified
from checksum.compare.verdicts import FINDING, INCOMPLETE, OK, changes_status, confirmed, result
from checksum.digest.cell_rows import Side
from checksum.digest.record_hash import Content
from checksum.plan.shape import LeftOut, OffsetRange
from checksum.recheck import lookups
from checksum.recheck.recheck import Readers, checked_twice
from fleet.verdicts.vocabulary import Cause
from tests.checksum.auditing import audited
from tests.checksum.compare.test_digest_findings import content, partition
from tests.checksum.pretend_clusters import PretendReader
from tests.checksum.pretend_logs import Held, Partition, digest, plan_of
from tests.checksum.pretend_mirror import Log, Record

V = RecordVerdict


def finding(verdict=V.LOST, *, number=1, records=1, **other):
    place = OffsetRange(number, number + 1)
    held = {"source": place, "target": None, "proof": Proof.READING, **other}
    return Finding(verdict, "t", 0, records, number, 1000, **held)


def concluded(audit, known=None, **how):
    return result(audit.plan, audit.cells, known or audit.known, **{"exactly_once": False, **how})


def test_a_healthy_mirror_matches_wholly():
    found = concluded(audited({"t": [partition(), partition(numbers=range(100, 160))]}))
    assert (found.status, found.coverage, found.findings, found.expected) == (OK, 1.0, (), ())
    for one in found.partitions:
        assert one.records == {V.MATCH: 60, V.UNVERIFIABLE: 0}
        assert (one.source_records, one.target_records, one.offsets, one.verified) == (60, 60, 60, 60)


def test_each_record_of_the_source_is_in_one_verdict():
    changed = content(9)._replace(value=b"other")
    broken = partition(without=[5, 30], after={40: [content(40), content(900)]}, instead={9: changed})
    audit = audited({"t": [broken]}, cells=1, bucket_ms=1000)
    known = audit.read(pinpoint=True)
    found = concluded(audit, with_answers(known, [(lookup, Answer.NO) for lookup in known.lookups]))
    (one,) = found.partitions
    assert one.records == {
        V.LOST: 2,
        V.ALTERED: 1,
        V.DUPLICATED: 1,
        V.EXTRA: 1,
        V.MATCH: 57,
        V.UNVERIFIABLE: 0,
    }
    assert sum(one.records[verdict] for verdict in (V.LOST, V.ALTERED, V.MATCH)) == one.source_records
    assert found.status == FINDING


def test_what_was_not_read_is_unverifiable_but_a_finding_where_something_lacks_for_sure():
    audit = audited({"t": [partition(without=[30, 31])]}, cells=1, bucket_ms=10)
    found = concluded(audit)
    (one,) = found.partitions
    assert one.records == {V.UNVERIFIABLE: 20, V.MATCH: 40}
    assert (one.verified, one.offsets) == (40, 60)
    assert found.coverage == pytest.approx(40 / 60)
    assert found.differing == found.open_blocks
    assert found.status == FINDING


def test_there_are_never_more_unverifiable_records_than_records():
    gaps = partition(without=[30, 31], anchors=())
    gaps.source_until = 1000
    found = concluded(audited({"t": [gaps]}, cells=1, bucket_ms=1000))
    assert found.partitions[0].records == {V.UNVERIFIABLE: 60, V.MATCH: 0}
    assert (found.partitions[0].offsets, found.coverage) == (1000, 0)


def test_a_lost_tombstone_is_a_finding_and_none_of_the_records_that_are_left():
    audit = audited({"t": [partition(numbers=range(3))]})
    found = concluded(audit, replace(audit.known, findings=(finding(tombstone=True),)))
    (one,) = found.partitions
    assert (one.source_records, one.records[V.MATCH], one.records[V.LOST]) == (3, 3, 1)
    assert found.status == FINDING


@pytest.mark.parametrize(("exactly_once", "status"), [(False, INCOMPLETE), (True, FINDING)])
def test_a_surplus_that_was_not_read_may_be_second_copies(exactly_once, status):
    audit = audited({"t": [partition(after={30: [content(30), content(31)]})]}, cells=1, bucket_ms=10)
    found = concluded(audit, exactly_once=exactly_once)
    assert len(found.open_blocks) == 1
    assert found.status == status


def test_another_order_in_a_log_without_gaps_is_a_finding_even_unread():
    swapped = partition(instead={30: content(31), 31: content(30)})
    assert concluded(audited({"t": [swapped]}, bucket_ms=1)).status == FINDING
    swapped.target_until = 600
    assert concluded(audited({"t": [swapped]}, bucket_ms=1)).status == INCOMPLETE


@pytest.mark.parametrize(
    ("one", "at_least_once", "exactly_once"),
    [
        (finding(V.LOST), True, True),
        (finding(V.ALTERED), True, True),
        (finding(V.REORDERED), True, True),
        (finding(V.MISROUTED), True, True),
        (finding(V.EXTRA), True, True),
        (finding(V.EXTRA, aborted=True), False, True),
        (finding(V.DUPLICATED), False, True),
    ],
)
def test_what_delivery_expects_changes_no_status(one, at_least_once, exactly_once):
    assert changes_status(one, exactly_once=False) is at_least_once
    assert changes_status(one, exactly_once=True) is exactly_once


def test_what_is_expected_is_told_and_counted():
    audit = audited({"t": [partition(after={30: [content(30)]})]}, cells=1, bucket_ms=1)
    found = concluded(audit)
    assert [one.verdict for one in found.expected] == [V.DUPLICATED]
    assert (found.findings, found.status) == ((), OK)
    assert found.partitions[0].records[V.DUPLICATED] == 1
    assert concluded(audit, exactly_once=True).status == FINDING


@pytest.mark.parametrize("exactly_once", [False, True])
def test_equal_records_in_order_or_not_match_nothing_and_make_it_incomplete(exactly_once):
    audit = audited({"t": [partition(numbers=range(10))]})
    doubtful = finding(V.UNVERIFIABLE, records=4, source=OffsetRange(2, 9), target=OffsetRange(3, 9))
    known = replace(audit.known, findings=(doubtful,))
    found = concluded(audit, known, exactly_once=exactly_once)
    assert found.partitions[0].records == {V.MATCH: 6, V.UNVERIFIABLE: 4}
    assert (found.findings, found.unsettled, found.status) == ((), (doubtful,), INCOMPLETE)


@pytest.mark.parametrize("exactly_once", [False, True])
def test_an_extra_record_that_nobody_looked_up_may_be_a_second_copy(exactly_once):
    audit = audited({"t": [partition(after={30: [content(30)]})]}, cells=1, bucket_ms=1000)
    found = concluded(audit, exactly_once=exactly_once)
    if exactly_once:
        assert (len(found.findings), found.unsettled, found.status) == (1, (), FINDING)
    else:
        assert (found.findings, len(found.unsettled), found.status) == ((), 1, INCOMPLETE)


@pytest.mark.parametrize(
    ("held", "status"),
    [(Answer.COMMITTED, OK), (Answer.ABORTED, OK), (Answer.NO, FINDING), (Answer.NOT_KNOWN, INCOMPLETE)],
)
def test_what_the_source_tells_of_an_extra_record_decides(held, status):
    audit = audited({"t": [partition(after={30: [content(30)]})]}, cells=1, bucket_ms=1000)
    (lookup,) = audit.known.lookups
    known = with_answers(audit.known, [(lookup, held)])
    assert known.lookups == ()
    assert known.findings == (with_answer(lookup.finding, held),)
    assert concluded(audit, known).status == status


def test_what_is_left_out_for_good_is_not_covered_and_what_is_merely_new_is():
    audit = audited({"t": [partition()]})
    for later, status, coverage in ((True, OK, 1.0), (False, INCOMPLETE, 60 / 100)):
        plan = replace(audit.plan, left_out=(LeftOut("t", 1, 40, "why", later=later),))
        found = result(plan, audit.cells, audit.known, exactly_once=False)
        assert (found.status, found.coverage) == (status, pytest.approx(coverage))


def test_what_is_left_out_and_empty_is_not_told_as_unverified():
    audit = audited({"t": [partition()]})
    held, empty = LeftOut("t", 1, 40, "why"), LeftOut("new", None, 0, "why")
    found = result(replace(audit.plan, left_out=(empty, held)), audit.cells, audit.known, exactly_once=False)
    assert found.left_out == (held,)


def test_nothing_to_compare_is_covered_wholly():
    audit = audited({"t": []})
    assert (concluded(audit).coverage, concluded(audit).status) == (1.0, OK)


def test_what_retention_took_is_counted_once():
    audit = audited({"t": [partition()]})
    gone = [Unverified("t", 0, OffsetRange(0, 20), "why"), Unverified("t", 0, OffsetRange(10, 30), "why")]
    found = concluded(audit, unverified=gone)
    (one,) = found.partitions
    assert (one.verified, one.records[V.UNVERIFIABLE], one.records[V.MATCH]) == (30, 30, 30)
    assert found.status == INCOMPLETE


def test_only_what_two_looks_saw_is_confirmed():
    first = [finding(number=1), finding(number=2), finding(V.DUPLICATED, number=3, records=2)]
    second = [
        finding(number=2),
        finding(number=4),
        finding(V.DUPLICATED, number=3, records=1),
        finding(V.EXTRA),
    ]
    assert confirmed(first, second) == [second[0], second[2]]
    assert confirmed(first, first) == first
    assert confirmed([finding()], [finding(), finding()]) == [finding()]


DUPLICATED, UNKNOWN, EXTRA = (
    finding(one, source=None, target=OffsetRange(7, 8)) for one in (V.DUPLICATED, V.UNVERIFIABLE, V.EXTRA)
)
ABORTED = replace(EXTRA, aborted=True)
FROM_SEEN_TO_NOT_THERE = [DUPLICATED, ABORTED, UNKNOWN, EXTRA]


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        (one, other, FROM_SEEN_TO_NOT_THERE[min(at, beside)])
        for at, one in enumerate(FROM_SEEN_TO_NOT_THERE)
        for beside, other in enumerate(FROM_SEEN_TO_NOT_THERE)
    ],
)
def test_a_record_that_is_there_too_often_stays_with_the_look_that_claims_less(one, other, kept):
    assert confirmed([one], [other]) == [kept]


def test_of_equal_records_each_has_its_own_other_look():
    first = [EXTRA, UNKNOWN, replace(DUPLICATED, records=2)]
    assert confirmed(first, [UNKNOWN, EXTRA]) == [UNKNOWN, EXTRA]
    assert confirmed(first, [EXTRA, EXTRA]) == [EXTRA, DUPLICATED]
    assert confirmed(first, [replace(UNKNOWN, records=4)]) == [replace(DUPLICATED, records=4)]
    assert confirmed(first, [replace(UNKNOWN, records=5)]) == []
    assert confirmed([EXTRA, finding()], [finding()]) == [finding()]
    assert confirmed([finding()], [EXTRA]) == []


def test_equal_records_in_order_or_not_are_no_second_copies_in_another_look():
    doubtful = replace(UNKNOWN, source=OffsetRange(3, 4))
    assert confirmed([DUPLICATED], [doubtful]) == []
    assert confirmed([DUPLICATED, doubtful], [doubtful, DUPLICATED]) == [doubtful, DUPLICATED]


def test_an_extra_record_stays_where_the_other_look_had_too_much_to_read(monkeypatch):
    monkeypatch.setattr(lookups, "MOST_RECORDS", 45)
    monkeypatch.setattr("checksum.recheck.record_chunks.CHUNK_RECORDS", 10)
    written = [Record(at, b"k", b"v%d" % at, 10 * at) for at in range(100)]
    by_hand = Record(999, b"k", b"by hand", 500)
    source, target = Log(list(written)), Log([*written[:50], by_hand, *written[50:]])
    logs = {
        side: [Held(at, Content(one.key, one.value, one.at_ms, None)) for at, one in enumerate(log.records)]
        for side, log in (("source", source), ("target", target))
    }
    topics = {"t": [Partition(logs["source"], logs["target"], [(0, 0)])]}
    plan = plan_of(topics, cells=2, bucket_ms=1000)
    comparison = compared(plan, *(digest(topics, plan, side).values() for side in Side))
    reader, there = PretendReader({("t", 0): source}), PretendReader({("A.t", 0): target})

    def written_meanwhile(_):
        source.records += [Record(100 + at, b"k", b"w%d" % at, 1000 + 10 * at) for at in range(60)]

    known, _ = checked_twice(comparison, Readers(reader, there, reader, reader), pause=written_meanwhile)
    found = result(plan, comparison.cells, known, exactly_once=False)
    assert [(one.verdict, one.target) for one in found.unsettled] == [(V.UNVERIFIABLE, OffsetRange(50, 51))]
    assert found.status == INCOMPLETE


@pytest.mark.parametrize(
    ("held", "verdict", "aborted"),
    [
        (Answer.COMMITTED, V.DUPLICATED, False),
        (Answer.ABORTED, V.EXTRA, True),
        (Answer.NO, V.EXTRA, False),
        (Answer.NOT_KNOWN, V.UNVERIFIABLE, False),
    ],
)
def test_an_extra_record_is_what_the_source_tells_of_it(held, verdict, aborted):
    extra = finding(V.EXTRA, proof=Proof.DIGESTS)
    assert with_answer(extra, held) == replace(extra, verdict=verdict, aborted=aborted, proof=Proof.READING)


@pytest.mark.parametrize(
    ("one", "cause"),
    [
        (finding(V.LOST), Cause.UNEXPLAINED),
        (finding(V.ALTERED, what=("value",)), Cause.TRANSFORMED),
        (finding(V.ALTERED, what=("value", "time")), Cause.TRANSFORMED),
        (finding(V.ALTERED, what=("time",)), Cause.RETIMED),
        (finding(V.ALTERED, what=("time",), proof=Proof.DIGESTS), Cause.UNEXPLAINED),
        (finding(V.ALTERED, proof=Proof.DIGESTS), Cause.TRANSFORMED),
        (finding(V.MISROUTED), Cause.MISROUTED),
        (finding(V.DUPLICATED), Cause.DUPLICATING),
        (finding(V.EXTRA), Cause.UNEXPLAINED),
        (finding(V.EXTRA, aborted=True), Cause.ABORTED_TRANSACTION),
        (finding(V.REORDERED), Cause.UNEXPLAINED),
    ],
)
def test_a_cause_is_named_where_the_finding_proves_it(one, cause):
    assert cause_of(one) is cause


def test_the_series_and_the_findings_have_the_same_words():
    assert [str(one) for one in V] == (
        ["match", "lost", "misrouted", "altered", "reordered", "extra", "duplicated", "unverifiable"]
    )


def test_known_is_empty_by_default():
    assert FlowFindings(()) == FlowFindings((), (), ())
