"""Groups as a list: searched by name, worst first, counted by status, a page at a time. Pure.

Verdicts may be a second old: a group that is newer than they are is left out until the next ones.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from lagmon.groups.carried import sentence_of
from lagmon.groups.rules.words import RANK, WORSE, Status
from lagmon.logs.time_lag import LagKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lagmon.cluster.state import ClusterLag
    from lagmon.groups.view import GroupView

_RANKS = [RANK[status] for status in Status]


class Listed(NamedTuple):
    """One group in a list; sorting puts the worst first, then those with the largest lag."""

    less_bad: int
    less_lag: int
    name: str
    alias: str
    number: int

    @property
    def status(self) -> Status:
        """Return its status."""
        return WORSE[-self.less_bad]


def matching(alias: str, lag: ClusterLag, view: GroupView, search: str) -> list[Listed]:
    """Return the groups of a cluster whose names contain `search`, ignoring case, unsorted."""
    status, total_lag = view.groups.status.tolist(), view.groups.total_lag.tolist()
    wanted = search.casefold()
    return [
        Listed(-_RANKS[status[number]], -total_lag[number], name, alias, number)
        for number, name in lag.slots.groups()
        if view.knows_group(lag.slots, number) and (not wanted or wanted in name.casefold())
    ]


def by_status(found: Iterable[Listed]) -> dict[str, int]:
    """Return how many groups have each status, the worst first; a status without groups is left out."""
    counts = Counter(one.less_bad for one in found)
    return {WORSE[-less_bad].name: counts[less_bad] for less_bad in sorted(counts)}


def by_carrier(alias: str, found: Iterable[Listed], view: GroupView) -> dict[str, int]:
    """Return by flow how many groups of a cluster it syncs; several flows may sync one group."""
    carried = (view.carried.get(one.number, ()) for one in found if one.alias == alias)
    counts = Counter(flow for flows in carried for flow in flows)
    return {flow: counts[flow] for flow in sorted(counts)}


def group_line(alias: str, name: str, number: int, lag: ClusterLag, view: GroupView) -> dict[str, Any]:
    """Return one group as an item of a list; its sentence is that of its worst partition, `worst`.

    A group that falls behind on all partitions together has a sentence of its own and no worst partition.
    """
    row = view.groups.row(number)
    flows = view.carried.get(number, ())
    kind = LagKind(int(view.lag_kind[row.lag_s_row])) if row.lag_s >= 0 else LagKind.NONE
    if kind is not LagKind.NONE and (row.bounds_s or row.unknown_lags):  # another may be further behind
        kind = LagKind.AT_LEAST
    worst = None if row.falls else _partition(lag, view, row.worst_row)
    silent = view.silent.get(number)
    if row.falls:
        sentence = view.falling[number].sentence
    elif row.worst_row >= 0:
        sentence = sentence_of(view.rows, row.worst_row, flows)
    elif silent:
        worst = {"topic": silent[0].topic, "partition": silent[0].partition}
        sentence = silent[0].sentence(lag.intake.owners(name).get(silent[0].name))
    else:
        sentence = row.sentence
    return {
        "kafka_cluster": alias,
        "group": name,
        "status": row.status.name,
        "sentence": sentence,
        "worst": worst,
        "carried_by": list(flows),
        "partitions": {status.name: row.partitions[status] for status in Status if row.partitions[status]},
        "lag_records": row.total_lag if row.max_lag >= 0 else None,
        "lag_unknown_partitions": row.unknown_lags,  # these are not in the sums
        "max_lag_records": row.max_lag if row.max_lag >= 0 else None,
        "lag_s": round(row.lag_s, 3) if row.lag_s >= 0 else None,
        "lag_s_kind": kind.name.lower(),
    }


def _partition(lag: ClusterLag, view: GroupView, slot: int) -> dict[str, Any] | None:
    if slot < 0 or not view.knows_slot(lag.slots, slot):  # none, or it was removed a moment ago
        return None
    topic, partition = lag.places.name(int(lag.slots.place[slot]))
    return {"topic": topic, "partition": partition}
