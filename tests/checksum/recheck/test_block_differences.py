"""Records that were read again: each is told for what became of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checksum.compare.findings import Proof, ReadAgain, RecordVerdict
from checksum.digest.cell_rows import planned_partitions
from checksum.digest.record_hash import Content, record_hash
from checksum.plan.shape import OffsetRange
from checksum.recheck.block_differences import ReadBlock, differences
from tests.checksum.pretend_logs import Held, Partition, plan_of, read

V = RecordVerdict


def content(letter):
    return Content(b"key " + letter.encode(), b"value " + letter.encode(), 100 + ord(letter))


def block_of(source, target, *, cells=None, altered=(), timestamps=True):
    """A block of all of two logs; every cell is open unless `cells` are given."""
    plan = plan_of({"t": [Partition(source, target)]}, cells=4, bucket_ms=10, timestamps=timestamps)
    planned = planned_partitions(plan)["t", 0]
    if cells is None:
        cells = [(bucket, cell) for bucket in range(40) for cell in range(4)]
    both = (planned.partition.source, planned.partition.target)
    asked = ReadAgain("t", 0, *both, "why", frozenset(cells), altered=tuple(altered))
    sides = (read(log, span, timestamps=timestamps) for log, span in zip((source, target), both, strict=True))
    return ReadBlock(asked, planned, 4, 10, *sides)


def log(letters, first=0, **other):
    return [Held(first + place, other.get(one, content(one))) for place, one in enumerate(letters)]


def told(block):
    return [
        (
            str(one.verdict),
            one.source and one.source.first,
            one.target and one.target.first,
            *one.what,
        )
        for one in differences(block)
    ]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("abc", "abc", []),
        ("abc", "ac", [("lost", 1, None)]),
        ("ac", "abc", [("extra", None, 11)]),
        ("abc", "abbc", [("duplicated", None, 12)]),
        ("abc", "abca", [("duplicated", None, 13)]),
        ("abcd", "acbd", [("reordered", 1, 12)]),
        ("abcde", "bcdae", [("reordered", 0, 13)]),
        ("abcd", "ad", [("lost", 1, None), ("lost", 2, None)]),
        ("abc", "axc", [("altered", 1, 11, "key", "value", "time")]),  # in its place, between the same two
        (
            "abcd",
            "axyd",
            [("altered", 1, 11, "key", "value", "time"), ("altered", 2, 12, "key", "value", "time")],
        ),
        ("abcd", "axd", [("lost", 1, None), ("lost", 2, None), ("extra", None, 11)]),
        ("abcd", "aacd", [("lost", 1, None), ("duplicated", None, 11)]),
        ("abc", "axxc", [("altered", 1, 11, "key", "value", "time"), ("duplicated", None, 12)]),
        ("abc", "aaxc", [("lost", 1, None), ("duplicated", None, 11), ("extra", None, 12)]),
        ("abcd", "acdx", [("lost", 1, None), ("extra", None, 13)]),  # not between the same two
    ],
)
def test_each_record_is_told_for_what_became_of_it(source, target, expected):
    found = told(block_of(log(source), log(target, first=10)))
    assert found == expected


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        (content("c")._replace(value=b"other"), ("value",)),
        (content("c")._replace(value=None), ("value",)),
        (content("c")._replace(key=b"other"), ("key",)),
        (content("c")._replace(headers=[("h", b"")]), ("headers",)),
        (content("c")._replace(timestamp_ms=5), ("time",)),
        (content("c")._replace(key=None, headers=[("h", b"")]), ("key", "headers")),
    ],
)
def test_what_was_altered_is_known_by_the_parts_that_agree(changed, what):
    # b is lost beside it: only what agrees tells which of the two stands there.
    block = block_of(log("abcd"), log("acd", first=10, c=changed))
    assert told(block) == [("altered", 2, 11, *what), ("lost", 1, None)]
    (altered, _) = differences(block)
    assert altered.target_hash == record_hash(changed)
    assert (altered.timestamp_ms, altered.target_timestamp_ms) == (
        content("c").timestamp_ms,
        changed.timestamp_ms,
    )
    assert altered.proof is Proof.READING


def test_one_part_that_agrees_tells_where_it_is_the_only_one():
    changed = Content(b"other", b"other", content("c").timestamp_ms)
    block = block_of(log("abcd"), log("acd", first=10, c=changed))
    assert told(block) == [("altered", 2, 11, "key", "value"), ("lost", 1, None)]


def test_where_it_is_not_plain_what_became_what_nothing_is_said_to_be_altered():
    same = {"b": Content(b"k", b"1", 7), "c": Content(b"k", b"2", 7)}
    changed = Content(b"k", b"3", 7)
    block = block_of(log("abcd", **same), log("axd", first=10, x=changed))
    assert told(block) == [("lost", 1, None), ("lost", 2, None), ("extra", None, 11)]


def test_where_every_record_is_altered_and_some_are_lost_each_is_told():
    # A converter changes all values; only keys and times tell which is which.
    letters = "abcdefghijklmnop"
    changed = {letter: content(letter)._replace(value=b"other " + letter.encode()) for letter in letters}
    found = differences(block_of(log(letters), log(letters.replace("f", "").replace("k", ""), **changed)))
    assert [one.source.first for one in found if one.verdict is V.LOST] == [5, 10]
    assert [one.source.first for one in found if one.verdict is V.ALTERED] == [
        place for place in range(16) if place not in (5, 10)
    ]
    assert len(found) == 16


def test_two_parts_tell_more_than_one():
    # By its time alone x could be b as well; by key and time it is c.
    same_time = {"b": Content(b"b", b"1", 7), "c": Content(b"c", b"2", 7)}
    block = block_of(log("abcd", **same_time), log("axd", first=10, x=Content(b"c", b"3", 7)))
    assert told(block) == [("altered", 2, 11, "value"), ("lost", 1, None)]


def test_nulls_agree_with_any_other_and_so_tell_nothing():
    bare = {"b": Content(None, None, 7), "c": Content(None, None, 8)}
    block = block_of(log("abcd", **bare), log("axd", first=10, x=Content(None, None, 9)))
    assert told(block) == [("lost", 1, None), ("lost", 2, None), ("extra", None, 11)]


def test_a_record_whose_cell_is_the_same_on_both_sides_went_elsewhere_in_the_partition():
    missing = record_hash(content("b"))
    of_b = (content("b").timestamp_ms // 10, missing % 4)
    for cells, expected in (([of_b], "lost"), ([], "reordered")):
        assert told(block_of(log("abc"), log("ac"), cells=cells)) == [(expected, 1, None)]
    for cells, expected in (([of_b], "extra"), ([], "reordered")):
        assert told(block_of(log("ac"), log("abc"), cells=cells)) == [(expected, None, 1)]


def test_a_record_that_is_known_to_lack_is_lost_whatever_else_its_cell_holds():
    block = block_of(log("abc"), log("ac"), cells=[])
    asked = replace(block.asked, hashes=frozenset({record_hash(content("b"))}))
    assert told(block._replace(asked=asked)) == [("lost", 1, None)]


def test_times_that_are_left_out_are_not_told():
    retimed = content("b")._replace(timestamp_ms=5)
    assert told(block_of(log("abc"), log("abc", b=retimed), timestamps=False)) == []
    (lost,) = differences(
        block_of(log("abc"), log("ac"), timestamps=False, cells=[(0, cell) for cell in range(4)])
    )
    assert (lost.verdict, lost.timestamp_ms) == (V.LOST, None)


def test_what_the_digests_prove_to_be_altered_is_believed_unless_it_is_a_second_copy():
    # Nothing agrees and the neighbours moved, but the order sums tell that they are one.
    block = block_of(log("abcd"), log("xabd", first=10), altered=[(2, 10)])
    assert told(block)[0] == ("altered", 2, 10, "key", "value", "time")
    block = block_of(log("abcd"), log("aacd", first=10), altered=[(1, 11)])
    assert told(block) == [("lost", 1, None), ("duplicated", None, 11)]
    block = block_of(log("abcd"), log("abcd", first=10), altered=[(7, 99)])  # retention took them
    assert told(block) == []


def test_a_second_copy_of_what_the_digests_prove_to_be_altered_is_that():
    x = content("b")._replace(value=b"other")
    told_altered = ("altered", 1, 11, "value")
    for altered in ([], [(1, 11)]):
        block = block_of(log("abc"), log("axxc", first=10, x=x), altered=altered)
        assert told(block) == [told_altered, ("duplicated", None, 12)]
    # Nor is it a record that lacks beside it, altered too.
    block = block_of(log("abdc"), log("axxc", first=10, x=x), altered=[(1, 11)])
    assert told(block) == [told_altered, ("lost", 2, None), ("duplicated", None, 12)]


def test_places_are_exact():
    (lost,) = differences(block_of(log("abc", first=7), log("ac")))
    assert (lost.source, lost.target, lost.records) == (OffsetRange(8, 9), None, 1)
    assert (lost.hash, lost.timestamp_ms) == (record_hash(content("b")), content("b").timestamp_ms)
