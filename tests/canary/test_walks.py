"""The three walks of the design through the books, at one probe a second and partition."""

from canary.tracker.tracker import Tracker
from tests.canary.played import Played
from tests.canary.pretend_link import TOPIC_ID, Fate, PretendLink, Weather, policy

HORIZON = 60


def walked(fates: list[Fate], freeze: tuple[int, int]) -> PretendLink:
    link = PretendLink(Tracker(policy(horizon_s=HORIZON), carried=[(TOPIC_ID, 0)]))
    link.play(fates, Weather(freezes=[freeze]))
    return link


def test_frozen_for_five_minutes():
    link = walked([Fate.DELIVER] * 600, (100, 300))
    books = link.tracker.counters
    # At 400 s all come at once: of 100 to 399 those due from 395 on are good, those due after 340 late. The
    # one due at 340 has its horizon in the same instant, and here the deadline is told first.
    assert (books.overdue, books.recovered, books.outstanding) == (241, 241, 0)
    assert books.late == 54
    assert books.good == 600 - 241 - 54
    assert (books.lost, books.confirmed, books.returned) == (0, 0, 0)
    assert books.settled == 600


def test_a_frozen_mirror_shows_in_freshness_after_one_threshold():
    play = Played()
    for number in range(100):
        play.send(number, number)
        if number < 50:
            play.arrive(number, number + 0.2)
        play.until(number)
    play.until(100)
    # Of the fifty that hang, those due up to 95 s have passed their threshold; none has ended.
    assert play.counts("good", "settled", "concluded", "in_flight") == (50, 50 + 46, 50, 50)


def test_down_while_retention_passes_then_started_with_a_minute_of_it_left():
    fates = [Fate.DELIVER] * 1000 + [Fate.DROP] * 570 + [Fate.DELIVER] * 100
    books = walked(fates, (1000, 600)).tracker.counters
    assert books.lost == 1569 - 1540  # still in flight when the mirror came back at 1600 s
    assert (books.overdue, books.confirmed, books.recovered) == (541, 541, 0)
    assert books.late == 1594 - 1569
    assert books.good == 1670 - books.lost - books.overdue - books.late
    assert (books.returned, books.outstanding) == (0, 0)


def test_down_while_retention_passes_then_started_with_older_ones_left_as_well():
    fates = [Fate.DELIVER] * 1000 + [Fate.DROP] * 500 + [Fate.DELIVER] * 170
    books = walked(fates, (1000, 600)).tracker.counters
    assert (books.lost, books.confirmed, books.recovered) == (0, 500, 41)
    assert (books.overdue, books.late, books.outstanding) == (541, 54, 0)
    assert books.returned == 0


def test_fan_out_with_one_target_down_books_each_flow_for_itself():
    to_b = walked([Fate.DELIVER] * 200, (10_000, 1)).tracker.counters
    to_c = walked([Fate.DELIVER] * 200, (0, 100_000))
    link = PretendLink(Tracker(policy(), carried=[(TOPIC_ID, 0)]))
    link.play([Fate.DROP] * 200)  # nothing reaches C, and nobody can say that it never will
    books = link.tracker.counters
    assert (to_b.good, to_b.settled, to_b.overdue) == (200, 200, 0)
    assert (books.good, books.settled, books.overdue, books.outstanding, books.lost) == (0, 200, 200, 200, 0)
    assert to_c.tracker.counters.recovered == 200  # and when C comes back they do
