"""Bounds of target offsets hold the truth of a mirror that is played through."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lagmon.failover.places import has_no_gaps, last_run, last_start
from lagmon.syncs.pairs import SyncPair, translate
from tests.lagmon.failover.mirror import STEPS, played


def pairs(*places):
    return [SyncPair(0, number, *place, 0) for number, place in enumerate(places)]


def start(run, upstream, target_end=1000, *, in_transactions=False):
    return tuple(last_start(run, upstream, target_end=target_end, in_transactions=in_transactions))


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


def test_only_pairs_since_the_last_restart_count():
    assert (
        last_run(pairs((0, 0), (50, 50), (20, 60), (40, 80))) == pairs((0, 0), (0, 0), (20, 60), (40, 80))[2:]
    )
    assert list(last_run([])) == []


def test_target_offsets_without_gaps():
    run = pairs((100, 40), (110, 50), (120, 60), (130, 68))
    assert has_no_gaps(run, 43, 43)
    assert has_no_gaps(run, 43, 60)
    assert has_no_gaps(run, 68, 69)
    assert not has_no_gaps(run, 39, 45)
    assert not has_no_gaps(run, 55, 61)
    assert not has_no_gaps(run, 68, 70)


@given(STEPS, st.data())
def test_bounds_hold_the_truth_and_translation_is_safe(steps, data):
    mirror, end = played(steps)
    committed = data.draw(st.integers(0, end))
    truth = mirror.last_start(committed)
    found = last_start(last_run(mirror.pairs), committed, target_end=len(mirror.log), in_transactions=False)
    assert found.least <= truth <= found.most
    translated = translate(mirror.pairs, committed)
    if translated is not None and translated <= len(mirror.log):
        assert translated <= found.least
        assert mirror.skipped(translated, committed) == 0


@given(STEPS, st.data())
def test_what_is_called_without_gaps_is_in_a_row(steps, data):
    mirror, _ = played(steps)
    first = data.draw(st.integers(0, len(mirror.log)))
    last = data.draw(st.integers(first, len(mirror.log)))
    if has_no_gaps(last_run(mirror.pairs), first, last):
        row = mirror.log[first:last]
        assert row == [*range(row[0], row[0] + len(row))] if row else True
