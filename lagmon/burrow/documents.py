"""Burrow's JSON documents about groups: names and order of fields, nulls. Pure.

From github.com/linkedin/Burrow: fields from core/protocol (evaluator.go, storage.go), values from
core/internal/evaluator/caching.go and core/internal/storage/inmemory.go. Verdicts come from burrow/sweep.py,
for the rows of the requested group.

Intended differences, listed for users in docs/reference/burrow.md:
- a partition is shown if the group committed on it or a member owns it, not because another one of its topic
  is; only the consumer's detail has all partitions of a topic, as the index in the list is the number;
- topics and groups are sorted; Burrow's order is random;
- only the newest commit has a time at which it was seen; of older ones `observedAt` is the timestamp;
- an expired group is never listed; Burrow drops it at the first request after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lagmon.burrow.rules import BurrowPolicy
from lagmon.burrow.sweep import burrow_groups, burrow_sweep, lowest_end
from lagmon.cluster.membership import Owner
from lagmon.groups.rules.groups import Grouping
from lagmon.groups.rules.window import Windows
from lagmon.groups.rules.words import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lagmon.burrow.sweep import BurrowSweep
    from lagmon.cluster.state import ClusterLag

_NOBODY = Owner("", "")
_WORDS = [status.name for status in Status]


@dataclass(frozen=True, slots=True)
class _Rows:
    """The partitions of one group by topic and partition; a row without a commit has the slot -1."""

    names: Sequence[tuple[str, int]]
    owners: Sequence[Owner]
    slots: NDArray[np.int32]
    windows: Windows
    sweep: BurrowSweep


def status_document(
    lag: ClusterLag, cluster: str, group: str, *, now_ms: int, every_partition: bool
) -> dict[str, Any]:
    """Return the status of a group, with all of its partitions or with those that are not OK.

    A group that is unknown or expired is NOTFOUND.
    """
    rows = _rows_of(lag, group, now_ms)
    if rows is None:
        return unknown_group(cluster, group)
    one_group = Grouping(np.zeros(len(rows.names), np.int32), 1)
    verdict = burrow_groups(rows.sweep, one_group, np.zeros(1, np.bool_))
    partitions = _partitions(lag, rows)
    shown = partitions
    if not every_partition:
        bad = np.flatnonzero(rows.sweep.status > Status.OK).tolist()
        shown = [partitions[row] for row in bad]
    return _status(
        cluster,
        group,
        Status(int(verdict.status[0])),
        complete=float(str(verdict.complete[0])),
        partitions=shown,
        count=len(partitions),
        max_lag=partitions[int(verdict.max_lag[0])],
        total_lag=int(verdict.total_lag[0]),
    )


def unknown_group(cluster: str, group: str) -> dict[str, Any]:
    """Return the status of an unknown group."""
    return _status(
        cluster, group, Status.NOTFOUND, complete=1.0, partitions=[], count=0, max_lag=None, total_lag=0
    )


def topics_document(lag: ClusterLag, group: str, *, now_ms: int) -> dict[str, list[dict[str, Any]]] | None:
    """Return the stored commits of a group: by topic a list indexed by partition.

    None if the group is unknown or expired.
    """
    rows = _rows_of(lag, group, now_ms)
    if rows is None:
        return None
    found: dict[str, list[dict[str, Any]]] = {}
    newest_seen_ms = _observed_ms(lag, rows).tolist()
    lags = rows.sweep.current_lag.tolist()
    last = dict(rows.names)  # the last shown partition by topic
    for row, (topic, partition) in enumerate(rows.names):
        if topic not in found:
            # Not all places: there is one for each partition with any commit.
            count = max(lag.topics.get(topic, 0), last[topic] + 1)
            found[topic] = [_consumed([], _NOBODY, 0) for _ in range(count)]
        offsets = _commits(rows.windows, row, newest_seen_ms[row])
        found[topic][partition] = _consumed(offsets, rows.owners[row], lags[row])
    return found


def listed_groups(lag: ClusterLag, *, now_ms: int, topic: str | None = None) -> list[str]:
    """Return the groups that have committed and are not expired, sorted.

    With a topic: only groups that have committed on it or have a member that owns a partition of it.
    """
    slots = _kept(lag, np.arange(len(lag.slots), dtype=np.int32))
    groups = lag.slots.group[slots]
    newest_ms = np.full(lag.slots.group_numbers, -1, np.int64)
    np.maximum.at(newest_ms, groups, lag.rings.committed_ms[slots, -1])
    listed = newest_ms >= max(0, _expires_before_ms(now_ms))
    if topic is not None:
        of_topic = set(groups[np.isin(lag.slots.place[slots], lag.places.of(topic))].tolist())
        for number, name in lag.slots.groups():
            if listed[number] and topic in lag.intake.owned_topics(name):
                of_topic.add(number)
        listed &= np.isin(np.arange(len(listed)), list(of_topic))
    numbers = np.flatnonzero(listed).tolist()
    return sorted(lag.slots.group_name(number) for number in numbers if lag.slots.shows(number))


def _expires_before_ms(now_ms: int) -> int:
    return (now_ms // 1000 - BurrowPolicy().expire_group_s) * 1000


def _kept(lag: ClusterLag, slots: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the slots with a commit on a partition whose log end was read; Burrow drops the others."""
    places = lag.slots.place[slots]
    slots, places = slots[places >= 0], places[places >= 0]
    return slots[(lag.rings.filled[slots] > 0) & (lag.heads.end[places] >= 0)]


def _rows_of(lag: ClusterLag, group: str, now_ms: int) -> _Rows | None:
    """Return the rows of a group, None if it is unknown or expired."""
    slots = _kept(lag, lag.slots.of(group))
    if not len(slots) or lag.rings.committed_ms[slots, -1].max() < _expires_before_ms(now_ms):
        return None
    places = lag.slots.place[slots].tolist()
    slot_of = {lag.places.name(place): slot for place, slot in zip(places, slots.tolist(), strict=True)}
    owners = lag.intake.owners(group)
    for topic, partition in owners:
        if (topic, partition) not in slot_of and _is_there(lag, topic, partition):
            slot_of[topic, partition] = -1
    names = sorted(slot_of)
    ordered = np.array([slot_of[name] for name in names], np.int32)
    windows = _windows(lag, ordered)
    recent = lag.heads.recent(np.where(ordered >= 0, lag.slots.place[ordered], 0))
    sweep = burrow_sweep(
        windows,
        recent[:, -1],
        lowest_end(np.ascontiguousarray(recent)),
        now_ms=now_ms,
        policy=BurrowPolicy(),
        owned=ordered < 0,
    )
    return _Rows(names, [owners.get(name, _NOBODY) for name in names], ordered, windows, sweep)


def _is_there(lag: ClusterLag, topic: str, partition: int) -> bool:
    """Return whether a partition exists in the cluster and its log end was read."""
    places = lag.places.of(topic)
    return 0 <= partition < len(places) and bool(lag.heads.end[places[partition]] >= 0)


def _windows(lag: ClusterLag, slots: NDArray[np.int32]) -> Windows:
    rings = lag.rings
    return Windows(
        offset=rings.offset[slots],
        committed_ms=rings.committed_ms[slots],
        lag=rings.lag[slots],
        filled=np.where(slots >= 0, rings.filled[slots], 0).astype(np.int8),
        live=rings.live[slots],
    )


def _observed_ms(lag: ClusterLag, rows: _Rows) -> NDArray[np.int64]:
    """Return when the newest commit of each row was seen; whole seconds might be before the commit."""
    return lag.intake.seen_ms[rows.slots]


def _partitions(lag: ClusterLag, rows: _Rows) -> list[dict[str, Any]]:
    windows, sweep = rows.windows, rows.sweep
    length = windows.offset.shape[1]
    filled = windows.filled.tolist()
    oldest = np.minimum(length - windows.filled, length - 1)
    shares = {one: float(str(np.float32(one))) for one in set(sweep.complete.tolist())}
    return [
        {
            "topic": topic,
            "partition": partition,
            "owner": owner.host,
            "client_id": owner.client_id,
            "status": _WORDS[status],
            "start": start if count else None,
            "end": end if count else None,
            "current_lag": current_lag,
            "complete": shares[complete],
        }
        for (topic, partition), owner, count, start, end, status, current_lag, complete in zip(
            rows.names,
            rows.owners,
            filled,
            _offsets_in(lag, rows, oldest),
            _offsets_in(lag, rows, np.full(len(filled), length - 1)),
            sweep.status.tolist(),
            sweep.current_lag.tolist(),
            sweep.complete.tolist(),
            strict=True,
        )
    ]


def _offsets_in(lag: ClusterLag, rows: _Rows, column: NDArray[np.integer]) -> list[dict[str, Any]]:
    """Return the commit in this column of each row."""
    windows = rows.windows
    every = np.arange(len(column))
    times = windows.committed_ms[every, column]
    seen_ms = np.where(column == windows.offset.shape[1] - 1, _observed_ms(lag, rows), times)
    columns = (windows.offset[every, column], times, seen_ms, windows.lag[every, column])
    return _offsets(*(one.tolist() for one in columns))


def _commits(windows: Windows, row: int, newest_seen_ms: int) -> list[dict[str, Any] | None]:
    """Return the commits of a row, oldest first, after a null for each missing one."""
    length, filled = windows.offset.shape[1], int(windows.filled[row])
    offsets, times, lags = (
        array[row, length - filled :].tolist()
        for array in (windows.offset, windows.committed_ms, windows.lag)
    )
    seen_ms = [*times[:-1], newest_seen_ms][:filled]
    return [*(None,) * (length - filled), *_offsets(offsets, times, seen_ms, lags)]


def _offsets(
    offsets: list[int], times: list[int], seen_ms: list[int], lags: list[int]
) -> list[dict[str, Any]]:
    return [
        {"offset": offset, "timestamp": committed_ms, "observedAt": seen, "lag": None if lag < 0 else lag}
        for offset, committed_ms, seen, lag in zip(offsets, times, seen_ms, lags, strict=True)
    ]


def _consumed(offsets: list[dict[str, Any] | None], owner: Owner, current_lag: int) -> dict[str, Any]:
    return {
        "offsets": offsets,
        "owner": owner.host,
        "client_id": owner.client_id,
        "current-lag": current_lag,  # the only field with a hyphen
    }


def _status(
    cluster: str,
    group: str,
    status: Status,
    *,
    complete: float,
    partitions: list[dict[str, Any]],
    count: int,
    max_lag: dict[str, Any] | None,
    total_lag: int,
) -> dict[str, Any]:
    return {
        "cluster": cluster,
        "group": group,
        "status": status.name,
        "complete": complete,
        "partitions": partitions,
        "partition_count": count,
        "maxlag": max_lag,
        "totallag": total_lag,
    }
