"""The longest sequence that two logs have in common."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum.recheck import sequence_order as module
from checksum.recheck.sequence_order import in_order


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("", "", []),
        ("abc", "", []),
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "ac", [(0, 0), (2, 1)]),
        ("ac", "abc", [(0, 0), (1, 2)]),
        ("aba", "ba", [(1, 0), (2, 1)]),  # not the first a with the last
        ("abcd", "bcda", [(1, 0), (2, 1), (3, 2)]),
        ("aaa", "aa", [(0, 0), (1, 1)]),  # what both begin with, and no record twice
        ("xaya", "aza", [(1, 0), (3, 2)]),
    ],
)
def test_as_many_as_can_be_stand_in_order(source, target, expected):
    assert in_order([ord(one) for one in source], [ord(one) for one in target]) == (expected, True)


def longest(source, target):
    """By the table that everyone knows, slow and plain."""
    above = [0] * (len(target) + 1)
    for one in source:
        row = [0]
        for index, other in enumerate(target):
            row.append(above[index] + 1 if one == other else max(row[-1], above[index + 1]))
        above = row
    return above[-1]


def is_common(pairs, source, target):
    return all(source[here] == target[there] for here, there in pairs) and all(
        one[0] < other[0] and one[1] < other[1] for one, other in pairwise(pairs)
    )


SEQUENCES = st.lists(st.integers(0, 6), max_size=25)


@given(SEQUENCES, SEQUENCES)
def test_it_is_a_common_sequence_and_the_longest(source, target):
    found = in_order(source, target)
    assert found.longest
    assert is_common(found.pairs, source, target)
    assert len(found.pairs) == longest(source, target)


@given(SEQUENCES, SEQUENCES)
def test_of_records_that_are_there_very_often_what_it_tells_is_still_a_common_sequence(source, target):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MOST_PAIRS", 3)
        patch.setattr(module, "FEW_PAIRS", 2)
        patch.setattr(module, "NEAR", 1)
        found = in_order(source, target)
        assert is_common(found.pairs, source, target)
        assert not found.longest or len(found.pairs) == longest(source, target)
        assert len(in_order(source, source).pairs) == len(source)


def states(count, *, each=2):
    """Return records of which all but one of `each` are the same state."""
    return [-1 if number % each else number for number in range(count)]


def repeated(log, at, count):
    """Return a log of which so many records before a place were copied twice."""
    return [*log[:at], *log[at - count : at], *log[at:]]


@pytest.mark.parametrize("each", [2, 10])
def test_one_record_that_lacks_or_stands_twice_keeps_no_equal_one_behind_it_from_its_own(each):
    log = states(4000, each=each)
    assert len(in_order(log, log[1:]).pairs) == len(log) - 1
    assert len(in_order(log, repeated(log, 1700, 31)).pairs) == len(log)
    assert in_order(log, log[1:]).longest


@pytest.mark.parametrize("each", [2, 10, 100])
def test_where_not_all_places_are_tried_the_records_around_tell_which(each):
    log = states(4000, each=each)
    target = repeated(repeated(log, 3000, 300), 1000, 500)[1:]
    found = in_order(log, [*target[:-1], -2])  # both ends differ
    assert not found.longest
    assert len(found.pairs) == len(log) - 2


def test_a_record_that_changed_its_place_far_misleads_none_of_those_that_are_alike():
    log = states(4000)
    found = in_order(log, [*log[2:3800], *log[:2], *log[3800:-1], -2])
    assert not found.longest
    assert len(found.pairs) == len(log) - 3


def test_where_nothing_tells_the_places_apart_it_says_that_it_may_be_not_the_longest():
    chosen = random.Random(7)
    log = [chosen.randrange(2) for _ in range(4000)]
    source, target = [*log, 8], [*repeated(repeated(log, 3000, 500), 1000, 500), 9]
    found = in_order(source, target)
    assert not found.longest
    assert is_common(found.pairs, source, target)
