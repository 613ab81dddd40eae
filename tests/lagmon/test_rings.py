"""What is known of offsets beside the windows: since when they stand, and before which look they were known."""

from __future__ import annotations

import numpy as np

from lagmon.rings import Rings


def commit(rings, *commits, slots=None):
    """Take commits of (offset, made_ms) in, of slot 3 unless others are told."""
    at = np.array(slots or [3] * len(commits), np.int32)
    offset, made_ms = (np.array(one, np.int64) for one in zip(*commits, strict=True))
    rings.note_moves(at, offset, made_ms)
    rings.append(at, offset, made_ms, np.full(len(at), -1, np.int64), live=True)


def test_an_offset_stands_since_it_was_committed_first():
    rings = Rings()
    commit(rings, (5, 100))
    commit(rings, (5, 200), (5, 300))
    assert rings.moved_ms[3] == 100
    commit(rings, (5, 400), (6, 500), (6, 600))
    assert rings.moved_ms[3] == 500
    commit(rings, (7, 700), (6, 800))
    assert rings.moved_ms[3] == 800


def test_slots_of_one_batch_are_told_apart():
    rings = Rings()
    commit(rings, (5, 100), (5, 200), (5, 300), slots=[1, 1, 2])
    assert rings.moved_ms[[1, 2]].tolist() == [100, 300]


def test_an_offset_is_known_before_a_look_that_comes_after_the_look_that_found_it():
    rings, rows = Rings(), np.array([3])
    commit(rings, (5, 100))
    rings.note_look(rows)
    assert rings.known_before[3] == -1
    commit(rings, (9, 200))
    rings.note_look(rows)
    assert rings.known_before[3] == 5
    rings.note_look(np.array([4]))
    assert rings.known_before[3] == 5


def test_what_is_cleared_is_of_another():
    rings, rows = Rings(), np.array([3])
    commit(rings, (5, 100))
    rings.note_look(rows)
    rings.note_look(rows)
    rings.clear(rows.astype(np.int32))
    assert (rings.moved_ms[3], rings.known_before[3]) == (-1, -1)
    rings.note_look(rows)
    assert rings.known_before[3] == -1


def test_more_slots_know_nothing():
    rings = Rings()
    rings.hold(5000)
    assert set(rings.moved_ms[1024:].tolist()) == set(rings.known_before.tolist()) == {-1}
    commit(rings, (5, 100), slots=[4999])
    rings.note_look(np.array([4999]))
    rings.note_look(np.array([4999]))
    assert (rings.moved_ms[4999], rings.known_before[4999]) == (100, 5)
