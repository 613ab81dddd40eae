"""What an impaired prober spoils, and what stays certain."""

from __future__ import annotations

import pytest

from canary.tracker.counters import Outcome
from canary.tracker.events import Acked, Impaired, Restored, Slept, SourceUnseen
from canary.tracker.impairment import Impairments
from tests.canary.played import Played
from tests.canary.pretend_link import TOPIC_ID, S

THRESHOLD_S, HORIZON_S = 5, 60


def impaired(*spans, still_s=None):
    """Return impairments with these spans in seconds, and one that goes on."""
    found = Impairments(threshold_ns=THRESHOLD_S * S, horizon_ns=HORIZON_S * S)
    for since_s, until_s in spans:
        found.begin("it is blind", int(since_s * S))
        found.end(int(until_s * S))
    if still_s is not None:
        found.begin("it is blind", int(still_s * S))
    return found


@pytest.mark.parametrize(
    ("impairments", "due_s", "goodness", "horizon"),
    [
        (impaired(), 10, False, False),
        (impaired((1, 9)), 10, False, False),  # over before it was due
        (impaired((1, 11)), 10, True, True),
        (impaired((12, 13)), 10, True, True),
        (impaired((15, 16)), 10, True, True),
        (impaired((16, 17)), 10, False, False),  # it was seen not to have come in time
        (impaired((16, 64)), 10, False, False),
        (impaired((16, 66)), 10, False, True),  # what came just before the horizon may not be seen yet
        (impaired((1, 2), (16, 17), (30, 31)), 10, False, False),
        (impaired(still_s=9), 10, True, True),
        (impaired(still_s=16), 10, False, True),
        (impaired(still_s=80), 10, False, False),
    ],
)
def test_what_is_a_guess(impairments, due_s, goodness, horizon):
    assert impairments.spoil_goodness(due_s * S) is goodness
    assert impairments.spoil_horizon(due_s * S) is horizon


def test_spans_closer_than_a_threshold_are_one_and_old_ones_are_forgotten():
    flickering = impaired(*((second, second + 2) for second in range(0, 86_400, 4)))
    assert len(flickering._intervals) == 1
    apart = impaired(*((second, second + 1) for second in range(0, 86_400, 10)))
    assert len(apart._intervals) <= 2 * HORIZON_S / 10 + 1


def test_a_second_reason_begins_no_later_than_the_first():
    found = impaired(still_s=10)
    found.begin("its store cannot be written", 20 * S)
    assert found.sentence == "its store cannot be written"
    found.end(30 * S)
    assert found.between(11 * S, 12 * S)
    found.end(40 * S)
    assert not found.between(31 * S, 35 * S)


# --- through the tracker


@pytest.mark.parametrize(
    ("begun_s", "over_s", "came_s", "expected"),
    [
        (1, 2, 4.9, Outcome.GOOD),
        (1, 2, 7, Outcome.UNKNOWN),
        (6, 7, 8, Outcome.LATE),  # it was late before anything was wrong with us
        (6, 30, 20, Outcome.LATE),
        (3, 30, 20, Outcome.UNKNOWN),
    ],
)
def test_an_arrival_and_an_impairment(begun_s, over_s, came_s, expected):
    play = Played()
    play.send(0, 0)
    for at_s, tell in sorted(
        [
            (begun_s, lambda: play.tell(Impaired("it is blind", begun_s * S))),
            (over_s, lambda: play.tell(Restored(over_s * S))),
            (came_s, lambda: play.arrive(0, came_s)),
        ],
        key=lambda one: one[0],
    ):
        play.until(at_s)
        tell()
    assert play.outcome(0)[0] is expected
    counted = 0 if expected is Outcome.UNKNOWN else 1
    assert play.counts("concluded", "settled") == (counted, counted)


def test_what_began_before_it_was_noticed_counts_from_then():
    play = Played()
    play.send(0, 0)
    play.until(7)
    play.tell(Impaired("its reader does not run", 8 * S, since_ns=4 * S))
    play.arrive(0, 9)
    assert play.outcome(0)[0] is Outcome.UNKNOWN


def test_a_stall_is_still_a_stall_after_we_were_impaired_for_a_moment():
    play = Played()
    play.send(0, 0)
    play.until(10)
    play.tell(Impaired("the loop stood still", 11 * S), Restored(12 * S))
    play.until(61)
    assert play.outcome(0)[0] is Outcome.OVERDUE
    play.arrive(0, 70)
    assert play.counts("overdue", "recovered", "unknown") == (1, 1, 0)


def test_three_moments_of_ours_in_an_outage_spoil_little_of_it():
    """Freeze a mirror for 30 s, with the loop late for a second three times: the rest is late for certain."""
    play = Played()
    for second in range(30):
        play.send(second, second)
        play.until(second + 0.5)
        if second in (10, 20, 29):
            play.tell(Impaired("the loop stood still", second * S, since_ns=(second - 1) * S))
            play.tell(Restored((second + 1) * S))
    play.until(40)
    for sequence in range(30):
        play.arrive(sequence, 40)
    late, unknown = play.counts("late", "unknown")
    assert late + unknown == 30
    assert late >= 8  # those whose time up to the threshold lies between the three moments


def test_losses_are_proved_whatever_we_are():
    play = Played()
    play.send(0, 0)
    play.send(1, 1)
    play.tell(Impaired("its store cannot be written", 2 * S))
    play.arrive(1, 3)
    play.read_to_end()
    assert play.outcome(0)[0] is Outcome.LOST


def test_an_arrival_over_a_sleep_is_unknown_however_soon_it_seems():
    play = Played()
    play.send(0, 0)
    play.send(1, 0.5)
    play.send(2, 0.9, acked=False)
    play.arrive(0, 0.95)
    play.tell(Slept(1 * S, int(1.1 * S)), Impaired("the machine slept", int(1.1 * S), 1 * S))
    play.tell(Acked(TOPIC_ID, 0, 2, 102, int(1.2 * S)))
    play.arrive(1, 1.2)
    play.arrive(2, 1.2)
    play.tell(Restored(4 * S))
    play.send(3, 5)
    play.arrive(3, 5.1)
    assert [play.outcome(sequence)[0] for sequence in range(4)] == [
        Outcome.GOOD,
        Outcome.UNKNOWN,
        Outcome.UNKNOWN,
        Outcome.GOOD,
    ]
    stages = [stage for stage, _ in play.timed()]
    assert stages.count("ack") == 3  # that of the probe under way over the sleep tells nothing
    assert stages.count("end_to_end") == 2


def test_a_latency_of_our_own_making_is_not_held_against_the_flow():
    play = Played()
    play.send(0, 0)
    play.arrive(0, 0.1)
    play.send(1, 1)
    play.tell(Impaired("the loop stood still", 9 * S, since_ns=1 * S))
    play.arrive(1, 9)
    play.tell(Restored(12 * S))
    (standing, *_) = play.tracker.partition_statuses()
    assert standing.last_latency_ns == int(0.1 * S)
    assert standing.last_late_ns is None
    assert standing.last_arrival_ns == 9 * S


@pytest.mark.parametrize(
    ("unseen_s", "seen_s", "expected"),
    [
        (None, None, Outcome.PRODUCE_UNKNOWN),
        (10, None, Outcome.UNKNOWN),
        (10, 20, Outcome.UNKNOWN),
    ],
)
def test_what_a_blind_reader_of_the_source_could_not_show(unseen_s, seen_s, expected):
    play = Played()
    play.send(0, 0, acked=False)
    if unseen_s is not None:
        play.tell(SourceUnseen("its reader of A has not run for 4 s", unseen_s * S))
    if seen_s is not None:
        play.tell(SourceUnseen("", seen_s * S))
    play.send(1, 30)
    play.arrive(1, 30.1)
    play.until(70)
    assert play.outcome(0)[0] is expected
    assert play.outcome(1)[0] is Outcome.GOOD
