"""All families of groups and mirrors, with their values at one instant. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.series import lag as series
from lagmon.exposition.families import Exposition
from lagmon.exposition.family import Family
from lagmon.exposition.slots import SlotSeries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lagmon.cluster.state import ClusterLag
    from lagmon.exposition.commits import CommitMetrics
    from lagmon.exposition.format import Form
    from lagmon.exposition.mirrors import FlowSnapshots, MirrorSeries
    from lagmon.groups.view import GroupView


class LagMetrics:
    """Keeps the labels of every series between scrapes; call `tell` under the locks of its inputs."""

    def __init__(
        self,
        clusters: Mapping[str, ClusterLag],
        *,
        per_partition: bool,
        max_series: int,
        mirrors: MirrorSeries | None = None,
        commits: CommitMetrics | None = None,
    ) -> None:
        self._clusters = dict(clusters)
        self._mirrors = mirrors
        self._commits = commits
        group = (
            series.GROUP_STATUS,
            series.GROUP_LAG_RECORDS,
            series.GROUP_MAX_LAG_RECORDS,
            series.GROUP_LAG_SECONDS,
        )
        self._groups = [Family(one, max_series=max_series) for one in group]
        self._slots = SlotSeries(clusters, per_partition=per_partition, max_series=max_series)
        self._counts = [
            Family(one)
            for one in (
                series.COMMITS_CONSUMED_TOTAL,
                series.COMMITS_MALFORMED_TOTAL,
                series.COMMITS_ABSURD_TOTAL,
            )
        ]
        for row, alias in enumerate(self._clusters):
            for family in self._counts:
                family.put(row, [alias])
        families = [*self._groups, *self._slots.families, *self._counts]
        if commits is not None:
            families += commits.families
        if mirrors is not None:
            families += mirrors.families
        self._exposition = Exposition(families)
        self._rows: dict[tuple[str, str], int] = {}  # of groups, by cluster and name
        self._free: list[int] = []

    def tell(
        self, views: Mapping[str, GroupView], form: Form, *, flows: FlowSnapshots | None = None
    ) -> Iterator[bytes]:
        """Return the text of all families in pieces; `views` are the verdicts on each cluster's groups.

        `flows` are the verdicts on mirrors, if these are written.
        """
        columns = self._group_columns(views)
        taken = [self._clusters[alias].intake.taken for alias in self._clusters]
        values: dict[Family, NDArray[np.generic]] = dict(zip(self._groups, columns, strict=True))
        values |= self._slots.values(views)
        values[self._counts[0]] = np.array([one.commits for one in taken], np.int64)
        values[self._counts[1]] = np.array([one.malformed for one in taken], np.int64)
        values[self._counts[2]] = np.array([one.absurd for one in taken], np.int64)
        if self._commits is not None:
            values |= self._commits.values()
        if self._mirrors is not None:
            values |= self._mirrors.values(flows or {})
        return self._exposition.render(values, form)

    def _group_columns(self, views: Mapping[str, GroupView]) -> Sequence[NDArray[np.generic]]:
        self._keep_rows(views)
        size = len(self._rows) + len(self._free)
        status = np.full(size, -1, np.int64)
        total, most = np.full(size, -1, np.int64), np.full(size, -1, np.int64)
        seconds = np.full(size, -1.0)
        for alias, view in views.items():
            found = view.groups
            # Verdicts may be a second old: newer groups have no value yet.
            slots = self._clusters[alias].slots
            seen = [one for one in slots.groups() if view.knows_group(slots, one[0])]
            numbers = [number for number, _ in seen]
            rows = [self._rows[alias, name] for _, name in seen]
            status[rows] = found.status[numbers]
            known = found.partitions[numbers].sum(axis=1) > found.unknown_lags[numbers]
            total[rows] = np.where(known, found.total_lag[numbers], -1)
            most[rows] = found.max_lag[numbers]
            seconds[rows] = found.lag_s[numbers]
        return status, total, most, seconds

    def _keep_rows(self, views: Mapping[str, GroupView]) -> None:
        there = {(alias, name) for alias in views for _, name in self._clusters[alias].slots.groups()}
        for gone in self._rows.keys() - there:
            row = self._rows.pop(gone)
            self._free.append(row)
            for family in self._groups:
                family.drop(row)
        for new in sorted(there - self._rows.keys()):
            row = self._free.pop() if self._free else len(self._rows)
            self._rows[new] = row
            for family in self._groups:
                family.put(row, new)
