"""Who is known as of an instant is judged by where the log began then, and not by what was deleted since."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lagmon.logs.start_history import MOST_MOVES, StartHistory

PLACES = 4


def as_of(history, starts, known_ms):
    at = np.arange(PLACES, dtype=np.int32)
    return history.as_of(at, np.array(starts, np.int64), np.full(PLACES, known_ms, np.int64)).tolist()


class Log:
    """Starts of all places, read together again and again; and each reading, to be looked up one by one."""

    def __init__(self):
        self.history = StartHistory()
        self.readings = [(-1, [-1] * PLACES)]

    def read(self, read_ms, starts):
        before = self.readings[-1][1]
        places = np.arange(PLACES, dtype=np.int32)
        self.history.note(places, np.array(before, np.int64), np.array(starts, np.int64), read_ms)
        self.readings.append((read_ms, starts))

    @property
    def starts(self):
        return self.readings[-1][1]


readings = st.lists(
    st.tuples(st.integers(1, 9), st.lists(st.integers(0, 3), min_size=PLACES, max_size=PLACES)), max_size=12
)


@given(readings, st.integers(0, 120))
def test_a_start_is_the_one_that_was_read_last_by_then(steps, known_ms):
    log, now_ms = Log(), 0
    for after_ms, moves in steps:
        now_ms += after_ms
        log.read(now_ms, [max(0, one) + more for one, more in zip(log.starts, moves, strict=True)])
    wanted = [
        # The first one that was read counts from the beginning: nothing is known of what was before.
        next((starts[place] for at_ms, starts in reversed(log.readings) if 0 <= at_ms <= known_ms), None)
        for place in range(PLACES)
    ]
    first = log.readings[min(1, len(log.readings) - 1)][1]
    assert as_of(log.history, log.starts, known_ms) == [
        first[place] if one is None else one for place, one in enumerate(wanted)
    ]


def test_a_start_that_fell_is_never_higher_than_it_is_now():
    log = Log()
    log.read(10, [5] * PLACES)
    log.read(20, [9] * PLACES)
    log.read(30, [2] * PLACES)
    assert as_of(log.history, log.starts, 25) == [2] * PLACES


def test_what_is_forgotten_counts_as_it_is_now():
    log = Log()
    log.read(10, [5] * PLACES)
    log.read(20, [9] * PLACES)
    log.history.forget(np.array([1, 2], np.int32))
    assert as_of(log.history, log.starts, 15) == [5, 9, 9, 5]


def test_nobody_is_judged_as_of_what_was_let_go():
    log = Log()
    log.read(10, [5] * PLACES)
    log.read(20, [9] * PLACES)
    log.read(30, [12] * PLACES)
    log.history.let_go(20)
    assert as_of(log.history, log.starts, 15) == [9] * PLACES


def test_of_very_many_moves_the_oldest_are_told_as_one_and_never_too_late():
    log = Log()
    for turn in range(MOST_MOVES + 5):
        log.read(10 * turn, [turn] * PLACES)
    assert len(log.history._moves) == MOST_MOVES
    assert as_of(log.history, log.starts, 10 * (MOST_MOVES + 2)) == [MOST_MOVES + 2] * PLACES
    assert as_of(log.history, log.starts, 25) == [0] * PLACES
