"""The longest sequence that two logs have in common."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum import sequence_order as module
from checksum.sequence_order import in_order


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
    ],
)
def test_as_many_as_can_be_stand_in_order(source, target, expected):
    assert in_order([ord(one) for one in source], [ord(one) for one in target]) == expected


def longest(source, target):
    """By the table that everyone knows, slow and plain."""
    above = [0] * (len(target) + 1)
    for one in source:
        row = [0]
        for index, other in enumerate(target):
            row.append(above[index] + 1 if one == other else max(row[-1], above[index + 1]))
        above = row
    return above[-1]


SEQUENCES = st.lists(st.integers(0, 6), max_size=25)


@given(SEQUENCES, SEQUENCES)
def test_it_is_a_common_sequence_and_the_longest(source, target):
    found = in_order(source, target)
    assert all(source[here] == target[there] for here, there in found)
    assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(found))
    assert len(found) == longest(source, target)


@given(SEQUENCES, SEQUENCES)
def test_of_records_that_are_there_very_often_what_it_tells_is_still_a_common_sequence(source, target):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_PAIRS", 3)
        found = in_order(source, target)
        assert all(source[here] == target[there] for here, there in found)
        assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(found))
        assert len(in_order(source, source)) == len(source)
