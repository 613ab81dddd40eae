"""What the lag monitor's benchmark is about is what its figures say it is about."""

from __future__ import annotations

from collections import Counter

import pytest

from bench import lagmon, lagmon_service
from bench.lagmon_commits import PARTITIONS, RECORDS, offset_of
from bench.lagmon_evaluation import NOW_MS, full_windows, positions
from lagmon.groups.rules.policy import Policy
from lagmon.groups.rules.words import Reason
from lagmon.groups.sweep import sweep


def test_the_whole_benchmark_has_two_million_commits_on_as_many_positions_as_the_bars_say():
    whole = lagmon.Scale.of(lagmon.COMMITS)
    assert whole == lagmon.Scale()
    assert (whole.commits, whole.groups * PARTITIONS, whole.topics * PARTITIONS) == (
        2_000_000,
        100_000,
        50_000,
    )
    assert [groups * PARTITIONS for groups in whole.growth] == [10_000, 100_000, 500_000]
    assert whole.asked == 5_000


@pytest.mark.parametrize("commits", [1_000, 100_000, 400_000, 1_999_999])
def test_a_smaller_one_has_about_as_many_as_it_is_told(commits):
    scale = lagmon.Scale.of(commits)
    assert commits // 2 < scale.commits <= max(commits, 10 * PARTITIONS * scale.turns)
    assert 1 <= scale.topics <= scale.groups
    assert scale.growth == tuple(sorted(set(scale.growth)))
    assert scale.asked == max(10, lagmon.ASKED * commits // lagmon.COMMITS)


def test_no_group_commits_beyond_the_end_or_goes_back():
    offsets = [offset_of(turn) for turn in range(10 * RECORDS)]
    assert offsets == sorted(offsets)
    assert offsets[0] == 0
    assert max(offsets) < RECORDS


def test_no_window_of_those_that_are_judged_is_settled_by_what_is_missing():
    windows = full_windows(1_000)
    behind = sweep(windows, positions(windows, windows.offset[:, -1] + 1_000), now_ms=NOW_MS, policy=Policy())
    found = Counter(Reason(int(one)) for one in behind.reason)
    assert set(found) == {Reason.MOVING, Reason.PAUSING, Reason.REWOUND}
    assert min(found.values()) >= 250
    ahead = sweep(windows, positions(windows, windows.offset[:, -1]), now_ms=NOW_MS, policy=Policy())
    assert {Reason(int(one)) for one in ahead.reason} == {Reason.CAUGHT_UP}


def test_the_loops_time_is_that_while_a_scrape_was_under_way_at_the_median_and_at_worst():
    scrapes = [
        {"began_ns": begin, "ended_ns": begin + 100_000_000, "cpu_s": 0.25, "bytes": 7}
        for begin in (1_000_000_000, 2_000_000_000, 3_000_000_000)
    ]
    stretches = [(500_000_000, 90_000_000, 90_000_000)]  # before all of them
    for number, begin in enumerate((1_000_000_000, 2_000_000_000, 3_000_000_000), start=1):
        stretches += [(begin + 1, number * 1_000_000, 500_000), (begin + 2, 4_000_000, 2_000_000)]
    figures = lagmon_service._figures(scrapes, stretches)
    assert figures == {
        "bytes": 7,
        "took_s": 0.1,
        "cpu_ms": 250.0,
        "loop_cpu_ms": 2.5,
        "loop_wall_ms": 6.0,
        "longest_cpu_ms": 2.0,
        "longest_wall_ms": 4.0,
    }
