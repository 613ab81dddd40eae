"""The series of mirrors: their families and the values at one instant. Pure.

Call it under the locks of what it reads.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from fleet.series import lag as series
from lagmon.exposition.family import Family
from lagmon.groups.rules.words import How
from lagmon.ingest.faults import let_through
from lagmon.logs.time_lag import LagKind, written
from lagmon.mirrors.headroom.estimate import LONGEST_S
from lagmon.mirrors.headroom.partition import headroom_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from fleet.series.kinds import Series
    from lagmon.mirrors.flow import MirrorFlow
    from lagmon.mirrors.snapshot import FlowSnapshot
    from lagmon.mirrors.verdict import MirrorVerdict

    FlowSnapshots = Mapping[str, tuple[FlowSnapshot, MirrorVerdict]]
    Labels = tuple[str, ...]

_BY_TOPIC = (
    series.REPLICATION_TOPIC_LAG_RECORDS,
    series.REPLICATION_TOPIC_LAG_SECONDS,
    series.REPLICATION_TOPIC_RETENTION_HEADROOM_SECONDS,
    series.REPLICATION_SOURCE_END_OFFSET,
    series.REPLICATION_TARGET_END_OFFSET,
    series.OVERTAKEN_RECORDS_TOTAL,
)
_TOPIC_KINDS = (np.int64, np.float64, np.float64, np.int64, np.int64, np.int64)
_BY_PARTITION = (
    series.REPLICATION_PARTITION_LAG_RECORDS,
    series.REPLICATION_PARTITION_LAG_SECONDS,
    series.REPLICATION_PARTITION_HEADROOM_RECORDS,
)


class _Rows:
    """Families with the same labels, and the row of each of their series."""

    def __init__(self, told: Sequence[Series], *, max_series: int | None = None) -> None:
        self.families = [Family(one, max_series=max_series) for one in told]
        self._rows: dict[Labels, int] = {}
        self._free: list[int] = []

    def values(
        self, found: Mapping[Labels, Sequence[float]], kinds: Sequence[type[np.generic]]
    ) -> dict[Family, NDArray[np.generic]]:
        """Return the values of each family; `found` has for each series a value for each family."""
        self._keep(found.keys())
        size = len(self._rows) + len(self._free)
        columns = [np.full(size, -1, kind) for kind in kinds]
        for labels, values in found.items():
            row = self._rows[labels]
            for column, value in zip(columns, values, strict=True):
                column[row] = value
        return dict(zip(self.families, columns, strict=True))

    def _keep(self, there: Iterable[Labels]) -> None:
        wanted = set(there)
        for gone in self._rows.keys() - wanted:
            row = self._rows.pop(gone)
            self._free.append(row)
            for family in self.families:
                family.drop(row)
        for new in sorted(wanted - self._rows.keys()):
            row = self._free.pop() if self._free else len(self._rows)
            self._rows[new] = row
            for family in self.families:
                family.put(row, new)


class MirrorSeries:
    """Keeps the labels of the series of flows between scrapes.

    `wrong` is called with the error of a bug at a flow, which then has no series but its status.
    """

    def __init__(
        self,
        flows: Iterable[MirrorFlow],
        *,
        per_partition: bool,
        max_series: int,
        wrong: Callable[[str, Exception], None] = let_through,
    ) -> None:
        self._flows = {flow.order.name: flow for flow in flows}
        self._per_partition = per_partition
        self._wrong = wrong
        self._by_flow = _Rows([series.REPLICATION_STATUS])
        self._by_topic = _Rows(_BY_TOPIC, max_series=max_series)
        self._by_partition = _Rows(_BY_PARTITION, max_series=max_series)
        self._recreated = _Rows([series.TOPIC_RECREATED_TOTAL], max_series=max_series)

    @property
    def families(self) -> list[Family]:
        """Return every family, in the order of the catalogue."""
        partitions = self._by_partition.families if self._per_partition else []
        return [
            *self._by_flow.families,
            *self._by_topic.families,
            *partitions,
            *self._recreated.families,
        ]

    def values(self, snapshots: FlowSnapshots) -> dict[Family, NDArray[np.generic]]:
        """Return the values of every family."""
        status: dict[Labels, Sequence[float]] = {}
        topics: dict[Labels, Sequence[float]] = {}
        partitions: dict[Labels, Sequence[float]] = {}
        recreated: dict[Labels, Sequence[float]] = {}
        for name, (snapshot, verdict) in snapshots.items():
            flow = self._flows[name]
            labels = name, flow.order.flow.source, flow.order.flow.target
            status[labels] = (int(verdict.status),)
            try:
                of_topics = _topics(flow, snapshot)
                of_partitions = _partitions(flow, snapshot) if self._per_partition else []
            except Exception as error:  # noqa: BLE001 - a mistake at one flow must not end a whole scrape
                self._wrong(name, error)
                continue
            topics |= {(*labels, topic): values for topic, values in of_topics.items()}
            # At 0 from the first id on, so that an increase is seen.
            for key, count in (dict.fromkeys(flow.topics.ids, 0) | flow.topics.recreated_total).items():
                recreated[*labels, *key] = (count,)
            for topic, number, values in of_partitions:
                partitions[*labels, topic, str(number)] = values
        told = self._by_flow.values(status, [np.int64])
        told |= self._by_topic.values(topics, _TOPIC_KINDS)
        if self._per_partition:
            told |= self._by_partition.values(partitions, [np.int64, np.float64, np.int64])
        return told | self._recreated.values(recreated, [np.int64])


def _topics(flow: MirrorFlow, snapshot: FlowSnapshot) -> dict[str, tuple[float, ...]]:
    """Return lag in records and seconds, both ends, and overtaken records, by topic."""
    partitions = snapshot.partitions
    lag: dict[str, int] = defaultdict(lambda: -1)
    seconds: dict[str, float] = defaultdict(lambda: -1.0)
    for topic, _, slot in flow.windows.slots():
        if slot < len(partitions.used) and partitions.lag[slot] >= 0:
            lag[topic] = max(0, lag[topic]) + int(partitions.lag[slot])
            seconds[topic] = max(seconds[topic], float(partitions.lag_s[slot]))
    soonest = _soonest(flow, snapshot)
    told: dict[str, tuple[float, ...]] = {}
    for topic in {*lag, *flow.topics.remote}:
        on_source = flow.source.heads.end[flow.source.places.listed_of(topic)]
        on_target = flow.target.heads.end[flow.target.places.listed_of(flow.topics.remote.get(topic, ""))]
        told[topic] = (
            lag[topic],
            seconds[topic],
            soonest.get(topic, -1.0),
            _sum(on_source),
            _sum(on_target),
            flow.detectors.retention.total[topic],
        )
    return told


def _soonest(flow: MirrorFlow, snapshot: FlowSnapshot) -> dict[str, float]:
    """Return in how many seconds retention overtakes the mirror at the soonest, by topic.

    A topic is left out if the soonest is only a bound: a series cannot show that.
    """
    partitions, moving = snapshot.partitions, flow.starts.moving
    slots = [
        (topic, slot)
        for topic, partition, slot in flow.windows.slots()
        if slot < len(partitions.used)
        and partitions.used[slot]
        and (flow.retention_ms.get(topic, -1) >= 0 or (topic, partition) in moving)
    ]
    if not slots:
        return {}
    at = [slot for _, slot in slots]
    produced_ms, kinds = written(flow.source.heads, partitions.places[at], partitions.next_record[at])
    soonest: dict[str, tuple[float, bool]] = {}
    for (topic, slot), written_ms, kind in zip(slots, produced_ms.tolist(), kinds.tolist(), strict=True):
        if written_ms < 0 and not partitions.deleted[slot]:
            continue  # there is nothing to copy: nothing can be overtaken
        if flow.windows.name(slot) in moving or partitions.deleted[slot]:
            headroom = headroom_of(flow, snapshot.partitions, slot, written_ms, LagKind(kind))
            seconds, is_bound = (
                (None, False) if headroom is None else (headroom.seconds, headroom.how is How.AT_MOST)
            )
        else:
            seconds = max(0, flow.retention_ms[topic] - max(0, snapshot.now_ms - written_ms)) / 1000
            is_bound = kind == LagKind.AT_LEAST and seconds > 0
        if seconds is not None:
            soonest[topic] = min(soonest.get(topic, (LONGEST_S, False)), (seconds, is_bound))
    return {topic: seconds for topic, (seconds, is_bound) in soonest.items() if not is_bound}


def _sum(ends: NDArray[np.int64]) -> int:
    """Return the sum, -1 if one is unknown: a sum of the others would seem to fall."""
    return int(ends.sum()) if len(ends) and (ends >= 0).all() else -1


def _partitions(flow: MirrorFlow, snapshot: FlowSnapshot) -> list[tuple[str, int, tuple[float, ...]]]:
    partitions = snapshot.partitions
    told: list[tuple[str, int, tuple[float, ...]]] = []
    for topic, partition, slot in flow.windows.slots():
        if slot < len(partitions.used) and partitions.used[slot]:
            start = int(flow.source.heads.start[partitions.places[slot]])
            headroom = max(0, int(partitions.next_record[slot]) - start) if start >= 0 else -1
            told.append(
                (topic, partition, (int(partitions.lag[slot]), float(partitions.lag_s[slot]), headroom))
            )
    return told
