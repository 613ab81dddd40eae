"""A group's verdict from those of its partitions: by hand, and over arrays against one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lagmon.groups.rules.groups import Grouping, GroupVerdict, judge_group, judge_groups
from lagmon.groups.rules.sentences import Facts
from lagmon.groups.rules.table import Verdict
from lagmon.groups.rules.words import Reason, Status

REASON = {
    Status.OK: Reason.MOVING,
    Status.UNKNOWN: Reason.TIME_ABSURD,
    Status.WARN: Reason.GROWING,
    Status.REWIND: Reason.REWOUND,
    Status.STALL: Reason.STALLED,
    Status.STOP: Reason.STOPPED,
    Status.ERR: Reason.DELETED_UNREAD,
}


def verdict(status, lag=0):
    return Verdict(REASON[status], Facts(lag=lag))


@pytest.mark.parametrize(
    ("statuses", "worst"),
    [
        ([Status.OK, Status.OK], Status.OK),
        ([Status.OK, Status.UNKNOWN], Status.UNKNOWN),
        ([Status.UNKNOWN, Status.WARN], Status.WARN),
        ([Status.WARN, Status.REWIND, Status.UNKNOWN], Status.REWIND),
        ([Status.STALL, Status.REWIND], Status.STALL),
        ([Status.STALL, Status.STOP], Status.STOP),
        ([Status.ERR, Status.STOP], Status.ERR),
    ],
)
def test_a_group_is_as_its_worst_partition_is(statuses, worst):
    found = judge_group([verdict(status) for status in statuses], [0.0] * len(statuses))
    assert found.status is worst
    assert statuses[found.worst_row] is worst


def test_of_equally_bad_partitions_the_larger_lag_is_worse_and_then_the_first():
    verdicts = [verdict(Status.OK, 99), verdict(Status.STOP, 3), *[verdict(Status.STOP, 7)] * 2]
    found = judge_group(verdicts, [1.0, 4.0, -1.0, 4.0])
    assert (found.worst_row, found.max_lag, found.max_lag_row) == (2, 99, 0)
    assert (found.lag_s, found.lag_s_row) == (4.0, 1)


@pytest.mark.parametrize(
    ("statuses", "lag", "worst"),
    [
        ([Status.OK, Status.OK], 5, Status.WARN),
        ([Status.OK, Status.OK], 0, Status.OK),
        ([Status.OK, Status.UNKNOWN], 5, Status.WARN),
        ([Status.OK, Status.UNKNOWN], 0, Status.UNKNOWN),
        ([Status.OK, Status.WARN], 5, Status.WARN),
        ([Status.OK, Status.STOP], 5, Status.STOP),
    ],
)
def test_a_group_that_falls_behind_with_all_of_them_is_no_better_than_warn(statuses, lag, worst):
    found = judge_group([verdict(status, lag) for status in statuses], [0.0] * len(statuses), falls=True)
    assert (found.status, found.falls) == (worst, Status.WARN not in statuses and worst is Status.WARN)


@pytest.mark.parametrize(
    ("statuses", "falls", "worst", "worst_row"),
    [
        ([Status.OK, Status.OK], False, Status.UNKNOWN, -1),
        ([Status.OK, Status.OK], True, Status.WARN, 0),
        ([Status.OK, Status.UNKNOWN], False, Status.UNKNOWN, 1),
        ([Status.OK, Status.WARN], False, Status.WARN, 1),
        ([Status.OK, Status.STOP], False, Status.STOP, 1),
    ],
)
def test_where_a_group_is_silent_it_is_no_better_than_unknown(statuses, falls, worst, worst_row):
    verdicts = [verdict(status, 5) for status in statuses]
    found = judge_group(verdicts, [0.0] * len(statuses), falls=falls, silent=2)
    assert (found.status, found.worst_row) == (worst, worst_row)
    assert found.partitions[Status.UNKNOWN] == 2 + statuses.count(Status.UNKNOWN)
    assert (found.total_lag, found.unknown_lags) == (10, 2)


def test_lags_that_are_not_known_are_counted_and_not_added():
    found = judge_group([verdict(Status.UNKNOWN, -1), verdict(Status.OK, 5)], [-1.0, 0.5])
    assert (found.total_lag, found.unknown_lags, found.max_lag, found.lag_s) == (5, 1, 5, 0.5)
    blind = judge_group([verdict(Status.UNKNOWN, -1)], [-1.0])
    assert (blind.total_lag, blind.unknown_lags, blind.max_lag, blind.lag_s) == (0, 1, -1, -1.0)


def test_a_group_without_partitions_is_not_found():
    assert judge_group([], []) == GroupVerdict(Status.NOTFOUND, (0,) * 8)
    assert judge_group([], []).sentence == "No partition of the group is known."


def test_a_group_says_how_many_partitions_are_how_worst_first():
    verdicts = [verdict(Status.OK)] * 97 + [verdict(Status.STOP)] * 2 + [verdict(Status.UNKNOWN)]
    assert judge_group(verdicts, [0.0] * 100).sentence == "100 partitions: 2 STOP, 1 UNKNOWN, 97 OK"


rows = st.lists(
    st.tuples(
        st.integers(-1, 4),
        st.sampled_from(list(REASON)),
        st.integers(-1, 4) | st.just(2**55),
        st.sampled_from([-1.0, 0.0, 0.25, 3600.0]),
        st.booleans(),
    ),
    max_size=40,
)


@given(
    rows,
    st.lists(st.booleans(), min_size=6, max_size=6),
    st.lists(st.integers(0, 2), min_size=6, max_size=6) | st.none(),
)
@settings(deadline=None)
def test_all_groups_at_once_are_judged_like_each_alone(rows, falls, silent):
    group = np.array([row[0] for row in rows], np.int32)
    status = np.array([row[1] for row in rows], np.int8)
    lag = np.array([row[2] for row in rows], np.int64)
    lag_s = np.array([row[3] for row in rows], np.float64)
    bounds = np.array([row[4] for row in rows], np.bool_)
    # Who has no row is silent nowhere: it is no group.
    silent = silent and [count if number in group else 0 for number, count in enumerate(silent)]
    counts = None if silent is None else np.array(silent, np.int64)
    found = judge_groups(
        status, lag, lag_s, Grouping(group, 6), bounds=bounds, falls=np.array(falls), silent=counts
    )
    for number in range(6):
        at = np.flatnonzero(group == number)
        verdicts = [verdict(rows[row][1], rows[row][2]) for row in at]
        alone = judge_group(
            verdicts,
            lag_s[at].tolist(),
            bounds=bounds[at].tolist(),
            falls=falls[number],
            silent=silent[number] if silent else 0,
        )
        together = found.row(number)
        for field in ("status", "falls", "partitions", "total_lag", "unknown_lags", "max_lag", "lag_s"):
            assert getattr(together, field) == getattr(alone, field)
        assert together.bounds_s == alone.bounds_s
        for field in ("worst_row", "max_lag_row", "lag_s_row"):
            row = getattr(alone, field)
            assert getattr(together, field) == (at[row] if row >= 0 else -1)
