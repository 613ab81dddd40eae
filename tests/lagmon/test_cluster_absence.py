"""When a cluster was away, as looks at it tell."""

from __future__ import annotations

from lagmon.cluster_absence import Absence

S = 1000


def absence(*looks):
    """Return what is known after looks of (second, answered, a look before it failed) each."""
    found = Absence()
    for at_s, answered, failed in looks:
        found.note_look(at_s * S, answered=answered, failed=failed)
    return found.left_ms // S, found.back_ms // S


def test_looks_with_answers_are_no_absence_however_far_apart():
    assert absence((10, True, False), (20, True, False), (90, True, False)) == (-1, -1)


def test_an_absence_is_from_the_last_look_before_to_the_first_one_after():
    assert absence((10, True, False), (20, True, False), (110, True, True)) == (20, 110)


def test_looks_that_nobody_answers_are_an_absence_too():
    assert absence((10, True, False), (25, False, False), (40, False, False), (55, True, False)) == (10, 55)


def test_one_look_that_fails_is_none():
    assert absence((10, True, False), (39, True, True)) == (-1, -1)
    assert absence((10, True, False), (40, True, True)) == (10, 40)


def test_a_cluster_that_is_first_reached_was_not_away():
    assert absence((10, False, True), (90, True, True)) == (-1, -1)


def test_absences_of_which_nobody_can_have_come_back_between_are_one():
    first = (10, True, False), (100, True, True)
    assert absence(*first, (160, True, False), (250, True, True)) == (10, 250)
    assert absence(*first, (161, True, False), (250, True, True)) == (161, 250)
