"""Said once, again at a decent interval, and taken back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.process.complaints import Complaint, ComplaintBook, Complaints


class Heard:
    def __init__(self):
        self.lines = []

    def warning(self, sentence, *, where):
        self.lines.append(("warning", where, sentence))

    def info(self, sentence, *, where):
        self.lines.append(("info", where, sentence))


def test_the_life_of_a_complaint():
    heard = Heard()
    complaints = Complaints(heard)
    complaints.say("A", "no route", 100.0)
    for second in range(1, 600):
        complaints.say("A", "no route", 100.0 + second)
    assert heard.lines == [("warning", "A", "no route")]
    complaints.say("A", "no route", 700.0)
    assert heard.lines[1:] == [("warning", "A", "no route (repeated 600 times in 10 min)")]
    assert complaints.active() == (Complaint("A", "no route", 100.0, 700.0, 601),)
    complaints.clear("A", 760.0)
    assert heard.lines[2:] == [("info", "A", "over after 11 min: no route")]
    assert complaints.active() == ()
    complaints.clear("A", 761.0)
    assert len(heard.lines) == 3
    complaints.say("A", "no route", 762.0)
    assert heard.lines[3:] == [("warning", "A", "no route")]


def test_another_sentence_is_news_but_no_flood():
    book = ComplaintBook()
    assert book.say("A", "down", now=0).sentence == "down"
    assert book.say("A", "wrong password", now=30) is None
    assert book.active()[0].sentence == "wrong password"
    said = book.say("A", "wrong password", now=61)
    assert said.sentence == "wrong password (repeated 2 times in 1 min 1 s)"
    assert book.say("A", "wrong password", now=130) is None
    assert book.say("A", "down", now=700).sentence == "down (repeated 2 times in 10 min 39 s)"


def test_a_clock_that_was_set_back_silences_nothing_for_ever():
    book = ComplaintBook()
    book.say("A", "down", now=10_000)
    assert book.say("A", "down", now=100) is not None
    assert book.clear("A", now=50).sentence == "over after 0 s: down"


def test_a_clock_that_is_followed_moves_what_is_kept():
    book = ComplaintBook()
    book.say("A", "down", now=10_000)
    book.move_instants(-9_000)
    assert book.active() == (Complaint("A", "down", 1_000, 1_000, 1),)
    assert book.say("A", "down", now=1_599) is None
    assert book.say("A", "down", now=1_600).sentence.endswith("(repeated 2 times in 10 min)")
    assert book.clear("A", now=1_660).sentence == "over after 11 min: down"


def test_newest_first_and_bounded():
    book = ComplaintBook(places=3)
    for second, where in enumerate("ABC"):
        book.say(where, "x", now=second)
    book.say("A", "x", now=3)  # heard of again: B is the one silent for longest
    book.say("D", "x", now=4)
    assert [record.where for record in book.active()] == ["D", "C", "A"]


@settings(deadline=None)  # the machine may be busy with brokers
@given(st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from("xyz"), st.floats(0, 100)), max_size=60))
def test_a_place_is_never_logged_more_often_than_once_a_minute_nor_miscounted(events):
    book, now, said, times = ComplaintBook(), 0.0, {}, {}
    for where, sentence, gap in events:
        now += gap
        times[where] = times.get(where, 0) + 1
        if book.say(where, sentence, now=now) is not None:
            assert now - said.get(where, -1000.0) >= 60.0
            said[where] = now
    assert {record.where: record.times for record in book.active()} == times
