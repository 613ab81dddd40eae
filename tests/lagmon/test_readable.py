"""Which ends of logs are looked at, and what is known of them afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagmon.readable import AGAIN_MS, MOST_OFFSETS, STANDS_MS, Readable, Readers, Seen, Stretch

NOW = 1_790_000_000_000


def readers(*rows, standing_ms=STANDS_MS):
    """Return readers of (place, offset, head) each."""
    places, offsets, heads = (np.array(column) for column in zip(*rows, strict=True))
    return Readers(places.astype(np.int32), offsets, heads, np.full(len(rows), standing_ms, np.int64))


def due(readable, *rows, now_ms=NOW, settled=True, most=500, **others):
    return readable.due(readers(*rows, **others), np.full(100, settled), now_ms=now_ms, most=most)


def gap(readable, place, offset):
    return int(readable.readable_from(np.array([place], np.int32), np.array([offset]))[0])


def test_a_reader_that_stands_before_an_end_is_looked_at():
    assert due(Readable(), (3, 100, 102)) == [Stretch(3, 100, 102)]


@pytest.mark.parametrize(
    "others",
    [{"settled": False}, {"standing_ms": STANDS_MS - 1}],
    ids=["its end moves", "it may move"],
)
def test_what_moves_is_left_alone(others):
    assert due(Readable(), (3, 100, 102), **others) == []


@pytest.mark.parametrize(
    ("offset", "head"),
    [(102, 102), (103, 102), (100, -1), (-3, 2), (0, MOST_OFFSETS + 1)],
    ids=["all read", "beyond the end", "no end", "no offset", "far behind"],
)
def test_what_has_nothing_to_learn_is_left_alone(offset, head):
    assert due(Readable(), (3, offset, head)) == []
    assert due(Readable(), (3, 0, MOST_OFFSETS)) != []


def test_of_a_place_the_reader_nearest_to_the_end_comes_first():
    found = due(Readable(), (3, 100, 110), (3, 105, 110), (4, 7, 8))
    assert sorted(found, key=lambda one: one.place) == [Stretch(3, 105, 110), Stretch(4, 7, 8)]


def test_where_nothing_is_to_be_read_a_reader_is_at_the_end_and_is_not_looked_at_again_until_it_moves():
    readable = Readable()
    readable.note([Seen(3, 100, 102, is_record=False)])
    assert [gap(readable, 3, offset) for offset in (99, 100, 101, 102)] == [-1, 102, 102, -1]
    assert gap(readable, 4, 100) == gap(readable, 999, 100) == -1
    assert due(readable, (3, 100, 102)) == []
    assert due(readable, (3, 100, 105)) == [Stretch(3, 102, 105)]


def test_a_record_answers_for_all_who_stand_before_it():
    readable = Readable()
    readable.note_asked([3], NOW)
    readable.note([Seen(3, 100, 104, is_record=True)])
    assert [gap(readable, 3, offset) for offset in (100, 103, 104)] == [104, 104, -1]
    rows = ((3, 90, 110), (3, 100, 110), (3, 104, 110))
    assert due(readable, *rows) == []
    assert due(readable, (3, 105, 110)) == [Stretch(3, 105, 110)]
    # Compaction may have taken it since.
    assert due(readable, *rows, now_ms=NOW + AGAIN_MS + 1) == [Stretch(3, 104, 110)]
    readable.note([Seen(3, 104, 110, is_record=False)])
    assert gap(readable, 3, 100) == 110
    assert due(readable, (3, 90, 110)) == [Stretch(3, 90, 110)]


def test_gaps_that_touch_are_one_and_of_others_the_last_counts():
    readable = Readable()
    readable.note([Seen(3, 100, 102, is_record=False), Seen(3, 102, 105, is_record=False)])
    assert gap(readable, 3, 100) == 105
    readable.note([Seen(3, 90, 95, is_record=True)])
    assert (gap(readable, 3, 90), gap(readable, 3, 100)) == (-1, 105)
    readable.note([Seen(3, 95, 101, is_record=False)])
    assert gap(readable, 3, 95) == 105
    readable.note([Seen(3, 200, 203, is_record=False)])
    assert (gap(readable, 3, 100), gap(readable, 3, 200)) == (-1, 203)


def test_an_end_that_falls_takes_what_was_known_with_it():
    readable = Readable()
    readable.note([Seen(3, 100, 102, is_record=False), Seen(4, 7, 9, is_record=True)])
    places = np.array([3, 4, 50_000], np.int32)
    readable.note_ends(places, np.array([102, 10, 5]))
    readable.note_ends(places, np.array([-1, -1, -1]))
    assert (gap(readable, 3, 100), gap(readable, 4, 7)) == (102, 9)
    readable.note_ends(places, np.array([101, 9, 5]))
    assert (gap(readable, 3, 100), gap(readable, 4, 7)) == (-1, -1)


def test_those_come_first_that_were_not_looked_at_for_longest():
    readable = Readable()
    rows = [(place, 5, 6) for place in range(6)]
    asked = []
    for turn in range(3):
        found = due(readable, *rows, most=2, now_ms=NOW + turn)
        readable.note_asked([one.place for one in found], NOW + turn)
        asked += [one.place for one in found]
    assert sorted(asked) == list(range(6))
    assert due(readable, *rows, most=2, now_ms=NOW + 9)[0].place in asked[:2]


def test_no_readers_and_no_answers_are_no_trouble():
    readable = Readable()
    none = np.zeros(0, np.int64)
    assert readable.due(Readers(none.astype(np.int32), none, none, none), np.zeros(0, bool), now_ms=NOW) == []
    readable.note_asked([], NOW)
    readable.note([])
    readable.forget(np.array([5], np.int32))


@given(st.data())
def test_no_record_is_ever_passed_over(data):
    """Whatever is looked at in whatever order: what is called a gap holds no record."""
    ends = st.integers(1, 30)
    records = data.draw(st.sets(st.integers(0, 29)))
    readable, end = Readable(), data.draw(ends)
    for _ in range(data.draw(st.integers(1, 8))):
        end = max(end, data.draw(ends))
        offsets = data.draw(st.lists(st.integers(0, end), min_size=1, max_size=3))
        now_ms = NOW + data.draw(st.sampled_from((0, 2 * AGAIN_MS)))
        if data.draw(st.booleans()):
            records -= data.draw(st.sets(st.sampled_from(range(30)), max_size=3))  # by compaction
        for one in due(readable, *[(0, offset, end) for offset in offsets], now_ms=now_ms):
            assert one.first < one.end
            there = [offset for offset in sorted(records) if one.first <= offset < end]
            readable.note_asked([0], now_ms)
            readable.note([Seen(0, one.first, there[0] if there else end, is_record=bool(there))])
        for offset in range(30):
            before = gap(readable, 0, offset)
            assert not records & set(range(offset, max(offset, before)))
