"""However long it runs and whatever hangs, what a tracker keeps stays flat: sizes of structures, not bytes."""

from dataclasses import fields

import pytest

from canary.tracker.events import Impaired, Restored, Scheduled, Skipped
from canary.tracker.minutes import MAX_SPANS, RECENT_MINUTES
from canary.tracker.ranges import MAX_RANGES
from canary.tracker.tracker import Tracker
from tests.canary.pretend_link import TOPIC_ID, Fate, PretendLink, S, Weather, policy


def held(tracker: Tracker) -> int:
    """Return how many entries all containers of a tracker hold together."""
    tracking = tracker._tracking
    total = sum(
        len(getattr(tracking, name))
        for name in (
            "_carried",
            "_thresholds",
            "_horizons",
            "by_partition",
            "gone",
            "read_before",
            "states",
            "removed_coverages",
        )
    )
    for state in tracking.states.values():
        for part in (state, *state.runs()):
            sized = {
                name: getattr(part, name) for name in (one.name for one in fields(part)) if name != "minutes"
            }
            sized["covered"] = part.covered.ranges() if "covered" in sized else ()
            total += sum(
                len(one) for one in sized.values() if hasattr(one, "__len__") and not isinstance(one, str)
            )
    return total + len(tracking.ledger._out) + sum(len(one) for one in tracking.minutes.values())


class Measured(PretendLink):
    """A link that keeps what is to be kept now and then, and looks at its size."""

    largest = minute = taken = 0

    def take(self, outputs: list[object]) -> None:
        super().take(outputs)
        minute = self.tracker._tracking.now_ns // (60 * S)
        if minute >= self.minute + max(1, int(self.interval_s // 10)):
            self.minute = minute
            self.tracker.snapshot(minute)
        self.taken += 1
        if self.taken % 50 == 0:
            self.largest = max(self.largest, held(self.tracker))


def run(fates: list[Fate], weather: Weather, interval_s: float) -> Measured:
    link = Measured(Tracker(policy(), carried=[(TOPIC_ID, 0)]), interval_s=interval_s)
    link.play(fates, weather)
    return link


IN_FLIGHT = 61 * 10 * 3  # a horizon of ten probes a second, each in a dict, a queue and a heap at most


@pytest.mark.parametrize(
    ("fates", "freezes"),
    [
        ([Fate.DELIVER] * 2400, []),
        ([Fate.DELIVER] * 2400, [(0, 2400)]),  # an outage from the first probe to the last
        ([Fate.DROP] * 2400, []),
        ([Fate.NO_ACK_BUT_STORED] * 1500, []),
        ([Fate.REFUSE] * 2400, []),
        ([Fate.SKIP] * 2400, []),
    ],
    ids=["healthy", "outage", "nothing arrives", "no acknowledgements", "refused", "skipped"],
)
def test_one_way_of_ending_is_one_range(fates, freezes):
    link = run(fates, Weather(freezes=freezes), 0.1)
    assert link.largest <= IN_FLIGHT + 20
    assert held(link.tracker) <= 10 + 2 * RECENT_MINUTES


def test_a_week_of_every_kind_of_trouble_stays_within_the_bound_of_the_ranges():
    kinds = [fate for fate in Fate if fate is not Fate.DELAY_OVER_THE_NEXT]
    fates = [kinds[number * 7 % len(kinds)] for number in range(10_080)]
    freezes = [(first, 300) for first in range(500, 10_080, 1500)]
    link = run(fates, Weather(freezes=freezes, impairments=[(2500, 100)]), 60)
    books = link.tracker.counters
    assert books.expected == 10_080
    assert books.confirmed > 0 < books.recovered
    assert books.unknown > 0 < books.lost
    assert link.largest <= 2 * MAX_RANGES + IN_FLIGHT + MAX_SPANS + 100


def test_an_outage_torn_by_an_ailing_prober_stays_within_the_bound_and_loses_count_of_nothing():
    tracker = Tracker(policy(), carried=[(TOPIC_ID, 0)])
    link = Measured(tracker, interval_s=120)
    fates = [Fate.DELIVER, Fate.SKIP] * 5000
    link.play(fates, Weather(freezes=[(0, 10_000)]), rest_s=500)
    books = tracker.counters
    assert books.overdue == books.recovered + books.confirmed == 5000 - (books.good + books.late)
    assert books.confirmed == books.returned == books.lost == 0
    assert books.outstanding == 0
    assert link.largest <= 3 * MAX_RANGES + MAX_SPANS + 100


def test_an_hour_of_skipped_ticks_handled_at_once_leaves_no_queue():
    tracker = Tracker(policy(), carried=[(TOPIC_ID, 0)])
    for number in range(36_000):
        tracker.handle(Scheduled(TOPIC_ID, 0, number, number * S // 10, number * 100))
        tracker.handle(Skipped(TOPIC_ID, 0, number))
        assert held(tracker) <= 150  # most of it its minutes, until they are kept
    assert (tracker.counters.skipped, tracker.counters.in_flight) == (36_000, 0)


def test_a_prober_that_flickers_for_a_day_keeps_no_trace_of_it():
    tracker = Tracker(policy(), carried=[(TOPIC_ID, 0)])
    for second in range(0, 86_400, 4):
        tracker.handle(Impaired("it flickers", second * S))
        tracker.handle(Restored((second + 2) * S))
        tracker.advance((second + 2) * S)
    assert held(tracker) <= 10
