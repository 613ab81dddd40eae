"""Whatever the link does: the books close after every event, and the verdicts are the truth."""

from hypothesis import given, settings
from hypothesis import strategies as st

from canary.tracker.counters import Outcome
from canary.tracker.tracker import Tracker
from tests.canary.pretend_link import NEXT_TOPIC_ID, TOPIC_ID, Fate, PretendLink, Weather, policy

ORDERLY = [fate for fate in Fate if fate is not Fate.DELAY_OVER_THE_NEXT]
plans = st.lists(st.lists(st.sampled_from(list(Fate)), min_size=1, max_size=40), min_size=1, max_size=3)
orderly = st.lists(st.lists(st.sampled_from(ORDERLY), min_size=1, max_size=40), min_size=1, max_size=3)
spans = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 150)), max_size=2)
sights = {
    "freezes": spans,
    "ack_s": st.sampled_from([0.01, 0.5, 8.0]),  # the last two come after the arrival
    "source_tap_s": st.sampled_from([0.005, 0.3, 12.0]),
    "tap_s": st.sampled_from([0.0, 0.15, 3.0]),
    "stale_records": st.integers(0, 5),
}
skies = st.builds(Weather, **sights, mirror_position=st.booleans())
any_sky = st.builds(
    Weather,
    **sights,
    impairments=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 30)), max_size=1),
    replaced_at=st.none() | st.integers(3, 40),
    told_early=st.integers(0, 3),
)
PASSED_ON = (Fate.DELIVER, Fate.DUPLICATE, Fate.CORRUPT, Fate.NO_ACK_BUT_STORED)


def played(fates: list[list[Fate]], weather: Weather, warmup_s: float = 0) -> PretendLink:
    carried = [(topic, number) for topic in (TOPIC_ID, NEXT_TOPIC_ID) for number in range(len(fates))]
    link = PretendLink(Tracker(policy(warmup_s=warmup_s), carried=carried if warmup_s == 0 else ()))
    link.play(fates, weather)
    return link


@given(plans, any_sky)
@settings(deadline=None)
def test_every_probe_has_exactly_one_outcome_and_none_stays_in_flight(fates, weather):
    link = played(fates, weather)
    books = link.tracker.counters
    assert link.concluded_twice == []
    assert set(link.outcomes) == set(link.fates)
    assert books.expected == len(link.fates)
    assert books.in_flight == 0
    for outcome in Outcome:
        assert getattr(books, outcome.value) == list(link.outcomes.values()).count(outcome)


@given(orderly, any_sky)
@settings(deadline=None)
def test_nothing_that_is_downstream_is_ever_called_lost_while_the_mirror_keeps_order(fates, weather):
    link = played(fates, weather)
    lost = {key for key, outcome in link.outcomes.items() if outcome is Outcome.LOST}
    assert (lost | link.confirmed) & link.present == set()
    assert link.returned == set()
    assert link.tracker.counters.reordered == 0


@given(orderly, skies)
@settings(deadline=None)
def test_exactly_what_is_gone_is_lost_or_confirmed(fates, weather):
    link = played(fates, weather)
    gone = set()
    for partition, plan in enumerate(fates):
        newest = max((n for n, fate in enumerate(plan) if fate in PASSED_ON), default=-1)
        # The last copy of all proves what is before it; a changed one is lost at its horizon at the latest,
        # unless it had been given up for overdue before it came.
        gone |= {
            (TOPIC_ID, partition, n)
            for n, fate in enumerate(plan)
            if (n < newest and fate in (Fate.DROP, Fate.CORRUPT)) or (n == newest and fate is Fate.CORRUPT)
        }
    said = {key for key, outcome in link.outcomes.items() if outcome is Outcome.LOST} | link.confirmed
    late_corrupt = {key for key in gone - said if link.fates[key] is Fate.CORRUPT}
    assert said <= gone
    assert gone - said <= late_corrupt
    for key in late_corrupt:
        assert link.outcomes[key] is Outcome.OVERDUE


@given(orderly, skies)
@settings(deadline=None)
def test_copies_beyond_the_first_are_duplicated_and_changed_ones_corrupted(fates, weather):
    link = played(fates, weather)
    assert link.flags["duplicated"] == sum(plan.count(Fate.DUPLICATE) for plan in fates)
    assert link.flags["corrupted"] == sum(plan.count(Fate.CORRUPT) for plan in fates)
    assert link.flags["looped"] == link.flags["misrouted"] == link.flags["foreign"] == 0


@given(orderly, skies)
@settings(deadline=None)
def test_settled_counts_what_was_known_to_be_on_the_source(fates, weather):
    link = played(fates, weather)
    books = link.tracker.counters
    all_fates = list(link.fates.values())
    unsettled = (Fate.SKIP, Fate.REFUSE, Fate.NO_ACK_AND_NOT_STORED)
    assert books.settled == sum(fate not in unsettled for fate in all_fates)
    assert books.settled == books.concluded
    assert books.produce_failed == all_fates.count(Fate.REFUSE)
    assert books.produce_unknown == all_fates.count(Fate.NO_ACK_AND_NOT_STORED)
    assert books.skipped == all_fates.count(Fate.SKIP)


@given(st.lists(st.sampled_from([Fate.DELIVER, Fate.DELAY_OVER_THE_NEXT]), min_size=2, max_size=60))
@settings(deadline=None)
def test_only_a_link_that_reorders_makes_a_proof_wrong_and_then_the_copy_says_so(fates):
    link = played([fates], Weather())
    books = link.tracker.counters
    assert books.lost == books.returned  # the link reorders, it never drops: each wrong proof shows itself
    assert books.reordered >= books.returned


@given(orderly, skies, st.sampled_from([3, 20, 10_000]))
@settings(deadline=None)
def test_warm_up_ends_with_the_first_copy_of_each_partition_for_itself(fates, weather, warmup_s):
    link = played(fates, weather, warmup_s)
    books = link.tracker.counters
    assert link.carried == sum(any(fate in (*PASSED_ON,) for fate in plan) for plan in fates)
    assert books.expected == len(link.fates)
    assert books.in_flight == 0
    assert books.settled == books.concluded
    # A warm probe has no other outcome, so all that is not told as concluded is warm-up.
    assert books.warmup == len(link.fates) - len(link.outcomes)
