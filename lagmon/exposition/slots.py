"""Series of groups by topic and by partition. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fleet.series import lag as series
from lagmon.arrays.place_rows import parts
from lagmon.exposition.family import Family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lagmon.cluster.state import ClusterLag
    from lagmon.groups.view import GroupView


class SlotSeries:
    """Keeps a series for each group and topic, and optionally for each slot, as slots come and go."""

    def __init__(self, clusters: Mapping[str, ClusterLag], *, per_partition: bool, max_series: int) -> None:
        self._clusters = dict(clusters)
        self._topics = Family(series.GROUP_TOPIC_LAG_RECORDS, max_series=max_series)
        self._partitions = (
            Family(series.GROUP_PARTITION_LAG_RECORDS, max_series=max_series) if per_partition else None
        )
        self._row_of: dict[tuple[str, str, str], int] = {}  # by cluster, group and topic
        self._key_of: list[tuple[str, str, str]] = []
        self._slots_in: list[int] = []  # by row, the number of its slots
        self._free: list[int] = []
        self._generations = {alias: np.zeros(0, np.int32) for alias in self._clusters}
        self._rows = {alias: np.zeros(0, np.int32) for alias in self._clusters}  # by slot, -1 for none

    @property
    def families(self) -> list[Family]:
        """Return the families, whose values `values` gives."""
        return [self._topics] if self._partitions is None else [self._topics, self._partitions]

    def values(self, views: Mapping[str, GroupView]) -> dict[Family, NDArray[np.int64]]:
        """Return the values of both families by row, -1 if a lag is not known."""
        for alias, view in views.items():
            self._follow(alias, len(view.rows.lag))
        found = {self._topics: self._by_topic(views)}
        if self._partitions is not None:
            found[self._partitions] = self._by_slot(views)
        return found

    def _by_topic(self, views: Mapping[str, GroupView]) -> NDArray[np.int64]:
        """Return the sum of the known lags by row, -1 if none is known."""
        size = len(self._key_of)
        total, known = np.zeros(size, np.int64), np.zeros(size, np.bool_)
        for alias, view in views.items():
            for part in parts(len(view.rows.lag)):
                lag, rows = self._lags(alias, view, part), self._rows[alias][part]
                told = (rows >= 0) & (lag >= 0)
                np.add.at(total, rows[told], lag[told])
                known[rows[told]] = True
        return np.where(known, total, -1)

    def _by_slot(self, views: Mapping[str, GroupView]) -> NDArray[np.int64]:
        """Return the lag of every slot; rows alternate between the clusters."""
        clusters = len(self._clusters)
        longest = max((len(one.rows.lag) for one in views.values()), default=0)
        found = np.full(longest * clusters, -1, np.int64)
        for number, alias in enumerate(self._clusters):
            if alias in views:
                view = views[alias]
                for part in parts(len(view.rows.lag)):
                    found[number::clusters][part] = self._lags(alias, view, part)
        return found

    def _lags(self, alias: str, view: GroupView, part: slice) -> NDArray[np.int64]:
        """Return the lags of some slots, -1 if the slot was reused since the verdicts."""
        return np.where(view.generations[part] == self._generations[alias][part], view.rows.lag[part], -1)

    def _follow(self, alias: str, count: int) -> None:
        """Add series for new slots, and drop those of slots that are gone or reused."""
        self._hold(alias, count)
        slots, generations = self._clusters[alias].slots, self._generations[alias]
        changed = np.flatnonzero(slots.generations[:count] != generations[:count]).tolist()
        for slot in changed:
            self._leave(alias, slot)
        for slot in changed:
            if slots.place[slot] >= 0 and slots.shows(int(slots.group[slot])):
                self._join(alias, slot)
        generations[:count] = slots.generations[:count]

    def _hold(self, alias: str, count: int) -> None:
        lacking = count - len(self._rows[alias])
        if lacking > 0:
            self._generations[alias] = np.concatenate((self._generations[alias], np.zeros(lacking, np.int32)))
            self._rows[alias] = np.concatenate((self._rows[alias], np.full(lacking, -1, np.int32)))

    def _leave(self, alias: str, slot: int) -> None:
        row = int(self._rows[alias][slot])
        if row < 0:
            return
        self._rows[alias][slot] = -1
        if self._partitions is not None:
            self._partitions.drop(self._slot_row(alias, slot))
        self._slots_in[row] -= 1
        if not self._slots_in[row]:
            self._topics.drop(row)
            del self._row_of[self._key_of[row]]
            self._free.append(row)

    def _join(self, alias: str, slot: int) -> None:
        lag = self._clusters[alias]
        topic, partition = lag.places.name(int(lag.slots.place[slot]))
        group = lag.slots.group_name(int(lag.slots.group[slot]))
        row = self._row_of.get((alias, group, topic))
        if row is None:
            row = self._begin((alias, group, topic))
        self._slots_in[row] += 1
        self._rows[alias][slot] = row
        if self._partitions is not None:
            self._partitions.put(self._slot_row(alias, slot), [alias, group, topic, str(partition)])

    def _begin(self, key: tuple[str, str, str]) -> int:
        if self._free:
            row = self._free.pop()
            self._key_of[row] = key
        else:
            row = len(self._key_of)
            self._key_of.append(key)
            self._slots_in.append(0)
        self._row_of[key] = row
        self._topics.put(row, key)
        return row

    def _slot_row(self, alias: str, slot: int) -> int:
        return slot * len(self._clusters) + list(self._clusters).index(alias)
