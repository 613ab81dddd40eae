"""What is skipped and repeated, counted by content."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirrorwatch.migration.comparing import LOOK_BACK, Compared, Window, compare, window_of
from tests.mirrorwatch.migration.positions import position


@pytest.mark.parametrize(
    ("found", "starts", "window"),
    [
        (position(), (0, 0), Window(99, 99, exact=True)),
        (position(sync=(90, 190), target_end=200), (90, 190), Window(90, 190, exact=True)),
        # the source has deleted the record of the sync, but none after the position
        (position(sync=(90, 90)), (95, 0), Window(100, 0, exact=False)),
        (position(sync=(90, 90)), (0, 91), None),
        (position(sync=None, target_end=LOOK_BACK + 5), (0, 0), Window(100, 5, exact=False)),
        (position(sync=None, target_end=None), (0, 0), Window(100, 0, exact=False)),
        (position(offset=None, sync=None, target_end=30), (0, 0), Window(0, 0, exact=True)),
        (position(offset=None, sync=None, target_end=30), (0, 7), Window(0, 7, exact=False)),
        # of what it deleted after the position nothing can be read
        (position(sync=(90, 90)), (120, 0), Window(120, 0, exact=False)),
    ],
)
def test_both_windows_begin_with_the_same_record_where_a_sync_says_so(found, starts, window):
    assert window_of(found, source_start=starts[0], target_start=starts[1]) == window


def old(contents):
    return [(False, one) for one in contents]


def numbered(values, first=0):
    return [(first + number, value) for number, value in enumerate(values)]


@pytest.mark.parametrize(
    ("source", "target", "passed", "found"),
    [
        ("abc", "abc", 3, Compared(3, 0, 0)),
        ("abc", "ac", 3, Compared(3, 1, 0, first_missing=1)),
        ("abc", "abbc", 3, Compared(3, 0, 1)),
        ("abc", "ab", 2, Compared(2, 0, 0)),  # the last is not passed yet
        ("abc", "abc", 2, Compared(2, 0, 0)),  # and may be there already
        ("abc", "xabyc", 3, Compared(3, 0, 0)),  # foreign records are nobody's repetition
        ("aab", "ab", 3, Compared(3, 1, 0, first_missing=1)),
        ("aab", "aaab", 3, Compared(3, 0, 1)),
        ("aaa", "aa", 2, Compared(2, 0, 0, bounded=True)),  # one of them may be the third
        ("aabc", "aab", 3, Compared(3, 0, 0)),  # the later one is like none of them
        ("abcc", "ab", 2, Compared(2, 0, 0, bounded=True)),  # one of them may be there twice
        ("", "", 0, Compared(0, 0, 0)),
    ],
)
def test_records_are_counted_by_content(source, target, passed, found):
    assert compare(numbered(source), old(target), passed) == found


@given(
    length=st.integers(1, 60),
    cuts=st.lists(st.integers(0, 60), min_size=4, max_size=4),
    dropped=st.sets(st.integers(0, 59)),
    foreign=st.integers(0, 3),
)
def test_a_move_is_counted_as_it_was(length, cuts, dropped, foreign):
    committed, replicated, passed, on_target = (min(one, length) for one in sorted(cuts))
    # The old mirror has replicated up to `replicated`, the new one continues after `committed`.
    source = [b"%d" % number for number in range(length)]
    again = [source[number] for number in range(committed, on_target) if number not in dropped]
    since = [*[b"foreign"] * foreign, *again]
    target = [*old(source[:replicated]), *((True, one) for one in since)]
    found = compare(numbered(source), target, passed)
    there = {content for _, content in target}
    assert found.passed == passed
    assert found.missing == sum(one not in there for one in source[:passed])
    assert found.repeated == sum(number not in dropped for number in range(committed, replicated))
    assert found.strange == foreign
    assert not found.bounded
