"""Near numbers against a plain array: whatever is written is what is read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagmon.arrays.near_numbers import NearNumbers

ROWS, LENGTH = 6, 4
numbers = st.one_of(
    st.integers(-1, 20),
    st.sampled_from([2**31 - 2, 2**31 - 1, 2**31, 2**31 + 5, 2**32, 1_790_000_000_000, 2**62, 2**63 - 1]),
    st.integers(1_790_000_000_000, 1_790_000_900_000),
)
some_rows = st.lists(st.integers(0, ROWS - 1), min_size=1, max_size=ROWS, unique=True)


@st.composite
def changes(draw):
    kind = draw(st.sampled_from(["cells", "column", "rows", "push", "clear", "hold"]))
    rows = draw(some_rows)
    filled = st.lists(numbers, min_size=len(rows) * LENGTH, max_size=len(rows) * LENGTH)
    return kind, rows, draw(filled), draw(st.integers(0, LENGTH - 1)), draw(st.integers(1, LENGTH))


def change(plain, near, one):
    """Do the same to both; return the plain one, which may be larger then."""
    kind, rows, drawn, column, count = one
    at, block = np.array(rows, np.int32), np.array(drawn, np.int64).reshape(len(rows), LENGTH)
    if kind == "cells":
        for kept in (plain, near):
            kept[rows[0], column] = block[0, 0]
    elif kind == "column":
        for kept in (plain, near):
            kept[at, column] = block[:, 0]
    elif kind == "rows":
        for kept in (plain, near):
            kept[at] = block
    elif kind == "push":
        source = np.minimum(np.arange(LENGTH) + count, LENGTH - 1)[None, :].repeat(len(rows), axis=0)
        new_at = (np.arange(len(rows))[:, None] * LENGTH + np.arange(LENGTH - count, LENGTH)).reshape(-1)
        near.push(at, source, new_at, block[:, LENGTH - count :].reshape(-1))
        plain[at, : LENGTH - count] = plain[at, count:]
        plain[at, LENGTH - count :] = block[:, LENGTH - count :]
    elif kind == "clear":
        near.clear(at)
        plain[at] = -1
    else:
        near.hold(len(plain) + 1)
        plain = np.concatenate((plain, np.full((1, LENGTH), -1, np.int64)))
    return plain


@given(st.lists(changes(), max_size=14), st.booleans())
@settings(deadline=None, max_examples=300)
def test_what_is_written_is_what_is_read(drawn, anchored):
    plain, near = np.full((ROWS, LENGTH), -1, np.int64), NearNumbers(ROWS, LENGTH, anchored=anchored)
    for one in drawn:
        plain = change(plain, near, one)
        assert near[:].shape == plain.shape
        assert len(near) == len(plain)
        every, odd = np.arange(ROWS), np.arange(ROWS) % 2 == 1
        turned = every % LENGTH
        for key in (
            slice(None),
            slice(2, 5),
            every[::-1],
            odd.nonzero()[0],
            3,
            (slice(None), -1),
            (slice(1, None), slice(1, 3)),
            (every, turned),
            (every, slice(-1, None)),
            (2, 1),
            (2, slice(1, None)),
            np.zeros(0, np.int32),
        ):
            found = near[key]
            assert np.array_equal(found, plain[key]), key
            assert found.dtype == np.int64
        assert np.array_equal(near[np.resize(odd, len(plain))], plain[np.resize(odd, len(plain))])


def test_what_is_read_is_a_copy():
    near = NearNumbers(2, 3)
    near[1] = [1, 2, 3]
    seen = near[:]
    near[1, 2] = 9
    seen[0, 0] = 4
    assert (seen[1, 2], near[0, 0]) == (3, -1)


@pytest.mark.parametrize("anchored", [False, True])
def test_rows_that_are_wide_for_a_while_leave_no_room_behind(anchored):
    near = NearNumbers(100, 10, anchored=anchored)
    least = near.nbytes
    near[np.arange(100), 0] = 7
    near[np.arange(100), 9] = 2**60
    assert near.nbytes > least
    near[np.arange(100), 9] = 8
    assert near.nbytes == least


def test_a_hundred_thousand_rows_take_half_of_what_an_array_takes():
    near = NearNumbers(100_000, 10)
    near[np.arange(100_000)] = 1_790_000_000_000 + np.arange(10) * 5_000
    assert near.nbytes == 100_000 * (10 * 4 + 8)
