"""The verdict on a group from those on its partitions, for one group and for all at once. Pure.

A group has the status of its worst partition, in the order of `words.WORSE`. If none is worse than UNKNOWN
and the group falls behind on all of them together (groups/growth.py), it is WARN. Among equally bad
partitions the worst has the largest lag, among equal lags the first row. Unknown lags are left out of sums
and counted.

Partitions that were never committed on (groups/silences.py) have no rows. Each counts as UNKNOWN, and they do
not hide that a group falls behind on the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.groups.rules.words import RANK, WORSE, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lagmon.groups.rules.table import Verdict
    from lagmon.groups.rules.window import Longs

_COUNT = len(Status)
_RANK = np.array([RANK[status] for status in Status], np.int8)


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """A group's verdict; rows are numbers of its partitions, -1 if there is none."""

    status: Status
    partitions: tuple[int, ...]  # the number of partitions by status
    worst_row: int = -1  # -1 also if the worst is a partition without a commit
    total_lag: int = 0
    unknown_lags: int = 0
    max_lag: int = -1
    max_lag_row: int = -1
    lag_s: float = -1.0  # the largest of its partitions, -1 if none is known
    lag_s_row: int = -1
    bounds_s: int = 0  # partitions that may be further behind: their seconds are a lower bound
    falls: bool = False  # WARN because of the sum of its lags

    @property
    def sentence(self) -> str:
        """Return how many partitions have each status, worst first."""
        found = [(status, self.partitions[status]) for status in reversed(WORSE) if self.partitions[status]]
        if not found:
            return "No partition of the group is known."
        total = sum(self.partitions)
        counts = ", ".join(f"{count} {status.name}" for status, count in found)
        return f"{total} {'partition' if total == 1 else 'partitions'}: {counts}"


@dataclass(frozen=True, slots=True)
class GroupSweep:
    """Verdicts on all groups, each field as in `GroupVerdict` with an entry for each group."""

    status: NDArray[np.int8]
    partitions: NDArray[np.int64]  # (groups, statuses)
    worst_row: Longs
    total_lag: Longs
    unknown_lags: Longs
    max_lag: Longs
    max_lag_row: Longs
    lag_s: NDArray[np.float64]
    lag_s_row: Longs
    bounds_s: Longs
    falls: NDArray[np.bool_]

    def row(self, group: int) -> GroupVerdict:
        """Return the verdict on one group."""
        return GroupVerdict(
            status=Status(int(self.status[group])),
            partitions=tuple(self.partitions[group].tolist()),
            worst_row=int(self.worst_row[group]),
            total_lag=int(self.total_lag[group]),
            unknown_lags=int(self.unknown_lags[group]),
            max_lag=int(self.max_lag[group]),
            max_lag_row=int(self.max_lag_row[group]),
            lag_s=float(self.lag_s[group]),
            lag_s_row=int(self.lag_s_row[group]),
            bounds_s=int(self.bounds_s[group]),
            falls=bool(self.falls[group]),
        )


class Grouping:
    """Which rows belong to which group: sorted once, valid until a row changes its group."""

    def __init__(self, group: NDArray[np.integer], count: int) -> None:
        """Sort rows by their group (-1 for none); `count` is the number of groups."""
        order = np.argsort(group, kind="stable")
        self.count = count
        self.rows = order[np.searchsorted(group[order], 0) :]
        self._group = group[self.rows]
        self._begins = np.flatnonzero(np.diff(self._group, prepend=-1))
        self.present = self._group[self._begins]
        self.sizes = np.diff(np.append(self._begins, len(self.rows)))

    def sums(self, values: NDArray[np.integer] | NDArray[np.bool_]) -> Longs:
        """Return the sum of each group's rows, 0 for a group without any."""
        found = np.zeros(self.count, np.int64)
        if len(self.rows):
            found[self.present] = np.add.reduceat(values[self.rows], self._begins, dtype=np.int64)
        return found

    def largest(self, values: NDArray[np.number], nothing: int) -> tuple[NDArray[np.number], Longs]:
        """Return the largest value of each group and the first row with it; `nothing` and -1 without rows."""
        found, first = np.full(self.count, nothing, values.dtype), np.full(self.count, -1, np.int64)
        if len(self.rows):
            ordered = values[self.rows]
            largest = np.maximum.reduceat(ordered, self._begins)
            has = np.flatnonzero(ordered == np.repeat(largest, self.sizes))
            found[self.present] = largest
            first[self.present] = self.rows[has[np.searchsorted(has, self._begins)]]
        return found, first

    def numbers(self) -> NDArray[np.integer]:
        """Return the group of each row of `rows`."""
        return self._group


def judge_group(
    verdicts: Sequence[Verdict],
    lags_s: Sequence[float],
    *,
    bounds: Sequence[bool] = (),
    falls: bool = False,
    silent: int = 0,
) -> GroupVerdict:
    """Judge one group by its partitions and the seconds that each is behind, -1 if not known.

    `bounds`: which of these seconds are a lower bound; `falls`: the group falls behind on all of them
    together; `silent`: the number of partitions without a commit.
    """
    partitions = tuple(sum(one.status is status for one in verdicts) for status in Status)
    if not verdicts:
        return GroupVerdict(Status.NOTFOUND, partitions)
    rows = range(len(verdicts))
    lags = [one.facts.lag for one in verdicts]
    worst = max(rows, key=lambda row: (RANK[verdicts[row].status], lags[row], -row))
    most, slowest = (max(rows, key=lambda row: (values[row], -row)) for values in (lags, lags_s))
    status = verdicts[worst].status
    falls = falls and RANK[status] < RANK[Status.WARN] and lags[most] > 0
    hides = silent > 0 and not falls and RANK[status] < RANK[Status.UNKNOWN]
    return GroupVerdict(
        status=Status.WARN if falls else Status.UNKNOWN if hides else status,
        partitions=tuple(
            count + silent if one is Status.UNKNOWN else count
            for one, count in zip(Status, partitions, strict=True)
        ),
        worst_row=-1 if hides else worst,
        total_lag=sum(lag for lag in lags if lag >= 0),
        unknown_lags=sum(lag < 0 for lag in lags) + silent,
        max_lag=lags[most],
        max_lag_row=most,
        lag_s=lags_s[slowest],
        lag_s_row=slowest,
        bounds_s=sum(bounds),
        falls=falls,
    )


def judge_groups(
    status: NDArray[np.int8],
    lag: Longs,
    lag_s: NDArray[np.float64],
    grouping: Grouping,
    *,
    bounds: NDArray[np.bool_] | None = None,
    falls: NDArray[np.bool_] | None = None,
    silent: Longs | None = None,
) -> GroupSweep:
    """Judge every group by its rows as `judge_group` does; `falls` and `silent` by group, None for none."""
    rank = _RANK[status]
    highest, _ = grouping.largest(rank, RANK[Status.NOTFOUND])
    among_worst = np.full(len(lag), -2, np.int64)
    rows, group = grouping.rows, grouping.numbers()
    among_worst[rows] = np.where(rank[rows] == highest[group], lag[rows], -2)
    _, worst_row = grouping.largest(among_worst, -2)
    max_lag, max_lag_row = grouping.largest(lag, -1)
    longest_s, lag_s_row = grouping.largest(lag_s, -1)
    cells = np.bincount(group.astype(np.int64) * _COUNT + status[rows], minlength=grouping.count * _COUNT)
    worst = np.array(WORSE, np.int8)[highest]
    none = np.zeros(grouping.count, np.bool_)
    falls = (none if falls is None else falls) & (highest < RANK[Status.WARN]) & (max_lag > 0)
    partitions, unknown_lags = cells.reshape(-1, _COUNT), grouping.sums((lag < 0).astype(np.int64))
    status = np.where(falls, np.int8(Status.WARN), worst)
    if silent is not None:
        hides = (silent > 0) & ~falls & (highest < RANK[Status.UNKNOWN])
        status[hides], worst_row[hides] = Status.UNKNOWN, -1
        partitions[:, Status.UNKNOWN] += silent
        unknown_lags += silent
    return GroupSweep(
        status=status,
        partitions=partitions,
        worst_row=worst_row,
        total_lag=grouping.sums(np.maximum(lag, 0)),
        unknown_lags=unknown_lags,
        max_lag=max_lag.astype(np.int64),
        max_lag_row=max_lag_row,
        lag_s=longest_s.astype(np.float64),
        lag_s_row=lag_s_row,
        bounds_s=np.zeros(grouping.count, np.int64) if bounds is None else grouping.sums(bounds),
        falls=falls,
    )
