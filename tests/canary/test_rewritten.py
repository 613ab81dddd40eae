"""A producer that writes a probe twice: it is neither a loop nor a proof that others are lost.

Seen on a source that gave no answers for seconds: librdkafka's idempotent producer gave up the records whose
time had run out, took another epoch, and wrote those behind them again, which were there already.
"""

import itertools

import pytest

from canary.tracker.counters import Flag
from canary.tracker.events import Acked
from tests.canary.played import Played
from tests.canary.pretend_link import TOPIC_ID, S

NUMBERS = range(5)
FIRST, SECOND = 206, 211  # where the five stand, and where they stand again


def written_twice(order, *, mirrored_after):
    """Play five probes whose acknowledgements are of their second copies; return the play.

    `order` is of the three things that may come in any: the first copies on the source's tap, the second ones,
    the acknowledgements. The mirror's copies of the first ones come after so many of these.
    """
    play = Played()
    for number in NUMBERS:
        play.send(number, number / 20, acked=False)
    for count, what in enumerate(order):
        if count == mirrored_after:
            for number in NUMBERS:
                play.arrive(number, 1.0 + number / 100)
                play.read_to_end()
        for number in NUMBERS:
            if what == "acked":
                play.tell(Acked(TOPIC_ID, 0, number, SECOND + number, 2 * S))
            else:
                play.source(number, 2.0, offset={"first": FIRST, "second": SECOND}[what] + number)
    if mirrored_after == len(order):
        for number in NUMBERS:
            play.arrive(number, 2.5 + number / 100)
            play.read_to_end()
    return play


orders = [
    one
    for one in itertools.permutations(("first", "second", "acked"))
    if one.index("first") < one.index("second")
]


@pytest.mark.parametrize("order", orders, ids=" ".join)
@pytest.mark.parametrize("mirrored_after", range(4))
def test_what_the_producer_wrote_twice_is_no_loop_and_proves_no_loss(order, mirrored_after):
    play = written_twice(order, mirrored_after=mirrored_after)
    for number in NUMBERS:
        play.arrive(number, 3.0 + number / 100)  # the second copies
        play.read_to_end()
    assert play.flags(Flag.LOOPED) == []
    assert play.flags(Flag.RETURNED) == []
    assert play.counts("good", "late", "lost", "duplicated") == (5, 0, 0, 5)


@pytest.mark.parametrize("order", orders, ids=" ".join)
def test_a_third_copy_that_no_one_acknowledged_is_a_loop(order):
    play = written_twice(order, mirrored_after=3)
    play.source(2, 4.0, offset=300)
    assert [(sequence, count) for sequence, count, _ in play.flags(Flag.LOOPED)] == [(2, 1)]


def test_one_that_was_never_acknowledged_and_never_came_is_no_loop_however_often_it_stands_there():
    play = Played()
    play.send(0, 0, acked=False)
    play.source(0, 1.0, offset=FIRST)
    play.source(0, 1.5, offset=SECOND)
    play.until(100)
    play.source(0, 101.0, offset=SECOND + 5)
    assert play.counts("overdue", "looped") == (1, 0)
