"""Runs of offset syncs of one distance, and which of them is before and behind what a log's start has passed."""

from __future__ import annotations

import pytest

from lagmon.syncs.runs import MOST_RUNS, SyncRun, SyncRuns


def runs_of(*pairs):
    runs = SyncRuns()
    for upstream, downstream in pairs:
        runs.note("orders", 0, upstream=upstream, downstream=downstream, live=True)
    return runs


OVERTAKEN = (0, 5), (101, 106), (202, 207), (1000, 300), (1101, 401)


@pytest.mark.parametrize(
    ("start", "before", "after"),
    [
        (0, None, None),
        (1, SyncRun(5, 1, 203), (203, 208)),
        (202, SyncRun(5, 1, 203), (203, 208)),
        (203, SyncRun(5, 1, 203), (1001, 301)),
        (1000, SyncRun(5, 1, 203), (1001, 301)),
        (1001, SyncRun(-700, 1001, 1102), (1102, 402)),
        (1102, SyncRun(-700, 1001, 1102), None),
    ],
)
def test_a_run_goes_on_while_the_distance_is_the_same(start, before, after):
    runs = runs_of(*OVERTAKEN)
    assert runs.before("orders", 0, start) == before
    assert runs.after("orders", 0, start) == (None if after is None else (before, *after))


def test_a_mirror_that_went_back_begins_a_run():
    runs = runs_of((0, 0), (101, 101), (50, 102), (60, 60))
    assert runs.before("orders", 0, 102) == SyncRun(0, 61, 61)  # of the same distance, and not behind it


def test_only_the_newest_runs_of_each_partition_are_kept():
    runs = runs_of(*((10 * at, 9 * at) for at in range(MOST_RUNS + 3)))
    assert runs.before("orders", 0, 20) is None
    assert runs.newest("orders", 0) == SyncRun(-6, 61, 61)
    assert runs.newest("orders", 1) is None
    assert runs.after("orders", 1, 0) is None
    assert runs.after("orders", 0, 20) is None
    assert runs.after("orders", 0, 40) == (SyncRun(-3, 31, 31), 41, 37)


@pytest.mark.parametrize("absurd", [(-1, 5), (5, -1), (1 << 62, 5), (5, (1 << 63) - 1)])
def test_offsets_that_are_none_tell_nothing(absurd):
    runs = runs_of((0, 0), absurd, (101, 101))
    assert runs.before("orders", 0, 200) == SyncRun(0, 1, 102)


def test_a_topic_that_was_made_anew_is_forgotten_and_no_other():
    runs = runs_of((0, 0))
    runs.note("orders", 1, upstream=0, downstream=0, live=True)
    runs.note("orders.eu", 0, upstream=0, downstream=0, live=True)
    runs.forget("orders".__eq__)
    assert [runs.before(*place, 5) for place in (("orders", 0), ("orders", 1))] == [None, None]
    assert runs.before("orders.eu", 0, 5) == SyncRun(0, 1, 1)


def test_the_first_sync_behind_a_start_is_kept_while_others_follow_it():
    runs = runs_of((0, 0), (50, 40))
    runs.watch("orders", 0, 200)
    for upstream, downstream in (
        (60, 50),
        (90, 80),
        (300, 81),
        *((300 + 9 * n, 81 + 5 * n) for n in range(30)),
    ):
        runs.note("orders", 0, upstream=upstream, downstream=downstream, live=True)
        runs.watch("orders", 0, 200)
    assert runs.after("orders", 0, 200) == (SyncRun(-10, 51, 91), 301, 82)
    assert runs.after("orders", 0, 301) is None
    runs.unwatch("orders", 0)
    assert runs.after("orders", 0, 200) is None


def test_a_start_that_moved_on_behind_what_was_passed_is_waited_for_anew():
    runs = runs_of((0, 0))
    runs.watch("orders", 0, 50)
    runs.note("orders", 0, upstream=100, downstream=100, live=True)
    runs.watch("orders", 0, 500)
    assert runs.after("orders", 0, 500) is None
    runs.note("orders", 0, upstream=600, downstream=101, live=True)
    assert runs.after("orders", 0, 500) == (SyncRun(0, 1, 101), 601, 102)


def test_what_comes_after_the_mirror_has_passed_a_start_is_not_kept():
    runs = runs_of((0, 0), (300, 100))
    runs.watch("orders", 0, 200)
    runs.note("orders", 0, upstream=500, downstream=150, live=True)
    assert runs.after("orders", 0, 200) == (SyncRun(0, 1, 1), 301, 101)
