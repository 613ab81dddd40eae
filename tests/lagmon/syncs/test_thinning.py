"""What stays of offset syncs: bounded, the newest, the ends, and nothing that makes a later answer unsafe."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagmon.syncs.pairs import segments, translate
from lagmon.syncs.thinning import Thinning, thin, window_of
from tests.lagmon.sync_records import DAY, HOUR, NOW, S, pairs, runs, steady

RULES = Thinning()
SHARP = Thinning(whole_pairs=2, whole_ms=60 * S, most=30)  # so that a short run is thinned
ANY_AGE = Thinning(whole_pairs=2, whole_ms=60 * S, keep_ms=1 << 60, most=1 << 30)
MINUTE = 60 * S


def test_all_of_the_last_hour_stays_where_that_is_not_much():
    found = steady(200, every_ms=18 * S)
    assert thin(found, now_ms=NOW, rules=RULES) == found


def test_a_month_of_a_mirror_that_syncs_twice_a_minute_is_a_few_hundred():
    found = steady(30 * 2880, every_ms=30 * S)
    kept = thin(found, now_ms=NOW, rules=RULES)
    assert 400 < len(kept) < 600
    ages = [(NOW - pair.at_ms) / 1000 for pair in kept]
    gaps = [(age, age - later) for age, later in pairwise(ages)]
    assert max(gap / age for age, gap in gaps if age > HOUR / 1000) < 1 / 14  # no hole at any age


def test_a_mirror_that_syncs_every_record_keeps_no_more():
    found = steady(20_000, every_ms=5, step=1)
    assert len(thin(found, now_ms=NOW, rules=RULES)) <= RULES.whole_pairs + 12


def test_what_is_too_old_goes_but_for_the_newest():
    old = steady(10, every_ms=S, until_ms=NOW - 31 * DAY)
    assert thin(old, now_ms=NOW, rules=RULES) == old[-1:]
    both = [*old, *steady(2, every_ms=S)]
    assert thin(both, now_ms=NOW, rules=RULES) == both[-2:]


def test_a_lone_change_keeps_both_its_sides_for_as_long_as_anything_is_kept():
    # One record in the middle was not copied, ten days ago.
    rows = [(100 * one, 100 * one - (one >= 500)) for one in range(1000)]
    found = pairs(*rows, at_ms=NOW - 10 * DAY, every_ms=5 * S)
    kept = thin(found, now_ms=NOW, rules=RULES)
    assert {found[499], found[500]} <= set(kept)
    assert len(kept) < 12


def test_changes_with_every_transaction_are_not_all_kept():
    rows = [(101 * one, 100 * one) for one in range(8640)]
    found = pairs(*rows, at_ms=NOW - DAY, every_ms=10 * S)
    assert len(thin(found, now_ms=NOW, rules=RULES)) < 60


def test_a_mirror_that_begins_anew_all_the_time_is_bounded_too():
    rows = [(100 + one % 2, 1000 + one) for one in range(5000)]
    kept = thin(pairs(*rows), now_ms=NOW, rules=RULES)
    assert len(kept) == RULES.most
    assert kept[-1].number == 4999
    assert kept[0].number == 3000  # a beginning goes, never a hole


@pytest.mark.parametrize("claimed_ms", [0, -(1 << 40), NOW + 400 * DAY, 1 << 62])
def test_an_absurd_time_does_no_harm(claimed_ms):
    found = steady(50, every_ms=18 * S)
    found[20] = found[20]._replace(at_ms=claimed_ms)
    kept = thin(found, now_ms=NOW, rules=RULES)
    assert set(found) - {found[20]} <= set(kept)


@given(runs(), st.integers(0, 40 * DAY))
def test_it_is_bounded_and_keeps_the_newest_in_order(found, later_ms):
    kept = thin(found, now_ms=NOW + later_ms, rules=SHARP)
    assert len(kept) <= SHARP.most
    assert kept[-1:] == found[-1:]
    assert kept == [pair for pair in found if pair in set(kept)]


@given(runs(), st.integers(0, 40 * DAY))
def test_the_ends_of_each_segment_stay_for_the_keep_time(found, later_ms):
    now_ms = NOW + later_ms
    rules = Thinning(whole_pairs=2, most=1 << 30)
    young = [pair for pair in found if pair.at_ms >= now_ms - rules.keep_ms]
    kept = set(thin(found, now_ms=now_ms, rules=rules))
    for first, last in segments(young):
        assert {young[first], young[last]} <= kept


@given(runs(), st.integers(0, 40 * DAY), st.integers(0, 25_000))
def test_with_fewer_pairs_a_translation_is_the_same_or_earlier_or_unknown(found, later_ms, upstream):
    kept = thin(found, now_ms=NOW + later_ms, rules=SHARP)
    full, told = translate(found, upstream), translate(kept, upstream)
    assert told is None or (full is not None and told <= full)


@given(runs(), st.lists(st.integers(0, 3 * DAY), max_size=4), st.integers(0, 25_000))
def test_to_thin_again_and_again_is_as_safe_and_drops_nothing_that_would_stay(found, pauses_ms, upstream):
    # As the store does: thinned now and then while more comes.
    kept, now_ms = [], found[0].at_ms if found else NOW
    rest = list(found)
    for pause_ms in [*pauses_ms, 40 * DAY]:
        now_ms += pause_ms
        arrived = [pair for pair in rest if pair.at_ms <= now_ms]
        rest = rest[len(arrived) :]
        kept = thin([*kept, *arrived], now_ms=now_ms, rules=ANY_AGE)
    assert set(thin(found, now_ms=now_ms, rules=ANY_AGE)) <= set(kept)
    full, told = translate(found, upstream), translate(kept, upstream)
    assert told is None or (full is not None and told <= full)


@given(st.integers(0, 60 * DAY), st.integers(0, 10 * DAY))
def test_windows_are_a_32nd_of_their_age_and_only_ever_join(age_ms, later_ms):
    at_ms = NOW - age_ms
    length, number = window_of(at_ms, NOW, RULES)
    assert length * number <= at_ms < length * (number + 1)
    end_ms = length * (number + 1)
    assert length == RULES.shortest_ms or length * 32 <= NOW - end_ms
    assert NOW - (at_ms // (2 * length) + 1) * 2 * length < 64 * length  # the longest of them
    longer, _ = window_of(at_ms, NOW + later_ms, RULES)
    assert longer >= length
    assert longer % length == 0


def test_each_window_of_a_busy_month_holds_its_newest_and_no_more():
    found = steady(30 * 2880, every_ms=30 * S)
    kept = thin(found, now_ms=NOW, rules=RULES)
    newest = {window_of(pair.at_ms, NOW, RULES): pair for pair in found}
    old = {pair for pair in kept if pair.at_ms < NOW - HOUR}
    assert old == {pair for pair in newest.values() if pair in old} | {found[0]}
    assert set(newest.values()) <= set(kept)
