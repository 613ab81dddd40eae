"""The partitions of one group as rows of a document: verdict, numbers, window, and where the log ended.

Pure.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from lagmon.time_lag import LagKind
from lagmon.words import RANK, STATUS_OF, Reason

if TYPE_CHECKING:
    from lagmon.cluster import ClusterLag, GroupSight
    from lagmon.membership import Owner


def partition_rows(
    lag: ClusterLag, sight: GroupSight, group: str, *, first: int = 0, most: int | None = None
) -> tuple[list[dict[str, Any]], int]:
    """Return rows of the partitions that the group has an offset on, worst first, and how many there are."""
    owners = lag.membership.owners(group)
    slots = [slot for slot in lag.slots.of(group).tolist() if slot < len(sight.rows.reason)]
    ordered = sorted(
        (-RANK[_status(sight, slot)], -int(sight.rows.lag[slot]), *lag.places.name(_place(lag, slot)), slot)
        for slot in slots
    )
    shown = ordered[first:] if most is None else ordered[first : first + most]
    rows = [
        {"topic": topic, "partition": partition}
        | _row(lag, sight, slot)
        | _owner(owners.get((topic, partition)))
        for _, _, topic, partition, slot in shown
    ]
    return rows, len(ordered)


def clients(lag: ClusterLag, group: str) -> list[dict[str, Any]]:
    """Return the members that were given partitions, by client id and host, with how many they were given."""
    given = Counter(lag.membership.owners(group).values())
    ordered = sorted(given.items(), key=lambda one: (one[0].client_id, one[0].host))
    return [_owner(owner) | {"partitions": count} for owner, count in ordered]


def _status(sight: GroupSight, slot: int) -> Any:
    return STATUS_OF[Reason(int(sight.rows.reason[slot]))]


def _place(lag: ClusterLag, slot: int) -> int:
    return int(lag.slots.place[slot])


def _owner(owner: Owner | None) -> dict[str, Any]:
    return {"client_id": owner.client_id, "host": owner.host} if owner is not None else {}


def _row(lag: ClusterLag, sight: GroupSight, slot: int) -> dict[str, Any]:
    place = _place(lag, slot)
    rings, filled = lag.rings, int(lag.rings.filled[slot])
    columns = slice(rings.length - filled, rings.length)
    seconds = float(sight.lag_s[slot])
    return {
        "status": _status(sight, slot).name,
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
        "ends": _ends(lag, place),
    }


def _ends(lag: ClusterLag, place: int) -> list[dict[str, int]]:
    """Return where the log ended at the looks that are kept, oldest first: all of late, fewer with age."""
    heads = lag.heads.state()
    ends, times = heads.ends[:, place].tolist(), heads.times[:, place].tolist()
    return [
        {"offset": end, "read_at_ms": heads.origin_ms + time}
        for end, time in zip(ends, times, strict=True)
        if end >= 0
    ]


def _known(number: int) -> int | None:
    return number if number >= 0 else None
