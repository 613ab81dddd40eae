"""Where a log ended at an instant: on the line between two looks, and not known outside of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lagmon.logs.heads import Heads
from tests.lagmon.windows import NOW, S


def heads(*looks):
    one = Heads()
    place = one.claim(1)
    for ago_s, end in looks:
        one.note(place, np.array([end]), NOW - ago_s * S)
    return one, place


def at(one, place, ago_s):
    return int(one.end_at(place, np.array([NOW - round(ago_s * S)]))[0])


def test_the_end_lies_on_the_line_between_the_looks_around_an_instant():
    one, place = heads((30, 100), (20, 200), (10, 200))
    assert [at(one, place, ago) for ago in (30, 25, 20, 15, 10)] == [100, 150, 200, 200, 200]


def test_nothing_is_known_before_the_first_look_nor_after_the_last():
    one, place = heads((30, 100), (20, 200))
    assert at(one, place, 30.001) == -1
    assert at(one, place, 19.999) == -1
    assert at(*heads(), 10) == -1
    assert at(*heads((30, 100)), 30) == 100


def test_at_a_look_that_followed_a_long_time_without_any_the_end_is_that_looks():
    looks = [(2000 - 10 * number, number) for number in range(30)]
    one, place = heads(*looks, (900, 500), *((800 - 10 * number, 600 + number) for number in range(20)))
    assert [at(one, place, ago) for ago in (1710, 900)] == [29, 500]


@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(0, 1000)), min_size=2, max_size=60),
    st.integers(0, 2400),
)
def test_an_end_at_an_instant_is_between_the_ends_of_the_looks_around_it(steps, ago):
    one = Heads()
    place = one.claim(1)
    now, end, looks = NOW, 0, []
    for gap_s, more in steps:
        now, end = now + gap_s * S, end + more
        one.note(place, np.array([end]), now)
        looks.append((now, end))
    instant = now - ago * S
    found = int(one.end_at(place, np.array([instant]))[0])
    before = [end for at_ms, end in looks if at_ms <= instant]
    after = [end for at_ms, end in looks if at_ms >= instant]
    if not before or not after:
        assert found == -1
    else:
        # Thinned looks are not there any more, but ends never fall.
        assert looks[0][1] <= found <= end
        if len(looks) <= 10:
            assert before[-1] <= found <= after[0]
