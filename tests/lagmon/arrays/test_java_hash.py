"""Where a group's commits stand: vectors of java.lang.String.hashCode, worked out with Java itself."""

from __future__ import annotations

import pytest

from lagmon.arrays.java_hash import partition_of


@pytest.mark.parametrize(
    ("group", "hash_code"),
    [
        ("", 0),
        ("a", 97),
        ("abc", 96354),
        ("hello world", 1794106052),
        ("polygenelubricants", -(1 << 31)),  # the smallest number, whose absolute value is none
        ("console-consumer-12345", None),
    ],
)
def test_the_partition_follows_from_javas_hash(group, hash_code):
    if hash_code is None:
        assert 0 <= partition_of(group, 50) < 50
        return
    expected = 0 if hash_code == -(1 << 31) else abs(hash_code) % 50
    assert partition_of(group, 50) == expected
    assert partition_of(group, 1) == 0


def test_a_character_beyond_the_basic_plane_counts_as_its_two_units():
    high, low = 0xD83D, 0xDE00
    assert partition_of("\U0001f600", 1000) == (31 * high + low) % 1000
