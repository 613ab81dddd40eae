"""The index of keys against a dictionary."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lagmon.arrays.key_index import ABSENT, KeyIndex, hashes_of

keys = st.integers(0, 300).map(lambda number: b"key-%d" % number)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.dictionaries(keys, st.booleans(), max_size=120)),
        st.tuples(st.just("drop"), st.sets(keys, max_size=120)),
        st.tuples(st.just("clear"), st.none()),
    ),
    max_size=12,
)
EVERY = [b"key-%d" % number for number in range(301)]


def find(index, wanted):
    return dict(zip(wanted, index.find(hashes_of(wanted, len(wanted))).tolist(), strict=True))


def put(index, numbers):
    index.put(hashes_of(numbers, len(numbers)), np.array(list(numbers.values()), np.int32))


@given(steps)
@settings(deadline=None)
def test_it_knows_what_a_dictionary_does(drawn):
    index, known, next_number = KeyIndex(), {}, itertools.count(2**31 - 5_000)
    for step, what in drawn:
        if step == "put":
            new = {key: -1 if passed_over else next(next_number) for key, passed_over in what.items()}
            new = {key: number for key, number in new.items() if key not in known}
            put(index, new)
            known |= new
        elif step == "drop":
            gone = [known.pop(key) for key in what if known.get(key, -1) >= 0]
            index.drop(np.array(gone, np.int32))
        else:
            index.clear()
            known.clear()
        assert len(index) == len(known)
        assert find(index, EVERY) == {key: known.get(key, ABSENT) for key in EVERY}


def test_keys_that_come_and_go_for_ever_take_no_more_room():
    index, most = KeyIndex(), 0
    for turn in range(200):
        new = {b"%d-%d" % (turn, number): number for number in range(500)}
        put(index, new)
        assert set(find(index, list(new)).values()) == set(range(500))
        index.drop(np.arange(500, dtype=np.int32))
        most = max(most, index.nbytes)
    assert len(index) == 0
    assert most < 20_000


def test_keys_of_one_home_are_told_apart():
    index = KeyIndex()
    hashes = (np.arange(700, dtype=np.int64) + (5 << 40)).astype(np.int64)  # the same upper half: one home
    index.put(hashes, np.arange(700, dtype=np.int32))
    assert index.find(hashes).tolist() == list(range(700))
    index.drop(np.arange(0, 700, 2, dtype=np.int32))
    assert index.find(hashes).tolist() == [ABSENT if one % 2 == 0 else one for one in range(700)]


def test_no_key_is_one_that_is_not_known():
    index = KeyIndex()
    put(index, {b"": 7})
    assert index.find(hashes_of([None, b"", None], 3)).tolist() == [ABSENT, 7, ABSENT]
