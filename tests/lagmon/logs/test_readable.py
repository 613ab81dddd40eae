"""Which ends of logs are looked at, and what is known of them afterwards."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagmon.logs.readable import AGAIN_MS, FAR_AGAIN_MS, IDLE_MS, MOST_OFFSETS, Readable, Readers, Stretch
from lagmon.logs.readable_gaps import MOST_GAPS, Gap, Seen

NOW = 1_790_000_000_000


def readers(*rows, idle_ms=IDLE_MS, far=False):
    """Return readers of (place, offset, head) each."""
    places, offsets, heads = (np.array(column) for column in zip(*rows, strict=True))
    standing = np.full(len(rows), idle_ms, np.int64)
    return Readers(places.astype(np.int32), offsets, heads, standing, np.full(len(rows), far))


def due(readable, *rows, now_ms=NOW, settled=True, most=500, **others):
    return readable.due([readers(*rows, **others)], np.full(100, settled), now_ms=now_ms, most=most)


def note(readable, *seen, now_ms=NOW):
    """Have it look at places, and see this; in order."""
    for one in seen:
        readable.note_asked([one.place], now_ms)
        readable.note([one])


def gap(readable, place, offset):
    return int(readable.readable_from(np.array([place], np.int32), np.array([offset]))[0])


def test_a_reader_that_stands_before_an_end_is_looked_at():
    assert due(Readable(), (3, 100, 102)) == [Stretch(3, 100, 102)]


@pytest.mark.parametrize(
    "others",
    [{"settled": False}, {"idle_ms": IDLE_MS - 1}],
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


def test_who_says_so_is_looked_at_far_before_an_end_that_moves_and_without_an_answer_minutes_later_again():
    readable, far = Readable(), {"far": True, "settled": False}
    row = (3, 100, 90_000)
    assert due(readable, row, idle_ms=IDLE_MS - 1, **far) == []
    assert due(readable, row, **far) == [Stretch(3, 100, 90_000)]
    readable.note_asked([3], NOW)
    assert due(readable, row, now_ms=NOW + FAR_AGAIN_MS - 1, **far) == []
    assert due(readable, row, now_ms=NOW + FAR_AGAIN_MS, **far) == [Stretch(3, 100, 90_000)]
    assert due(readable, row, now_ms=NOW - 1, **far) == [Stretch(3, 100, 90_000)]  # a clock that was set back
    both, other = [row, (3, 200, 90_000)], [Stretch(3, 200, 90_000)]
    assert due(readable, *both, now_ms=NOW - 1, **far) == other  # each once
    assert due(readable, *both, now_ms=NOW - 1, **far) == []
    readable.forget(np.array([3], np.int32))
    assert due(readable, *both, now_ms=NOW - 1, **far) == other
    note(readable, Seen(3, 100, 5_100, is_record=True), now_ms=NOW + FAR_AGAIN_MS)
    assert due(readable, row, now_ms=NOW + FAR_AGAIN_MS + AGAIN_MS, **far) == []
    assert due(readable, row, now_ms=NOW + FAR_AGAIN_MS + AGAIN_MS + 1, **far) == [Stretch(3, 5_100, 90_000)]


def test_of_a_place_the_reader_nearest_to_the_end_comes_first():
    found = due(Readable(), (3, 100, 110), (3, 105, 110), (4, 7, 8))
    assert sorted(found, key=lambda one: one.place) == [Stretch(3, 105, 110), Stretch(4, 7, 8)]


def test_where_nothing_is_to_be_read_a_reader_is_at_the_end_and_is_not_looked_at_again_until_it_moves():
    readable = Readable()
    note(readable, Seen(3, 100, 102, is_record=False))
    assert [gap(readable, 3, offset) for offset in (99, 100, 101, 102)] == [-1, 102, 102, -1]
    assert gap(readable, 4, 100) == gap(readable, 999, 100) == -1
    assert due(readable, (3, 100, 102)) == []
    assert due(readable, (3, 100, 105)) == [Stretch(3, 102, 105)]


def test_a_record_answers_for_all_who_stand_before_it():
    readable = Readable()
    note(readable, Seen(3, 100, 104, is_record=True))
    assert [gap(readable, 3, offset) for offset in (100, 103, 104)] == [104, 104, -1]
    rows = ((3, 100, 110), (3, 102, 110), (3, 104, 110))
    assert due(readable, *rows) == []
    assert due(readable, (3, 105, 110)) == [Stretch(3, 105, 110)]
    # Compaction may have taken it since.
    assert due(readable, *rows, now_ms=NOW + AGAIN_MS) == []
    assert due(readable, *rows, now_ms=NOW + AGAIN_MS + 1) == [Stretch(3, 104, 110)]
    assert due(readable, *rows, now_ms=NOW - 1) == [Stretch(3, 104, 110)]  # the clock was set back
    note(readable, Seen(3, 104, 110, is_record=False))
    assert gap(readable, 3, 100) == 110
    assert due(readable, *rows) == []


def test_a_group_further_back_at_the_same_place_is_looked_at_after_the_others_and_keeps_its_gap():
    readable = Readable()
    rows = ((3, 80, 110), (3, 90, 110), (3, 105, 110))
    assert due(readable, *rows) == [Stretch(3, 105, 110)]
    note(readable, Seen(3, 105, 110, is_record=False))
    assert due(readable, *rows) == [Stretch(3, 90, 110)]
    note(readable, Seen(3, 90, 104, is_record=True))
    assert due(readable, *rows) == [Stretch(3, 80, 110)]
    note(readable, Seen(3, 80, 80, is_record=True))  # a record is next: nothing there that nobody can read
    assert due(readable, *rows) == []
    assert [gap(readable, 3, offset) for offset in (80, 90, 104, 105)] == [-1, 104, -1, 110]
    # Looked at anew one after the other, and none for the others' sake.
    later_ms = NOW + AGAIN_MS + 1
    assert due(readable, *rows, now_ms=later_ms) == [Stretch(3, 104, 110)]
    note(readable, Seen(3, 104, 104, is_record=True), now_ms=later_ms)
    assert due(readable, *rows, now_ms=later_ms) == [Stretch(3, 80, 110)]


def test_of_many_gaps_of_a_place_those_nearest_to_the_end_stay_and_who_is_further_back_is_not_asked_about():
    readable, asked = Readable(), []
    rows = [(3, 10 * number, 100) for number in range(MOST_GAPS + 3)]
    while found := due(readable, *rows):
        (one,) = found
        asked.append(one.first)
        note(readable, Seen(3, one.first, one.first + 5, is_record=True))
        assert len(asked) <= len(rows)
    nearest = [offset for _, offset, _ in reversed(rows)][:MOST_GAPS]
    assert asked == nearest
    assert [gap(readable, 3, offset) for _, offset, _ in rows] == [-1] * 3 + [
        one + 5 for one in nearest[::-1]
    ]
    # One that comes nearer takes the place of the one that is furthest back.
    assert due(readable, *rows, (3, 95, 100)) == [Stretch(3, 95, 100)]
    note(readable, Seen(3, 95, 100, is_record=False))
    assert (gap(readable, 3, 95), gap(readable, 3, nearest[-1])) == (100, -1)
    assert due(readable, *rows) == []


def test_gaps_that_touch_are_one_and_others_stand_beside_them():
    readable = Readable()
    note(readable, Seen(3, 100, 102, is_record=False), Seen(3, 102, 105, is_record=False))
    assert gap(readable, 3, 100) == 105
    note(readable, Seen(3, 90, 95, is_record=True))
    assert (gap(readable, 3, 90), gap(readable, 3, 100)) == (95, 105)
    note(readable, Seen(3, 96, 101, is_record=False))
    assert [gap(readable, 3, offset) for offset in (90, 95, 96)] == [95, -1, 105]
    note(readable, Seen(3, 200, 203, is_record=False))
    assert (gap(readable, 3, 100), gap(readable, 3, 200)) == (105, 203)
    note(readable, Seen(3, 95, 96, is_record=False))  # compaction took that record
    assert gap(readable, 3, 90) == 105


def test_a_record_where_none_was_ends_the_gap_that_is_contradicted():
    readable = Readable()
    note(readable, Seen(3, 100, 110, is_record=False), Seen(3, 90, 104, is_record=True))
    assert [gap(readable, 3, offset) for offset in (90, 100, 104, 105)] == [104, 104, -1, -1]
    note(readable, Seen(3, 104, 104, is_record=False))  # which says nothing
    assert due(readable, (3, 90, 110)) == []


def test_an_end_that_falls_takes_what_was_known_with_it():
    readable = Readable()
    note(readable, Seen(3, 100, 102, is_record=False), Seen(4, 7, 9, is_record=True))
    note(readable, Seen(3, 90, 93, is_record=True))
    places = np.array([3, 4, 50_000], np.int32)
    readable.note_ends(places, np.array([102, 10, 5]))
    readable.note_ends(places, np.array([-1, -1, -1]))
    assert (gap(readable, 3, 100), gap(readable, 3, 90), gap(readable, 4, 7)) == (102, 93, 9)
    readable.note_ends(places, np.array([101, 9, 5]))
    assert (gap(readable, 3, 100), gap(readable, 3, 90), gap(readable, 4, 7)) == (-1, -1, -1)


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


some_rows = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=30
)


@given(some_rows, st.lists(st.integers(0, 9)), st.lists(st.integers(1, 9), min_size=1), st.integers(1, 12))
def test_how_readers_are_told_of_together_changes_nothing(rows, polled_at, sizes, most):
    at_once, in_parts = Readable(), Readable()
    for readable in (at_once, in_parts):
        for after_ms, place in enumerate(polled_at):
            readable.note_asked([place], NOW - 10_000 + after_ms)
    told, rest, size = [], rows, itertools.cycle(sizes)
    while rest:
        count = next(size)
        told.append(readers(*rest[:count]))
        rest = rest[count:]
    found = in_parts.due(told, np.full(100, True), now_ms=NOW, most=most)
    assert found == due(at_once, *rows, most=most)


def test_no_readers_and_no_answers_are_no_trouble():
    readable = Readable()
    none = np.zeros(0, np.int64)
    nobody = Readers(none.astype(np.int32), none, none, none, none.astype(bool))
    for told in ([], [nobody], [nobody, nobody]):
        assert readable.due(told, np.zeros(0, bool), now_ms=NOW) == []
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
            note(readable, Seen(0, one.first, there[0] if there else end, bool(there)), now_ms=now_ms)
        for offset in range(30):
            before = gap(readable, 0, offset)
            assert not records & set(range(offset, max(offset, before)))


@given(
    st.sets(st.integers(0, 29)),
    st.lists(st.integers(0, 30), min_size=1, max_size=2 * MOST_GAPS),
    st.lists(st.tuples(st.integers(0, 29), st.integers(0, 30)), max_size=6),
)
def test_looks_come_to_an_end_and_the_nearest_readers_know_what_there_is(records, offsets, before):
    readable = Readable()

    def seen(first, there):
        after = [offset for offset in sorted(there) if offset >= first]
        note(readable, Seen(0, first, after[0] if after else 30, bool(after)))

    for first, gone in before:  # from other readers, when there was a record more
        seen(first, records | {gone})
    rows, looks = [(0, offset, 30) for offset in offsets], 0
    later_ms = NOW + AGAIN_MS + 1
    while found := due(readable, *rows, now_ms=later_ms):
        (one,) = found
        after = [offset for offset in sorted(records) if offset >= one.first]
        note(readable, Seen(0, one.first, after[0] if after else 30, bool(after)), now_ms=later_ms)
        looks += 1
        assert looks <= 2 * len(offsets) + len(before)
    for offset in sorted(set(offsets), reverse=True)[:MOST_GAPS]:
        there = min((record for record in records if record >= offset), default=30)
        if before:  # gaps of readers that are gone have their places too
            assert gap(readable, 0, offset) <= there
        else:
            assert gap(readable, 0, offset) == (there if there > offset else -1)


def test_what_is_known_can_be_handed_on_and_taken_up():
    readable, again = Readable(), Readable()
    places = np.array([90, 3, 1], np.int32)
    note(readable, Seen(3, 10, 12, is_record=False), Seen(3, 20, 25, is_record=True))
    note(readable, Seen(1, 5, 5, is_record=True))
    gaps = readable.gaps(places)
    assert gaps == [[], [Gap(10, 12, -1), Gap(20, 25, NOW)], [Gap(5, 5, NOW)]]
    for place, known in zip(places.tolist(), gaps, strict=True):
        again.take_up(place, known, NOW)
    assert again.gaps(places) == gaps
    assert (gap(again, 3, 10), gap(again, 3, 15), gap(again, 3, 21)) == (12, -1, 25)
    assert due(again, (1, 5, 8)) == []
    assert [one.first for one in due(again, (3, 10, 30), (90, 1, 8))] == [1, 12]
