"""When a cluster was away, as looks at it tell."""

from __future__ import annotations

from lagmon.cluster.absence import Absence

S = 1000


def looked(found, *looks):
    """Have looks of (second, whether it was answered) each."""
    for at_s, answered in looks:
        if answered:
            found.note_answer(at_s * S)
        found.end_poll()
    return found


def absence(*looks):
    """Return what is known after these looks, in seconds."""
    found = looked(Absence(), *looks)
    return found.left_ms // S, found.back_ms // S


def silent(*seconds):
    return [(at_s, False) for at_s in seconds]


def test_looks_with_answers_are_no_absence_however_far_apart():
    assert absence((10, True), (20, True), (90, True)) == (-1, -1)


def test_an_absence_is_from_the_last_look_before_to_the_first_one_after():
    assert absence((10, True), (20, True), *silent(40, 60, 80), (110, True)) == (20, 110)


def test_one_look_without_an_answer_is_none_however_long_it_took():
    assert absence((10, True), *silent(80), (90, True)) == (-1, -1)
    assert absence((10, True), *silent(30), (40, True), *silent(60), (70, True)) == (-1, -1)


def test_two_of_them_are_one_if_it_was_long():
    assert absence((10, True), *silent(15, 30), (39, True)) == (-1, -1)
    assert absence((10, True), *silent(15, 30), (40, True)) == (10, 40)


def test_a_look_that_fails_after_an_answer_is_not_silent():
    found = looked(Absence(), (10, True))
    for at_s in range(20, 200, 60):
        found.note_answer(at_s * S)
        found.note_answer((at_s + 30) * S)
        found.end_poll()
    assert (found.left_ms, found.back_ms) == (-1, -1)


def test_a_cluster_that_is_first_reached_was_not_away():
    assert absence(*silent(10, 30, 50), (90, True)) == (-1, -1)


def test_absences_of_which_nobody_can_have_come_back_between_are_one():
    first = (10, True), *silent(30, 60), (100, True)
    assert absence(*first, (160, True), *silent(180, 210), (250, True)) == (10, 250)
    assert absence(*first, (161, True), *silent(180, 210), (250, True)) == (161, 250)


def test_a_cluster_that_flaps_is_not_away_without_end():
    found, lefts = looked(Absence(), (10, True)), []
    for at_s in range(100, 2100, 100):  # for 60 s it answers, for 40 s not
        looked(found, *silent(at_s - 70, at_s - 50), (at_s - 30, True), (at_s + 30, True))
        lefts.append(found.left_ms // S)
    assert lefts == [10] * 6 + [630] * 6 + [1230] * 6 + [1830] * 2


def test_what_is_kept_of_it_goes_on():
    looks = [(10, True), *silent(30, 60), (100, True), (130, True), *silent(150, 170), (200, True)]
    for cut in range(1, len(looks)):
        kept = looked(Absence(), *looks[:cut])
        again = Absence()
        again.take_up(kept.state())
        assert (again.left_ms, again.back_ms) == (kept.left_ms, kept.back_ms)
        assert looked(again, *looks[cut:]).state() == looked(Absence(), *looks).state()


def test_looks_without_an_answer_before_it_is_taken_up_count_too():
    again = looked(Absence(), *silent(70, 90))
    again.take_up(looked(Absence(), (10, True), (20, True)).state())
    looked(again, (110, True))
    assert (again.left_ms // S, again.back_ms // S) == (20, 110)
