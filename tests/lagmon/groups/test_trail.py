"""Trails against their definition, whatever comes in whatever batches."""

from __future__ import annotations

from itertools import groupby

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lagmon.groups.rings import Rings
from lagmon.groups.trail import LENGTH, MOST_LAG, STEP_MS, Trail

S = 1000


class Kept:
    """A trail and the rings beside it."""

    def __init__(self):
        self.trail, self.rings = Trail(), Rings(near=True)

    def clear(self, slot):
        for kept in (self.trail, self.rings):
            kept.clear(np.array([slot], np.int32))


def put(kept, commits, *, live=True):
    """Take (slot, offset, committed_ms, lag) each in one batch."""
    columns = zip(*sorted(commits, key=lambda one: one[0]), strict=True)
    kinds = (np.int32, np.int64, np.int64, np.int64)
    slots, *others = (np.array(column, kind) for column, kind in zip(columns, kinds, strict=True))
    kept.rings.hold(int(slots.max()) + 1)
    kept.trail.hold(len(kept.rings.filled))
    kept.trail.take(kept.rings, slots, *others, live=live)
    kept.rings.append(slots, *others, live=live)


def held(kept, slot):
    """Return what stands in a row as (offset, committed_ms, lag), oldest first."""
    *arrays, filled = kept.trail.close(kept.rings, slice(slot + 1))
    first = LENGTH - int(filled[slot])
    assert (arrays[0][slot, :first] == -1).all()
    assert (arrays[1][slot, :first] == -1).all()
    return list(zip(*(array[slot, first:].tolist() for array in arrays), strict=True))


def defined(commits):
    """Say what should stand of one slot's commits (offset, committed_ms, lag), word by word."""
    columns = []
    for one in commits:
        if columns and columns[-1][1] // STEP_MS == one[1] // STEP_MS and one[0] >= columns[-1][0]:
            columns[-1] = one
        else:
            columns.append(one)
    *settled, newest = columns
    kept = []
    for _, plateau in groupby(settled, key=lambda one: one[0]):
        first, *rest = plateau
        kept += [first, *rest[-1:]]
    return [*kept, (*newest[:2], -1)][-LENGTH:]


slots = st.sampled_from((0, 3, 3, 1500))
gaps_ms = st.sampled_from((0, 100, 5 * S, 15 * S, 40 * S, -20 * S))
commits_of_many = st.lists(st.tuples(slots, st.integers(0, 3), gaps_ms, st.integers(0, 9)), max_size=80)


@given(commits_of_many, st.lists(st.integers(1, 40), min_size=1, max_size=12))
@settings(deadline=None, max_examples=300)
def test_what_stands_is_what_is_defined_however_the_commits_are_cut(drawn, cuts):
    commits, at_ms = [], 1_790_000_000_000
    for slot, offset, gap_ms, lag in drawn:
        at_ms += gap_ms
        commits.append((slot, offset, at_ms, lag))
    trail, rest, sizes = Kept(), commits, iter(cuts * 80)
    while rest:
        size = next(sizes)
        put(trail, rest[:size])
        rest = rest[size:]
    for slot in {one[0] for one in commits}:
        assert held(trail, slot) == defined([one[1:] for one in commits if one[0] == slot])


def test_a_trail_spans_minutes_however_often_commits_come():
    for gap_ms in (10, 100, 1000, 5 * S, 8 * S, 14_999, 15 * S):
        trail = Kept()
        times = range(0, 600 * S, gap_ms)
        for first in range(0, len(times), 1000):
            put(trail, [(0, at_ms, at_ms, 0) for at_ms in times[first : first + 1000]])
        found = held(trail, 0)
        assert len(found) == LENGTH
        assert found[-1][1] == times[-1]
        assert found[-1][1] - found[0][1] >= 120 * S, gap_ms


def test_a_step_back_is_not_lost_among_commits_of_the_same_moment():
    trail = Kept()
    put(trail, [(0, offset, offset, 0) for offset in range(1000, 1100)])
    put(trail, [(0, 40, 1101, 9), (0, 41, 1102, 8)])
    assert [offset for offset, _, _ in held(trail, 0)] == [1099, 41]


def test_since_when_a_group_stands_is_not_forgotten_nor_how_it_moved_before():
    trail = Kept()
    put(trail, [(0, 10 * number, number * STEP_MS, 5) for number in range(5)])
    for number in range(5, 1000):
        put(trail, [(0, 40, number * STEP_MS, 50)])
    offsets = [offset for offset, _, _ in held(trail, 0)]
    assert offsets == [0, 10, 20, 30, 40, 40, 40]
    assert [at_ms // STEP_MS for _, at_ms, _ in held(trail, 0)][-3:] == [4, 998, 999]


def test_lags_of_what_was_not_read_as_it_came_are_not_known_and_the_largest_are_cut_off():
    trail = Kept()
    put(trail, [(0, 1, 0, 7)], live=False)
    put(trail, [(0, 2, STEP_MS, 2**60)])
    put(trail, [(0, 3, 2 * STEP_MS, 5)])
    assert [lag for _, _, lag in held(trail, 0)] == [-1, MOST_LAG, -1]


def test_a_lag_is_measured_anew_where_the_end_of_its_moment_is_known():
    kept = Kept()
    put(kept, [(row, 10, 0, 7) for row in range(3)])
    put(kept, [(row, 11, STEP_MS, 7) for row in range(3)])
    kept.trail.measure(np.array([0, 1]), np.array([30, -1]))
    assert [held(kept, row)[0][2] for row in range(3)] == [20, 7, 7]


def test_a_row_that_is_cleared_holds_nothing():
    trail = Kept()
    put(trail, [(0, 1, 0, 7), (1, 2, 0, 7)])
    trail.clear(0)
    assert (held(trail, 0), held(trail, 1)) == ([], [(2, 0, -1)])


def test_no_commits_are_no_trouble():
    none = np.zeros(0, np.int64)
    kept = Kept()
    kept.trail.take(kept.rings, none.astype(np.int32), none, none, none, live=True)
    assert held(kept, 0) == []
