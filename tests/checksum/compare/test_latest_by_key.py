"""Compacted topics: what differs in the last record of a key, and what compaction alone explains."""

from __future__ import annotations

import pytest

from checksum.compare.latest_by_key import latest_differences
from checksum.digest.record_hash import Content
from checksum.plan.shape import OffsetRange
from tests.checksum.pretend_logs import Held, read


def log(text):
    """Records as `key value time`, `-` for a tombstone's value; offsets count from 0, `.` is a gap."""
    held = []
    for offset, one in enumerate(text.split()):
        if one != ".":
            key, value, time_ms = one.split("/")
            content = Content(key.encode(), None if value == "-" else value.encode(), int(time_ms))
            held.append(Held(offset, content))
    return held


def told(source, target, *, timestamps=True):
    sides = (read(log(text), OffsetRange(0, 99), timestamps=timestamps) for text in (source, target))
    found = [one.finding for one in latest_differences("t", 0, *sides, timestamps=timestamps)]
    return [
        (str(one.verdict), one.source and one.source.first, one.target and one.target.first) for one in found
    ]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("", ""),
        ("a/1/5", "a/1/5"),
        ("a/1/5 a/2/6", "a/2/6"),  # compacted on one side only
        (". a/2/6", "a/1/5 a/2/6"),
        ("a/1/5 a/-/6", ""),  # the tombstone is gone, and so is every value
        ("", "a/1/5 a/-/6"),
        ("a/-/6", "a/-/6"),
        ("a/1/5 b/1/5", "b/1/5 a/1/5"),
    ],
)
def test_what_compaction_explains_is_no_difference(source, target):
    assert told(source, target) == []


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("a/1/5", "", [("lost", 0, None)]),
        ("", "a/1/5", [("extra", None, 0)]),
        ("a/1/5 a/-/6", "a/1/5", [("lost", 1, None)]),  # a live value for a key with a tombstone
        (". a/-/6", "a/1/5", [("lost", 1, None)]),
        ("a/1/5 a/2/6", "a/1/5", [("lost", 1, None)]),  # its last record, the one before is there
        (". a/2/6", "a/1/5", [("lost", 1, None)]),  # an older one that the source does not hold any more
        ("a/1/5", "a/x/5", [("altered", 0, 0)]),
        ("a/1/5", "a/1/5 a/9/9", [("lost", 0, None), ("extra", None, 1)]),
        ("a/1/5", "a/-/9", [("lost", 0, None), ("extra", None, 0)]),
        ("a/1/5 b/1/5", "b/2/5", [("lost", 0, None), ("altered", 1, 0)]),
    ],
)
def test_the_last_records_of_keys_are_compared(source, target, expected):
    assert told(source, target) == expected


def test_without_times_nothing_is_said_of_which_is_older():
    assert told("a/1/5", "a/1/999", timestamps=False) == []
    assert told("a/1/5 a/2/6", "a/1/9", timestamps=False) == [("lost", 1, None)]
    assert told("a/2/6", "a/1/1", timestamps=False) == [("lost", 0, None), ("extra", None, 0)]


@pytest.mark.parametrize(
    ("source", "target", "tombstones"),
    [
        ("a/1/5 a/-/6", "a/1/5", [True]),
        ("a/1/5 a/-/6", "a/x/6", [True]),
        ("a/1/5", "", [False]),
        ("a/1/5", "a/-/9", [False, False]),
        ("a/-/5", "a/x/9", [True, False]),
    ],
)
def test_of_a_deletion_it_is_told_that_it_is_one(source, target, tombstones):
    sides = (read(log(text), OffsetRange(0, 99), timestamps=True) for text in (source, target))
    assert [
        one.finding.tombstone for one in latest_differences("t", 0, *sides, timestamps=True)
    ] == tombstones
