"""Whose next record is looked at for its time: those that no looks tell of, rarely, the furthest behind first."""

import numpy as np
import pytest

from lagmon.logs.heads import Heads
from lagmon.logs.readable import MOST_OFFSETS
from lagmon.logs.record_due import AGAIN_MS, MOST, WAY, RecordDue, RecordReaders
from lagmon.logs.record_times import MOST_MARKS
from tests.lagmon.logs.test_heads import S, T, longs, places

END = 1_000_000
FAR = END - MOST_OFFSETS - 1


class Desk:
    """Logs that ended just behind END at the first look, and have grown by 10 at each since."""

    def __init__(self, count=1):
        self.heads, self.due_, self.now_ms = Heads(), RecordDue(), T
        self.every = self.heads.claim(count)
        self.end, self.readers = END, []
        for _ in range(12):
            self.look()

    def look(self, after_s=10):
        self.now_ms += after_s * S
        self.end += 10
        self.heads.note(self.every, np.full(len(self.every), self.end), self.now_ms)

    def stand(self, *offsets, **others):
        """Let readers of the places stand there, one of each after the other."""
        at = np.arange(len(offsets), dtype=np.int32)
        self.readers = [RecordReaders(at, longs(*offsets), **others)]

    def due(self, after_s=10, **others):
        """Return place and offset of what is due then."""
        self.look(after_s)
        return self.due_.due(self.readers, self.heads, now_ms=self.now_ms, **others)

    def answer(self, asked, *, gap=0):
        for place, offset in asked:
            self.heads.note_records(places(place), longs(offset), longs(offset + gap), longs(T - 3600 * S))


@pytest.mark.parametrize(
    ("offset", "is_due"),
    [
        (0, True),
        (FAR, True),
        (END - 500, False),  # looks at ends of logs come by there
        (END + 10, False),  # at the oldest look: the next one brackets it
        (END + 50, False),
        (10**7, False),  # past the end
        (-1, False),
    ],
)
def test_who_stands_before_all_looks_and_far_from_the_end_is_due(offset, is_due):
    desk = Desk()
    desk.stand(offset)
    assert bool(desk.due()) is is_due


def test_where_nothing_else_looks_one_shortly_before_the_end_is_due_too():
    desk = Desk()
    desk.stand(END - 500, to_end=True)
    assert desk.due() == [(0, END - 500)]


def test_before_a_transaction_that_is_open_there_is_nothing_to_look_at():
    desk = Desk()
    desk.stand(5)
    desk.heads.note_stable(places(0), longs(5))
    assert desk.due() == []


def test_one_that_stands_is_looked_at_once():
    desk = Desk()
    desk.stand(5)
    desk.answer(desk.due(), gap=3)
    for offset in (5, 6, 8):
        desk.stand(offset)
        assert desk.due(after_s=3600) == []


def test_no_answer_is_asked_for_again_and_not_at_once():
    desk = Desk()
    desk.stand(5)
    asked = [bool(desk.due()) for _ in range(2 * AGAIN_MS // (10 * S))]
    assert asked.count(True) == 2
    assert asked[0]


def test_one_that_works_its_backlog_off_is_looked_at_some_tens_of_times():
    desk, asked, offset = Desk(), [], 0
    while offset < END - MOST_OFFSETS:
        desk.stand(offset)
        due = desk.due(after_s=70)
        desk.answer(due)
        asked += due
        offset += 2000
    assert 20 <= len(asked) <= 60
    first, *_, last = [at for _, at in asked]
    assert first == 0
    assert last > FAR - MOST_OFFSETS
    gone = np.diff([at for _, at in asked]) / (END - np.array([at for _, at in asked[:-1]]))
    assert (gone > 1 / WAY - 0.01).all()
    assert len(desk.heads.records) <= 1 + 1  # what lies behind it is let go


def test_the_start_of_the_log_is_looked_at_for_one_whose_records_are_gone():
    desk = Desk()
    desk.stand(5)
    desk.heads.note_starts(places(0), longs(700))
    assert desk.due() == [(0, 700)]


def test_those_that_have_most_to_read_come_first_and_no_more_than_so_many():
    desk = Desk(MOST + 20)
    desk.stand(*range(0, 10 * (MOST + 20), 10))
    first = desk.due()
    assert [place for place, _ in first] == list(range(MOST))
    desk.answer(first)
    assert [place for place, _ in desk.due()] == list(range(MOST, MOST + 20))


def test_what_may_not_be_read_holds_up_nobody():
    desk = Desk(MOST + 1)
    desk.stand(*range(MOST + 1))
    assert desk.due(without=range(MOST)) == [(MOST, MOST)]


def test_a_log_whose_end_does_not_answer_is_not_asked():
    desk = Desk()
    desk.stand(5)
    assert desk.due_.due(desk.readers, desk.heads, now_ms=desk.now_ms + 120 * S) == []


def test_readers_of_one_place_are_looked_at_one_after_the_other_and_as_many_as_there_is_room_for():
    desk = Desk()
    offsets = [*(200_000 * number for number in range(MOST_MARKS + 1)), 900_000]
    desk.readers = [RecordReaders(np.zeros(len(offsets), np.int32), longs(*offsets))]
    asked = []
    for _ in range(20):
        due = desk.due(after_s=70)
        desk.answer(due)
        asked += due
    assert [offset for _, offset in asked] == offsets[:MOST_MARKS]


def test_the_furthest_behind_is_looked_at_though_a_place_is_full():
    desk = Desk()
    offsets = [200_000 * number for number in range(1, MOST_MARKS + 1)]
    desk.readers = [RecordReaders(np.zeros(MOST_MARKS, np.int32), longs(*offsets))]
    for _ in range(10):
        desk.answer(desk.due(after_s=70))
    desk.readers.append(RecordReaders(places(0), longs(7)))
    asked = []
    for _ in range(10):
        due = desk.due(after_s=70)
        desk.answer(due)
        asked += due
    assert asked == [(0, 7)]  # and those that are there take no turns


def test_what_nobody_stands_at_is_forgotten():
    desk = Desk(2)
    desk.stand(5, 6)
    desk.answer(desk.due())
    assert len(desk.heads.records) == 2
    desk.stand(5)
    desk.due()
    assert len(desk.heads.records) == 1
    desk.readers = []
    assert desk.due() == []
    assert len(desk.heads.records) == 0


def test_what_came_while_nobody_looked_is_looked_at():
    before = Desk()
    heads = Heads()
    heads.claim(1)
    heads.take_up(places(0), before.heads.state(places(0)))
    back_ms = before.now_ms + 3600 * S
    for number in range(10):
        heads.note(places(0), longs(before.end + 50_000), back_ms + number * 10 * S)
    reader = RecordReaders(places(0), longs(before.end + 7))
    assert RecordDue().due([reader], heads, now_ms=back_ms + 90 * S) == [(0, before.end + 7)]
