"""Bounds of target offsets hold the truth of a mirror that is played through."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lagmon.failover.places import has_no_gaps, last_start, record_range, runs_of
from lagmon.syncs.pairs import SyncPair, translate
from tests.lagmon.failover.mirror import STEPS, played


def pairs(*places):
    return [SyncPair(0, number, *place, number) for number, place in enumerate(places)]


def start(run, upstream, target_end=1000, *, in_transactions=False):
    return tuple(last_start(runs_of(run), upstream, target_end=target_end, in_transactions=in_transactions))


def test_rule_table():
    run = pairs((100, 40), (110, 50), (120, 58))
    assert start(run, 110) == (50, 50)  # a pair
    assert start(run, 104) == (44, 44)  # equal distances around it
    assert start(run, 104, in_transactions=True) == (41, 50)
    assert start(run, 115) == (51, 58)
    assert start(run, 500, 60) == (59, 60)  # behind the last
    assert start(run, 500, 59) == (59, 59)
    assert start(run, 7) == (0, 40)
    assert start([], 7, 30) == (0, 30)


def test_what_was_replicated_before_a_restart_is_where_it_was():
    run = pairs((0, 0), (10, 10), (50, 50), (20, 60), (40, 80))
    assert runs_of(run) == [pairs(*[(0, 0)] * 3, (20, 60), (40, 80))[3:], run[:2]]
    assert start(run, 5) == (5, 5)
    assert start(run, 15) == (11, 60)
    assert start(run, 30) == (70, 70)
    recreated = pairs((0, 0), (50, 50), (60, 0), (70, 10))
    assert runs_of(recreated) == [recreated[2:]]
    assert start(recreated, 30) == (0, 0)
    assert runs_of([]) == []


def test_syncs_that_overtook_each_other_are_no_restart():
    first, last, late = SyncPair(0, 1, 10, 10, 0), SyncPair(0, 2, 67, 67, 25), SyncPair(0, 3, 65, 65, 11)
    assert runs_of([first, last, late]) == [[first, late, last]]
    assert start([first, last, late], 20) == (20, 20)
    later = late._replace(at_ms=1000)  # both topics were re-created
    assert runs_of([first, last, later]) == [[later]]


def test_target_offsets_without_gaps():
    run = pairs((100, 40), (110, 50), (120, 60), (130, 68))
    runs = runs_of(run)
    assert has_no_gaps(runs, 43, 43)
    assert has_no_gaps(runs, 43, 60)
    assert has_no_gaps(runs, 68, 69)
    assert not has_no_gaps(runs, 39, 45)
    assert not has_no_gaps(runs, 55, 61)
    assert not has_no_gaps(runs, 68, 70)


@given(STEPS, st.data())
def test_bounds_hold_the_truth_and_translation_is_safe(steps, data):
    mirror, end = played(steps)
    committed = data.draw(st.integers(0, end))
    truth = mirror.last_start(committed)
    found = last_start(runs_of(mirror.pairs), committed, target_end=len(mirror.log), in_transactions=False)
    assert found.least <= truth <= found.most
    translated = translate(mirror.pairs, committed)
    if translated is not None and translated <= len(mirror.log):
        assert translated <= found.least
        assert mirror.skipped(translated, committed) == 0


def test_ranges_of_a_record():
    run = pairs((100, 40), (110, 50), (120, 58), (130, 59))

    def found(upstream, target_end=1000, *, in_transactions=False):
        one = record_range(runs_of(run), upstream, target_end=target_end, in_transactions=in_transactions)
        return one.first, one.last, one.exact, one.by and one.by.upstream

    assert found(110) == (50, 51, 50, 110)
    assert found(104) == (41, 50, 44, 110)
    assert found(104, in_transactions=True) == (41, 50, None, 110)
    assert found(115) == (51, 58, None, 120)
    assert found(125) == (59, 59, None, 130)  # there is no room: it was not replicated
    assert found(500, 62) == (60, 62, None, None)
    assert found(7) == (0, 40, None, 100)


@given(STEPS, st.data())
def test_a_record_is_within_its_range(steps, data):
    mirror, end = played(steps)
    upstream = data.draw(st.integers(0, end))
    found = record_range(runs_of(mirror.pairs), upstream, target_end=len(mirror.log), in_transactions=False)
    if upstream in mirror.log:
        place = len(mirror.log) - 1 - mirror.log[::-1].index(upstream)
        assert found.first <= place < found.last
        assert found.exact in (None, place)


@given(STEPS, st.data())
def test_what_is_called_without_gaps_is_in_a_row(steps, data):
    mirror, _ = played(steps)
    first = data.draw(st.integers(0, len(mirror.log)))
    last = data.draw(st.integers(first, len(mirror.log)))
    if has_no_gaps(runs_of(mirror.pairs), first, last):
        row = mirror.log[first:last]
        assert row == [*range(row[0], row[0] + len(row))] if row else True
