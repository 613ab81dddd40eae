"""A problem that lasts is logged when it comes and every ten minutes, others at once."""

from __future__ import annotations

from lagmon.repeated import AGAIN_MS, Repeated


def test_the_same_sentence_is_due_again_only_after_a_while():
    repeated = Repeated()
    times = [0, 500, AGAIN_MS - 1, AGAIN_MS, AGAIN_MS + 500]
    assert [repeated.due("B: offsets", "it is away", at_ms) for at_ms in times] == [
        True,
        False,
        False,
        True,
        False,
    ]


def test_a_try_that_begins_says_nothing_and_does_not_make_it_new():
    repeated = Repeated()
    assert [repeated.due("B", sentence, 1) for sentence in ("", "away", "", "away", "refused", "away")] == [
        False,
        True,
        False,
        False,
        True,
        True,
    ]


def test_names_are_told_for_themselves_and_a_clock_that_is_set_back_hides_nothing():
    repeated = Repeated()
    assert repeated.due("A", "away", 1000)
    assert repeated.due("B", "away", 1000)
    assert repeated.due("A", "away", 10)
