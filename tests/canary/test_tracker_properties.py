"""Whatever the link does: the books close after every event, and the verdicts are the truth."""

from hypothesis import given
from hypothesis import strategies as st

from canary.books import Outcome
from canary.tracker import Tracker
from tests.canary.pretend_link import TOPIC_ID, Fate, PretendLink, policy

fates = st.lists(st.sampled_from(list(Fate)), min_size=1, max_size=60)
freezes = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 150)), max_size=2)
ORDERLY = [fate for fate in Fate if fate is not Fate.DELAY_OVER_THE_NEXT]


def played(plan: list[Fate], standstill: list[tuple[int, int]] = ()) -> PretendLink:
    link = PretendLink(Tracker(policy(), carried=[(TOPIC_ID, 0)]))
    link.play(plan, standstill)
    return link


@given(fates, freezes)
def test_every_probe_has_exactly_one_outcome_and_none_stays_in_flight(plan, standstill):
    link = played(plan, standstill)
    books = link.tracker.books
    assert link.concluded_twice == []
    assert sorted(link.outcomes) == list(range(len(plan)))
    assert books.expected == len(plan)
    assert books.in_flight == 0
    for outcome in Outcome:
        assert getattr(books, outcome.value) == list(link.outcomes.values()).count(outcome)


@given(st.lists(st.sampled_from(ORDERLY), min_size=1, max_size=60), freezes)
def test_lost_and_confirmed_are_exactly_the_dropped_ones_that_something_newer_has_passed(plan, standstill):
    link = played(plan, standstill)
    arrived = [n for n, fate in enumerate(plan) if fate in (Fate.DELIVER, Fate.DUPLICATE, Fate.CORRUPT, Fate.NO_ACK_BUT_STORED)]
    newest = max(arrived, default=-1)
    absent = [n for n, fate in enumerate(plan) if fate in (Fate.DROP, Fate.CORRUPT) and n < newest]
    books = link.tracker.books
    lost = [n for n, outcome in link.outcomes.items() if outcome is Outcome.LOST]
    assert set(lost) <= set(absent)
    assert books.lost + books.confirmed == len(absent)
    assert books.returned == 0


@given(st.lists(st.sampled_from(ORDERLY), min_size=1, max_size=60), freezes)
def test_copies_beyond_the_first_are_duplicated_and_changed_ones_corrupted(plan, standstill):
    link = played(plan, standstill)
    assert link.marks["duplicated"] == plan.count(Fate.DUPLICATE)
    assert link.marks["corrupted"] == plan.count(Fate.CORRUPT)
    assert link.marks["reordered"] == 0


@given(st.lists(st.sampled_from(ORDERLY), min_size=1, max_size=60), freezes)
def test_settled_counts_what_was_known_to_be_on_the_source(plan, standstill):
    link = played(plan, standstill)
    books = link.tracker.books
    stored = sum(fate not in (Fate.SKIP, Fate.REFUSE, Fate.NO_ACK_AND_NOT_STORED) for fate in plan)
    assert books.settled == stored
    assert books.settled == books.concluded
    assert books.produce_failed == plan.count(Fate.REFUSE)
    assert books.produce_unknown == plan.count(Fate.NO_ACK_AND_NOT_STORED)
    assert books.skipped == plan.count(Fate.SKIP)


@given(st.lists(st.sampled_from([Fate.DELIVER, Fate.DELAY_OVER_THE_NEXT]), min_size=2, max_size=60))
def test_a_copy_that_comes_after_the_proof_is_returned_and_one_before_it_only_reordered(plan):
    link = played(plan)
    books = link.tracker.books
    assert books.lost == books.returned  # the link reorders, it never drops: each wrong proof shows itself
    assert books.reordered >= books.returned
