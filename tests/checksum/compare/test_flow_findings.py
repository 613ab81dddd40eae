"""What lacks in one place and is extra in another is one record that went astray."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from checksum.compare.digest_findings import to_pinpoint
from checksum.compare.findings import Finding, Proof, ReadAgain, RecordVerdict
from checksum.compare.flow_findings import FlowFindings, after_reading, join_moved
from checksum.plan.shape import OffsetRange
from tests.checksum.auditing import audited
from tests.checksum.compare.test_digest_findings import content, partition
from tests.checksum.pretend_logs import Partition, plan_of

V = RecordVerdict


def lost(number, where=("t", 0), records=1, at=5):
    place = OffsetRange(at, at + 1)
    return Finding(V.LOST, *where, records, number, 1000, place, None, Proof.DIGESTS)


def extra(number, where=("t", 1), records=1, at=7):
    place = OffsetRange(at, at + 1)
    return Finding(V.EXTRA, *where, records, number, 1000, None, place, Proof.READING)


def altered(number, into, where=("t", 0)):
    one = Finding(V.ALTERED, *where, 1, number, 1000, OffsetRange(5, 6), OffsetRange(7, 8), Proof.READING)
    return replace(one, target_hash=into, target_timestamp_ms=2000, what=("value",))


def told(findings):
    return [
        (str(one.verdict), one.hash, (one.topic, one.partition), one.found_in, one.records)
        for one in findings
    ]


def test_the_same_record_elsewhere_is_misrouted():
    (one,) = join_moved([lost(1), extra(1)])
    assert one == replace(
        lost(1), verdict=V.MISROUTED, target=OffsetRange(7, 8), found_in=("t", 1), proof=Proof.READING
    )


def test_the_same_record_elsewhere_in_its_partition_is_reordered():
    (one,) = join_moved([lost(1), extra(1, where=("t", 0))])
    assert (one.verdict, one.source, one.target) == (V.REORDERED, OffsetRange(5, 6), OffsetRange(7, 8))


def test_as_many_as_there_are_of_both_went_astray():
    assert told(join_moved([lost(1, records=3), extra(1)])) == [
        ("misrouted", 1, ("t", 0), ("t", 1), 1),
        ("lost", 1, ("t", 0), None, 2),
    ]
    assert told(join_moved([lost(1), extra(1), extra(1, at=9)])) == [
        ("misrouted", 1, ("t", 0), ("t", 1), 1),
        ("extra", 1, ("t", 1), None, 1),
    ]


def test_where_it_is_anyone_s_guess_which_went_where_nothing_is_joined():
    findings = [lost(1), lost(1, where=("t", 2)), extra(1)]
    assert {str(one.verdict) for one in join_moved(findings)} == {"lost", "extra"}
    findings = [lost(1), extra(1), extra(1, where=("u", 0))]
    assert {str(one.verdict) for one in join_moved(findings)} == {"lost", "extra"}


def test_records_that_took_each_other_s_place_were_not_altered():
    both = [altered(1, 2), altered(2, 1, where=("t", 1))]
    assert told(join_moved(both)) == [
        ("misrouted", 1, ("t", 0), ("t", 1), 1),
        ("misrouted", 2, ("t", 1), ("t", 0), 1),
    ]
    # One half is known elsewhere: the other is what it is.
    found = join_moved([altered(1, 2), extra(1)])
    assert told(found) == [("misrouted", 1, ("t", 0), ("t", 1), 1), ("extra", 2, ("t", 0), None, 1)]
    assert found[1].timestamp_ms == 2000
    assert join_moved([altered(1, 2), altered(3, 4)]) == [altered(1, 2), altered(3, 4)]


def test_a_second_copy_of_what_was_not_altered_but_misrouted_is_extra():
    again = replace(extra(2, where=("t", 0), at=8), verdict=V.DUPLICATED)
    assert told(join_moved([altered(1, into=2), again, lost(2, where=("u", 0))])) == [
        ("lost", 1, ("t", 0), None, 1),
        ("extra", 2, ("t", 0), None, 1),
        ("misrouted", 2, ("u", 0), ("t", 0), 1),
    ]
    assert told(join_moved([altered(1, into=2), again])) == [
        ("altered", 1, ("t", 0), None, 1),
        ("duplicated", 2, ("t", 0), None, 1),
    ]


def test_both_places_of_a_record_that_left_its_block_are_joined():
    here = replace(lost(1), verdict=V.REORDERED)
    there = replace(extra(1, where=("t", 0)), verdict=V.REORDERED)
    (one,) = join_moved([there, here])
    assert (one.verdict, one.source, one.target) == (V.REORDERED, OffsetRange(5, 6), OffsetRange(7, 8))
    assert join_moved([here]) == [here]
    assert len(join_moved([here, here, there])) == 2


def test_what_was_joined_by_digests_is_joined_anew_after_one_half_was_read():
    topics = {
        "t": [partition(without=[30]), partition(numbers=range(100, 160))],
        "u": [partition(after={10: [content(30)]}, numbers=range(200, 260))],
    }
    audit = audited(topics, cells=64, bucket_ms=100_000)
    assert [str(one.verdict) for one in audit.known.findings] == ["misrouted"]
    known = audit.read(pinpoint=True)
    (one,) = known.findings
    assert (one.verdict, one.source, one.target) == (V.MISROUTED, OffsetRange(30, 31), OffsetRange(511, 512))
    assert one.found_in == ("u", 0)


def test_reading_one_half_of_a_stray_record_keeps_the_other():
    topics = {"t": [partition(without=[30]), partition(after={10: [content(30)]}, numbers=range(200, 260))]}
    audit = audited(topics, cells=64, bucket_ms=100_000)
    here, there = to_pinpoint(audit.cells)
    for block in (here, there):
        known = after_reading(audit.known, [block], audit.differences(block), audit.plan, audit.source)
        (one,) = known.findings
        assert (one.verdict, one.partition, one.found_in) == (V.MISROUTED, 0, ("t", 1))
        known = after_reading(audit.known, [block], [], audit.plan, audit.source)
        assert [str(one.verdict) for one in known.findings] == ["extra" if block is here else "lost"]


def test_a_block_that_reads_clean_takes_back_what_the_digests_told_of_it():
    audit = audited({"t": [partition(without=[30])]}, cells=64, bucket_ms=1000)
    assert len(audit.known.findings) == 1
    known = after_reading(audit.known, to_pinpoint(audit.cells), [], audit.plan, audit.source)
    assert known.findings == ()


offsets = st.tuples(st.integers(0, 30), st.integers(0, 9)).map(lambda one: OffsetRange(one[0], sum(one)))
places = st.tuples(st.sampled_from(["t", "u"]), st.integers(0, 1))


@given(
    st.lists(st.tuples(places, st.sampled_from([V.LOST, V.DUPLICATED]), offsets), max_size=12),
    st.lists(st.tuples(places, offsets, offsets, st.booleans()), max_size=8),
)
def test_reading_takes_back_what_meets_a_block_of_its_partition(findings, blocks):
    plan = plan_of({topic: [Partition(source_until=40, target_until=40)] * 2 for topic in ("t", "u")})
    told = [
        replace(lost(number, where=place), verdict=verdict, **_sides(verdict, held))
        for number, (place, verdict, held) in enumerate(findings)
    ]
    asked = [ReadAgain(*place, source, target, "why") for place, source, target, _ in blocks]
    read = [block for block, (*_, is_read) in zip(asked, blocks, strict=True) if is_read]
    known = after_reading(FlowFindings(tuple(told), tuple(asked)), read, [], plan, {})
    assert set(known.findings) == {one for one in told if not any(_stands_in(one, block) for block in read)}
    assert list(known.read_again) == [block for block in asked if block not in read]


def _sides(verdict, held):
    return {"source": held, "target": None} if verdict is V.LOST else {"source": None, "target": held}


def _stands_in(one, block):
    sides = ((one.source, block.source), (one.target, block.target))
    return (one.topic, one.partition) == (block.topic, block.partition) and any(
        here is not None and here.first < there.until and there.first < here.until for here, there in sides
    )


def test_many_findings_and_blocks_are_not_compared_each_with_each():
    class Counting(int):
        compared = 0

        def __lt__(self, other):
            Counting.compared += 1
            return int(self) < int(other)

        def __gt__(self, other):
            Counting.compared += 1
            return int(self) > int(other)

    count = 500
    plan = plan_of({"t": [Partition(source_until=10**6, target_until=10**6)]})
    held = [OffsetRange(Counting(10 * at), Counting(10 * at + 5)) for at in range(count)]
    told = [replace(lost(at, where=("t", 0)), source=held[at]) for at in range(count)]
    behind = [OffsetRange(Counting(one.first + 10**5), Counting(one.until + 10**5)) for one in held]
    known = after_reading(
        FlowFindings(tuple(told)), [ReadAgain("t", 0, one, one, "why") for one in behind], [], plan, {}
    )
    assert len(known.findings) == count
    assert Counting.compared < 100 * count
