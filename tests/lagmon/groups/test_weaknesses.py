"""What Burrow's rules get wrong, a window each, and that ours do not."""

from __future__ import annotations

import numpy as np
import pytest

from lagmon.burrow.ring import store
from lagmon.burrow.rules import BurrowPolicy, Commit, burrow_group, burrow_partition
from lagmon.groups.rules.groups import judge_group
from lagmon.groups.rules.policy import Policy
from lagmon.groups.rules.table import judge
from lagmon.groups.rules.window import Window
from lagmon.groups.rules.words import Reason, Status
from tests.lagmon.windows import MIN, NOW, S, arrays_of_windows, position, window


def burrow(shape, ends, *, now=NOW):
    """Return Burrow's verdict on a window that is its whole ring, and these sampled ends."""
    ring = [
        Commit(offset, at_ms, None if lag < 0 else lag)
        for offset, at_ms, lag in zip(shape.offsets, shape.committed_ms, shape.lags, strict=True)
    ]
    return burrow_partition([None] * (10 - len(ring)) + ring, ends, now, BurrowPolicy())


def ours(shape, where, *, now=NOW):
    return judge(shape, where, now_ms=now, policy=Policy())


def test_a_group_with_one_commit_and_lag_has_not_stopped_after_a_second():
    shape = window((100, 1, 5))
    assert burrow(shape, [105]).status is Status.STOP
    verdict = ours(shape, position(105, seen_ago=1, passed_ago=20))
    assert (verdict.status, verdict.reason) == (Status.UNKNOWN, Reason.ONE_COMMIT)
    later = ours(shape, position(105, now=NOW + MIN, seen_ago=61, passed_ago=80), now=NOW + MIN)
    assert later.status is Status.STOP


def test_a_group_of_little_traffic_that_works_on_what_came_is_no_alarm():
    # Two commits a second apart, then half a minute of work on the rest of the batch.
    shape = window((100, 31, 30), (110, 30, 20))
    assert burrow(shape, [130] * 10).status is Status.STOP
    assert ours(shape, position(130, seen_ago=30, passed_ago=40)).status is Status.OK


def test_a_group_that_is_idle_for_hours_is_no_alarm_when_a_record_comes():
    # Caught up three hours ago; a producer wrote 20 s ago. Sampled every second, all of Burrow's ends are new.
    shape = window(*[(100 + index, 3 * 3600 + 9 - index, 0) for index in range(10)])
    assert burrow(shape, [110] * 10).status is Status.STOP
    assert ours(shape, position(110, seen_ago=3 * 3600, passed_ago=20)).status is Status.OK


def test_a_group_that_commits_every_hour_is_no_alarm_after_it_stood_for_a_while():
    # A ring that is short because the group is new says nothing of the hour that is usual.
    shape = window((100, 2 * 3600 - 60, 50), (200, 3660, 50))
    assert burrow(shape, [250] * 10, now=NOW).status is Status.STOP
    assert ours(shape, position(250, seen_ago=3660, passed_ago=3500)).status is Status.OK


def test_lags_of_replayed_history_are_not_taken_for_those_of_their_time():
    # Always caught up, committing the same while idle; five records came 3 s ago, and we were started.
    replayed = window(*[(100, 10 * ago, 5) for ago in range(9, -1, -1)])
    assert burrow(replayed, [105]).status is Status.STALL
    shape = arrays_of_windows([replayed], live=[0]).row(0)
    assert set(shape.lags) == {-1}
    assert ours(shape, position(105, passed_ago=3)).status is Status.OK


def test_a_brokers_clock_that_is_behind_is_no_stop():
    shape = window(*[(100 + index, 39 - index, 10) for index in range(10)])  # 30 s behind, one a second
    assert burrow(shape, [120] * 10).status is Status.STOP
    assert ours(shape, position(119, seen_ago=0.1, passed_ago=10)).status is Status.OK


def test_a_brokers_clock_that_is_ahead_hides_no_stop():
    # Five minutes ahead; the last commit was made two minutes ago.
    shape = window(*[(100 + index, -180 + 9 - index, 10 - index) for index in range(10)])
    assert burrow(shape, [120] * 10).status is Status.OK
    assert ours(shape, position(120, seen_ago=120, passed_ago=130)).status is Status.STOP


@pytest.mark.parametrize(
    ("head", "others"),
    [(101, {"readable_from": 101}), (100, {}), (99, {})],
    ids=["a marker behind it", "an open transaction", "an open transaction, read all the same"],
)
def test_what_nobody_can_read_is_no_lag(head, others):
    shape = window(*[(100, 10 * ago, 1) for ago in range(9, -1, -1)])
    assert burrow(shape, [101] * 10).status is Status.STALL
    verdict = ours(shape, position(head, end=101, passed_ago=600, **others))
    assert (verdict.status, verdict.facts.lag) == (Status.OK, 0)


def test_a_group_that_commits_every_second_and_falls_behind_is_told():
    # Ten commits as they come span nine seconds. Ours are seen over two minutes: one of each 15 s.
    trail = window(*[(1000 + 150 * at, 15 * (9 - at), 100 + 40 * at) for at in range(10)])
    shape = window(*[(2341 + at, 9 - at, 450 if at % 3 else 460) for at in range(10)])
    assert burrow(shape, [2810] * 10).status is Status.OK
    assert ours(trail, position(2810, passed_ago=30)).status is Status.WARN


def test_a_group_that_went_back_and_commits_every_second_is_told_for_minutes():
    shape = window(*[(500 + 10 * at, 9 - at, 900) for at in range(10)])
    assert burrow(shape, [1400] * 10).status is Status.WARN  # the step back is older than ten commits
    trail = window((1390, 60, 10), (350, 45, 1050), (400, 30, 1000), (450, 15, 950), (500, 0, 900))
    assert ours(trail, position(1400, passed_ago=30)).status is Status.REWIND


def test_a_topic_made_anew_is_no_rewind():
    shape = window((5000, 30, 0), (5010, 20, 0), (3, 10, 40), (7, 0, 40))
    assert burrow(shape, [47] * 10).status is Status.REWIND
    fresh = Window(shape.offsets[2:], shape.committed_ms[2:], shape.lags[2:])  # the old ones are forgotten
    assert ours(fresh, position(47, passed_ago=0)).status is Status.OK


def test_a_commit_to_the_old_topic_is_no_lag_in_the_new_one():
    shape = window((40, 30, 0), (50, 20, 0))
    assert burrow(shape, [90_000] * 10).status is Status.STOP
    verdict = ours(shape, position(90_000, seen_ago=20, passed_ago=15, remade_ms=NOW))
    assert (verdict.status, verdict.reason) == (Status.UNKNOWN, Reason.RECREATED)


def test_an_offset_beyond_the_end_is_not_well():
    shape = window((5000, 30, 0), (5010, 20, 0))
    assert burrow(shape, [47] * 10).status is Status.OK
    verdict = ours(shape, position(47, seen_ago=20))
    assert (verdict.status, verdict.reason) == (Status.UNKNOWN, Reason.BEYOND_END)


def test_a_restart_neither_blinds_nor_alarms():
    # Committed ten minutes ago, read from the topic; the end is known for 5 s only.
    shape = window((90, 610, -1), (100, 600, -1))
    assert burrow(shape, [105]).status is Status.STOP
    verdict = ours(shape, position(105, seen_ago=600, passed_ago=5, passed_exact=False))
    assert (verdict.status, verdict.reason) == (Status.UNKNOWN, Reason.HISTORY_SHORT)
    later = position(105, now=NOW + MIN, seen_ago=660, passed_ago=65, passed_exact=False)
    assert ours(shape, later, now=NOW + MIN).status is Status.STOP


def test_an_end_that_is_not_read_any_more_is_not_well():
    shape = window((90, 3610, 0), (100, 3600, 0))
    assert burrow(shape, [100] * 10).status is Status.OK  # for as long as the cluster does not answer
    verdict = ours(shape, position(100, seen_ago=3600, head_ago=3600))
    assert (verdict.status, verdict.reason) == (Status.UNKNOWN, Reason.HEAD_STALE)


def test_commits_that_are_not_read_any_more_are_no_stop():
    shape = window((90, 310, 0), (100, 300, 0))
    assert burrow(shape, [400] * 10).status is Status.STOP
    verdict = ours(shape, position(400, seen_ago=300, passed_ago=290, read_ago=300))
    assert (verdict.status, verdict.reason) == (Status.UNKNOWN, Reason.COMMITS_STALE)


def test_a_partition_without_a_commit_is_not_well():
    assert burrow(window(), [100]).status is Status.OK
    verdict = ours(window(), position(100))
    assert (verdict.status, verdict.reason) == (Status.UNKNOWN, Reason.NO_COMMIT)


def test_a_partition_without_data_does_not_leave_its_group_well():
    well = window((100, 1, 0))
    assert (
        burrow_group([burrow(well, [100]), burrow(window(), [7])], NOW, NOW, BurrowPolicy()).status
        is Status.OK
    )
    verdicts = [ours(well, position(100, seen_ago=1)), ours(window(), position(7))]
    assert judge_group(verdicts, [0.0, -1.0]).status is Status.UNKNOWN


def test_a_partition_whose_member_never_commits_does_not_leave_its_group_well():
    # Burrow knows its owner, and takes silence for health; ours counts what was written while it was owned.
    well = window((100, 1, 0))
    assert burrow_partition([None] * 10, [107], NOW, BurrowPolicy()).status is Status.OK
    assert judge_group([ours(well, position(100, seen_ago=1))], [0.0], silent=1).status is Status.UNKNOWN


def test_one_commit_without_lag_hides_no_stall():
    # Caught up nine minutes ago, and stuck at the next record since, committing the same every minute.
    shape = window(*[(100, 60 * ago, 0 if ago == 9 else 5) for ago in range(9, -1, -1)])
    assert burrow(shape, [105] * 10).status is Status.OK
    assert ours(shape, position(105, seen_ago=0, passed_ago=530)).status is Status.STALL


def test_a_second_step_back_is_seen():
    shape = window((100, 3, 20), (90, 2, 15), (120, 1, 5), (80, 0, 45))
    assert burrow(shape, [125] * 10).status is Status.OK
    assert ours(shape, position(125, passed_ago=1)).status is Status.REWIND


def test_records_deleted_before_they_were_read_are_told():
    shape = window((100, 20, 900), (200, 10, 800), (300, 0, 700))
    assert burrow(shape, [1000] * 10).status is Status.OK
    verdict = ours(shape, position(1000, start=400, passed_ago=100))
    assert (verdict.status, verdict.facts.lag) == (Status.ERR, 600)


def test_a_minimum_distance_gives_no_commit_an_older_time():
    # A commit every 5 s into a ring with a minimum distance of a minute.
    ring, shape = (None,) * 10, window(*[(100 + index, 45 - 5 * index, 10) for index in range(10)])
    for order, (offset, at_ms) in enumerate(zip(shape.offsets, shape.committed_ms, strict=True)):
        ring = store(ring, Commit(offset, at_ms, None, order), offset + 10, min_distance_s=60)
    kept = [one for one in ring if one is not None]
    assert [(one.offset, NOW - one.committed_ms) for one in kept] == [(109, 45 * S)]
    assert burrow_partition(ring, [119] * 10, NOW, BurrowPolicy()).status is Status.STOP
    assert ours(shape, position(119, passed_ago=45)).status is Status.OK


def test_absurd_times_are_no_facts():
    shape = Window((90, 100), (NOW - S, 2**60), (5, 5))
    assert burrow(shape, [105] * 10).status is Status.WARN  # and never STOP, however long it stands
    verdict = ours(shape, position(105, seen_ago=3600, passed_ago=3600))
    assert (verdict.status, verdict.reason) == (Status.UNKNOWN, Reason.TIME_ABSURD)
    assert np.int64(2**60) == verdict.facts.since_ms
