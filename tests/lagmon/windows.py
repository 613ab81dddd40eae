"""Windows, positions and rings for the tests of the evaluators, by hand and by Hypothesis, one and many."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from hypothesis import strategies as st

from lagmon.groups.rules.window import NEVER_BACK, Position, Positions, Window, Windows

LENGTH = 10
NOW = 1_790_000_000_000
S = 1000
MIN = 60 * S


def arrays_of_windows(windows, length=LENGTH, live=None):
    """Put windows into arrays as the rings hold them; `live` of each row, all of them by default."""
    shape = (len(windows), length)
    offset, times, lag = (np.full(shape, -1, np.int64) for _ in range(3))
    for row, window in enumerate(windows):
        if window.offsets:
            first = length - len(window.offsets)
            offset[row, first:] = window.offsets
            times[row, first:] = window.committed_ms
            lag[row, first:] = window.lags
    filled = np.array([len(window.offsets) for window in windows], np.int8)
    back = np.array([window.went_back for window in windows], np.int64).reshape(-1, 3)
    known = filled.copy() if live is None else np.array(live, np.int8)
    return Windows(offset, times, lag, filled, known, back if (back >= 0).any() else None)


def arrays_of_positions(positions):
    kinds = {"passed_exact": np.bool_}
    return Positions(
        *(
            np.array([getattr(one, field.name) for one in positions], kinds.get(field.name, np.int64))
            for field in fields(Position)
        )
    )


def window(*commits, now=NOW, went_back=NEVER_BACK):
    """Return a window of (offset, seconds before now, lag) each."""
    return Window(
        tuple(offset for offset, _, _ in commits),
        tuple(now - round(ago * S) for _, ago, _ in commits),
        tuple(lag for _, _, lag in commits),
        went_back,
    )


def position(head, *, now=NOW, seen_ago=0.0, passed_ago=None, head_ago=1.0, read_ago=0.0, **others):
    """Return a position; times in seconds before now."""
    known = {
        "head": head,
        "end": head,
        "head_at_ms": now - round(head_ago * S),
        "start": 0,
        "passed_ms": -1 if passed_ago is None else now - round(passed_ago * S),
        "passed_exact": passed_ago is not None,
        "seen_ms": now - round(seen_ago * S),
        "commits_read_to_ms": now - round(read_ago * S),
    }
    return Position(**{**known, **others})


# Times at and next to every limit that the rules have, and absurd ones.
_AGES = (
    0,
    1,
    999,
    1000,
    20 * S,
    20 * S + 1,
    MIN - 1,
    MIN,
    MIN + 1,
    3 * MIN,
    3 * MIN + 1,
    5 * MIN,
    5 * MIN + 1,
    10 * MIN,
    86_400 * S,
)
_AHEAD = (1, S, 10 * MIN, 10 * MIN + 1, 365 * 86_400 * S)
ages = st.sampled_from(_AGES) | st.integers(0, 4 * MIN) | st.sampled_from([-ahead for ahead in _AHEAD])
times = ages.map(lambda age: NOW - age) | st.sampled_from([-1, 0, 1, 2**53])
offsets = st.integers(0, 12) | st.sampled_from([-3, -1, 2**62])
lags = st.integers(-1, 6) | st.just(2**61)


@st.composite
def any_windows(draw, most=LENGTH):
    """Draw a window of whatever there may be in it; often with rising times and steady offsets."""
    count = draw(st.integers(0, most))
    wild_times, wild_offsets = (draw(st.integers(0, 5)) == 0 for _ in range(2))
    gaps = draw(st.lists(st.sampled_from([0, 1, 5 * S, 20 * S, MIN]), min_size=count, max_size=count))
    newest_ms = NOW - draw(st.sampled_from(_AGES))
    at = [newest_ms - sum(gaps[index + 1 :]) for index in range(count)]
    if wild_times:
        at = draw(st.lists(times, min_size=count, max_size=count))
    ways = draw(st.sampled_from([[0], [0, 1], [1, 3], [0, 1, 5, -2]]))
    steps = draw(st.lists(st.sampled_from(ways), min_size=count, max_size=count))
    where = [max(0, 20 + sum(steps[: index + 1])) for index in range(count)]
    if wild_offsets:
        where = draw(st.lists(offsets, min_size=count, max_size=count))
    rising = draw(st.booleans())
    told = draw(st.lists(lags, min_size=count, max_size=count))
    if rising:
        told = sorted(lag for lag in told if lag >= 0) + [lag for lag in told if lag < 0]
    back = draw(st.just(NEVER_BACK) | st.tuples(st.integers(0, 70), offsets, times))
    return Window(tuple(where), tuple(at), tuple(told), back)


_wild_positions = st.builds(
    Position,
    head=st.integers(-1, 40) | st.just(2**62),
    end=st.integers(-1, 40),
    head_at_ms=st.sampled_from([NOW, NOW - S, NOW - MIN, NOW - MIN - 1, -1]) | times,
    start=st.sampled_from([-1, 0, 0, 0, 3, 19, 20, 30]),
    passed_ms=times,
    passed_exact=st.booleans(),
    seen_ms=times,
    commits_read_to_ms=st.sampled_from([NOW, NOW, NOW - MIN, NOW - MIN - 1, -1]),
    remade_ms=st.sampled_from([-1] * 9 + [2**53]),
    members=st.sampled_from([-1, 0, 3]),
    readable_from=st.sampled_from([-1, -1, -1, 3, 19, 20, 21, 30, 40, 2**62]),
    others_moved_ms=times,
    moved_ms=times | st.just(-1),
    known_before=st.integers(-1, 50),
    left_ms=times,
    back_ms=times,
    hangs_ms=times | st.just(-1),
    usual_pause_ms=st.sampled_from([-1, 60_000, 3_600_000]),
)
_past = st.sampled_from(_AGES).map(lambda age: NOW - age)
_sane_positions = st.builds(
    Position,
    head=st.integers(20, 60),
    end=st.just(60),
    head_at_ms=st.just(NOW - S),
    start=st.sampled_from([-1, 0, 0, 0, 19]),
    passed_ms=_past | st.just(-1),
    passed_exact=st.sampled_from([True, True, False]),
    seen_ms=_past,
    commits_read_to_ms=st.just(NOW),
    members=st.sampled_from([-1, 0, 3]),
    readable_from=st.sampled_from([-1, -1, -1, 20, 21, 22, 60]),
    others_moved_ms=_past | st.just(-1),
    moved_ms=_past | st.just(-1),
    known_before=st.sampled_from([-1, -1, 60, 61]),
    left_ms=_past,
    back_ms=_past | st.just(-1),
    hangs_ms=_past | st.just(-1),
    usual_pause_ms=st.sampled_from([-1, 60_000, 3_600_000]),
)
_after_absences = st.builds(
    Position,
    head=st.just(60),
    end=st.just(60),
    head_at_ms=st.just(NOW - S),
    start=st.just(0),
    passed_ms=st.just(NOW - 10 * MIN),
    passed_exact=st.just(True),
    seen_ms=st.sampled_from([NOW - 3 * MIN, NOW - 5 * MIN]),
    commits_read_to_ms=st.just(NOW),
    members=st.sampled_from([-1, 0, 3]),
    left_ms=st.sampled_from([NOW - 2 * MIN, NOW - 3 * MIN, NOW - 4 * MIN]),
    back_ms=st.sampled_from([NOW - S, NOW - MIN, NOW - 2 * MIN + S]),
)
any_positions = st.one_of(_wild_positions, _after_absences, _sane_positions, _sane_positions, _sane_positions)
