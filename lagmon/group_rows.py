"""The partitions of one group as rows of a document: verdict, numbers, window. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lagmon.time_lag import LagKind
from lagmon.words import STATUS_OF, Reason

if TYPE_CHECKING:
    from lagmon.cluster import ClusterLag, GroupSight
    from lagmon.membership import Owner


def partition_rows(lag: ClusterLag, sight: GroupSight, group: str) -> list[dict[str, Any]]:
    """Return a row for each partition that the group has an offset on, by topic and partition."""
    owners = lag.membership.owners(group)
    slots = [slot for slot in lag.slots.of(group).tolist() if slot < len(sight.rows.reason)]
    named = sorted((*lag.places.name(int(lag.slots.place[slot])), slot) for slot in slots)
    return [
        {"topic": topic, "partition": partition}
        | _row(lag, sight, slot)
        | _owner(owners.get((topic, partition)))
        for topic, partition, slot in named
    ]


def _owner(owner: Owner | None) -> dict[str, Any]:
    return {"client_id": owner.client_id, "host": owner.host} if owner is not None else {}


def _row(lag: ClusterLag, sight: GroupSight, slot: int) -> dict[str, Any]:
    place = int(lag.slots.place[slot])
    rings, filled = lag.rings, int(lag.rings.filled[slot])
    columns = slice(rings.length - filled, rings.length)
    seconds = float(sight.lag_s[slot])
    heads = lag.heads.recent[place]
    return {
        "status": STATUS_OF[Reason(int(sight.rows.reason[slot]))].name,
        "reason": Reason(int(sight.rows.reason[slot])).name.lower(),
        "sentence": sight.rows.sentence(slot),
        "committed_offset": int(rings.offset[slot, -1]),
        "end_offset": int(lag.heads.end[place]),
        "start_offset": int(lag.heads.start[place]),
        "lag_records": _known(int(sight.rows.lag[slot])),
        "lag_s": round(seconds, 3) if seconds >= 0 else None,
        "lag_s_kind": LagKind(int(sight.lag_kind[slot])).name.lower(),
        "commits": [
            {"offset": offset, "committed_at_ms": at_ms}
            for offset, at_ms in zip(
                rings.offset[slot, columns].tolist(), rings.committed_ms[slot, columns].tolist(), strict=True
            )
        ],
        "ends": np.unique(heads[heads >= 0]).tolist(),
    }


def _known(number: int) -> int | None:
    return number if number >= 0 else None
