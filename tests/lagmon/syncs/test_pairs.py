"""Segments of offset syncs, and what they tell of an offset's place on the target."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagmon.syncs.pairs import restarted, segments, translate
from tests.lagmon.sync_records import pairs, runs


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([(0, 0)], [(0, 0)]),
        ([(0, 7), (100, 107), (200, 207)], [(0, 2)]),  # constant
        ([(0, 7), (100, 107), (201, 207), (301, 307), (402, 407)], [(0, 4)]),  # markers: it only falls
        ([(0, 7), (100, 107), (200, 217), (300, 317)], [(0, 3)]),  # it only rises
        ([(0, 7), (101, 107), (201, 217), (301, 317)], [(0, 1), (2, 3)]),  # falls, then rises
        ([(0, 7), (100, 117), (200, 217), (301, 317)], [(0, 2), (3, 3)]),  # rises, is constant, falls
        ([(0, 7), (100, 107), (50, 157), (150, 257)], [(0, 1), (2, 3)]),  # it went back
        ([(0, 7), (100, 107), (200, 0), (300, 100)], [(0, 1), (2, 3)]),  # the target was made anew
        ([(0, 7), (100, 107), (100, 107), (200, 207)], [(0, 3)]),  # told twice
        ([(0, 7), (100, 107), (100, 110)], [(0, 1), (2, 2)]),  # the same record copied twice
    ],
)
def test_segments(rows, expected):
    assert segments(pairs(*rows)) == expected


@pytest.mark.parametrize(
    ("upstream", "expected"),
    [(99, None), (100, 110), (101, 111), (199, 111), (200, 210), (5000, 211)],
)
def test_translation_is_the_copy_or_the_record_behind_the_newest_pair(upstream, expected):
    assert translate(pairs((100, 110), (200, 210)), upstream) == expected


@pytest.mark.parametrize(
    ("upstream", "expected"), [(300, 311), (150, 411), (140, 410), (139, None), (100, None)]
)
def test_translation_asks_nothing_from_before_the_mirror_began_anew(upstream, expected):
    after = pairs((100, 110), (300, 310), (140, 410))
    if upstream == 300:
        after = after[:2]
        expected = 310
    assert translate(after, upstream) == expected


@given(runs(), st.integers(0, 20_000))
def test_a_translated_offset_skips_no_record_that_the_pairs_know(found, upstream):
    told = translate(found, upstream)
    if told is None:
        return
    for index in range(len(found) - 1, -1, -1):
        pair = found[index]
        # A copy of a record that is still to be read lies at the told offset or behind it.
        assert pair.upstream < upstream or pair.downstream >= told
        if index and restarted(found[index - 1], pair):
            break


@given(runs())
def test_segments_cover_every_pair_once_and_hold_no_step_back(found):
    told = segments(found)
    assert [index for first, last in told for index in range(first, last + 1)] == list(range(len(found)))
    for first, last in told:
        run = found[first : last + 1]
        assert not any(map(restarted, run, run[1:]))
        differences = [pair.difference for pair in run]
        assert differences in (sorted(differences), sorted(differences, reverse=True))
