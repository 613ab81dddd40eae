"""What is known of offsets beside the windows: since when they stand, and before which look they were known."""

from __future__ import annotations

from operator import itemgetter
from random import Random

import numpy as np
import pytest

from lagmon.groups.rings import Rings


@pytest.fixture(params=[False, True], ids=["plain", "near"])
def rings(request):
    return Rings(near=request.param)


def commit(rings, *commits, slots=None, live=True, read_ms=None):
    """Take commits of (offset, committed_ms) in, of slot 3 unless others are told, at once or at an instant."""
    at = np.array(slots or [3] * len(commits), np.int32)
    offset, made_ms = (np.array(one, np.int64) for one in zip(*commits, strict=True))
    rings.note_moves(at, offset, made_ms, read_ms=read_ms or int(made_ms[-1]), live=live)
    rings.append(at, offset, made_ms, np.full(len(at), -1, np.int64), live=live)


def test_an_offset_stands_since_it_was_committed_first(rings):
    commit(rings, (5, 100))
    commit(rings, (5, 200), (5, 300))
    assert rings.moved_ms[3] == 100
    commit(rings, (5, 400), (6, 500), (6, 600))
    assert rings.moved_ms[3] == 600
    commit(rings, (7, 700), (6, 800))
    assert rings.moved_ms[3] == 800


def test_of_what_was_there_before_the_broker_tells_when_it_was_made(rings):
    commit(rings, (5, 100), (6, 200), (6, 300), live=False, read_ms=900)
    commit(rings, (6, 400), live=False, read_ms=900)
    assert rings.moved_ms[3] == 200


@pytest.mark.parametrize("ahead_ms", [-600_000, 0, 600_000])
def test_and_the_first_commit_that_is_read_as_it_comes_how_far_its_clock_is_from_ours(rings, ahead_ms):
    backlog = [
        (offset, at_ms + ahead_ms) for offset, at_ms in ((5, 1_000_100), (6, 1_000_200), (6, 1_000_300))
    ]
    commit(rings, *backlog, live=False, read_ms=1_000_900)
    commit(rings, (6, 1_001_000 + ahead_ms), (6, 1_001_100 + ahead_ms), read_ms=1_001_100)
    assert rings.moved_ms[3] == 1_000_200
    commit(rings, (6, 1_002_000 + ahead_ms), read_ms=1_002_700)  # late: that tells nothing more of the clock
    assert rings.moved_ms[3] == 1_000_200
    commit(rings, (7, 1_003_000 + ahead_ms), read_ms=1_003_100)
    assert rings.moved_ms[3] == 1_003_100


def test_slots_of_one_batch_are_told_apart(rings):
    commit(rings, (5, 100), (5, 200), (5, 300), slots=[1, 1, 2], live=False)
    assert rings.moved_ms[[1, 2]].tolist() == [100, 300]


def test_an_offset_is_known_before_a_look_that_comes_after_the_look_that_found_it(rings):
    rows = np.array([3])
    commit(rings, (5, 100))
    rings.note_poll(rows)
    assert rings.known_before[3] == -1
    commit(rings, (9, 200))
    rings.note_poll(rows)
    assert rings.known_before[3] == 5
    rings.note_poll(np.array([4]))
    assert rings.known_before[3] == 5


def test_what_is_cleared_is_of_another(rings):
    rows = np.array([3])
    commit(rings, (5, 100))
    rings.note_poll(rows)
    rings.note_poll(rows)
    rings.clear(rows.astype(np.int32))
    assert (rings.moved_ms[3], rings.known_before[3]) == (-1, -1)
    rings.note_poll(rows)
    assert rings.known_before[3] == -1


def test_more_slots_know_nothing(rings):
    rings.hold(5000)
    assert set(rings.moved_ms[1024:].tolist()) == set(rings.known_before.tolist()) == {-1}
    commit(rings, (5, 100), slots=[4999])
    rings.note_poll(np.array([4999]))
    rings.note_poll(np.array([4999]))
    assert (rings.moved_ms[4999], rings.known_before[4999]) == (100, 5)


@pytest.mark.parametrize("looks", [False, True])
def test_more_slots_change_nothing_of_those_there_nor_what_somebody_looks_at(rings, looks):
    commit(rings, (5, 100), (9, 200), slots=[7, 7])
    seen = rings.offset[:8] if looks else None
    rings.hold(100_000)
    assert rings.offset[7, -2:].tolist() == [5, 9]
    assert (rings.offset[1024:] == -1).all()
    assert (int(rings.filled[7]), set(rings.filled[1024:].tolist())) == (2, {0})
    if looks:
        rings.clear(np.array([7], np.int32))
        assert seen[7, -2:].tolist() == [5, 9]


HOUR = 3_600_000


def test_the_usual_pause_is_the_shorter_of_the_last_two_that_ended_with_progress(rings):
    every = slice(3, 4)
    commit(rings, (5, 1_000))
    commit(rings, (6, 31_000), (7, 62_000))
    assert rings.usual_pause_ms(every).tolist() == [-1]
    commit(rings, (8, HOUR))
    assert rings.usual_pause_ms(every).tolist() == [-1]  # one may be an outage
    commit(rings, (9, 2 * HOUR), (10, 2 * HOUR + 5_000))
    assert rings.usual_pause_ms(every).tolist() == [HOUR - 62_000]
    commit(rings, (10, 3 * HOUR), (11, 3 * HOUR + 5_000))  # the same offset again ends no pause
    commit(rings, (3, 4 * HOUR))  # nor does a step back
    assert rings.usual_pause_ms(every).tolist() == [HOUR - 62_000]
    rings.clear(np.array([3], np.int32))
    assert rings.usual_pause_ms(every).tolist() == [-1]


@pytest.mark.parametrize("live", [False, True])
def test_pauses_of_one_batch_are_those_of_their_slots(rings, live):
    commit(
        rings,
        *((offset, offset * HOUR) for offset in (1, 2, 4, 7)),
        *((offset, offset * HOUR) for offset in (1, 3)),
        slots=[3, 3, 3, 3, 4, 4],
        live=live,
    )
    assert rings.usual_pause_ms(slice(3, 5)).tolist() == [2 * HOUR, -1]
    commit(rings, (5, 4 * HOUR), slots=[4], live=live)
    assert rings.usual_pause_ms(slice(3, 5)).tolist() == [2 * HOUR, HOUR]


@pytest.mark.parametrize("size", [1, 2, 3, 50])
@pytest.mark.parametrize("seed", range(5))
def test_the_last_step_back_is_kept_until_its_offset_is_reached_again(rings, size, seed):
    """However commits of several slots were batched, and whatever the window still holds."""
    random = Random(seed)
    commits = [(random.choice([1, 2, 3]), random.choice([0, 5, 6, 7, 8, 9]), at) for at in range(100, 150)]
    for first in range(0, len(commits), size):
        batch = sorted(commits[first : first + size], key=itemgetter(0))
        commit(rings, *(one[1:] for one in batch), slots=[one[0] for one in batch])
    assert rings.went_back(slice(0, 4)).tolist() == [
        [-1, -1, -1],
        *(_last_step_back([one[1:] for one in commits if one[0] == slot]) for slot in (1, 2, 3)),
    ]
    rings.hold(5000)
    rings.clear(np.array([1, 2, 3]))
    assert (rings.went_back(slice(None)) == -1).all()
    assert len(rings.went_back(slice(None))) >= 5000


def _last_step_back(commits):
    highest = max(offset for offset, _ in commits)
    after = len(commits) - [offset for offset, _ in commits][::-1].index(highest)
    return [highest, *commits[after]] if after < len(commits) else [-1, -1, -1]


def test_nothing_is_kept_while_nobody_goes_back(rings):
    commit(rings, (5, 100), (6, 200), (6, 300))
    assert rings.went_back(slice(None)) is None
