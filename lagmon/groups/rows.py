"""The partitions of one group as rows of a document: verdict, numbers, window, log ends. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from lagmon.groups.carried import sentence_of
from lagmon.groups.rules.words import RANK, STATUS_OF, Reason
from lagmon.groups.trail import BEFORE
from lagmon.logs.polled_ends import polled_ends
from lagmon.logs.time_lag import LagKind

if TYPE_CHECKING:
    from lagmon.cluster.membership import Owner
    from lagmon.cluster.state import ClusterLag
    from lagmon.groups.silences import SilentPlace
    from lagmon.groups.view import GroupView


def partition_rows(
    lag: ClusterLag, view: GroupView, group: str, *, first: int = 0, most: int | None = None
) -> tuple[list[dict[str, Any]], int]:
    """Return rows of a group's partitions, worst first, and their total number.

    Rows are the partitions with an offset, and those that a member has and the group never committed on.
    """
    owners = lag.intake.owners(group)
    slots = [slot for slot in lag.slots.of(group).tolist() if view.knows_slot(lag.slots, slot)]
    silent = _silent(lag, view, group)
    ordered = sorted(
        (-RANK[_status(view, slot)], -int(view.rows.lag[slot]), *lag.places.name(_place(lag, slot)), slot)
        for slot in slots
    )
    ordered += [(-RANK[STATUS_OF[Reason.NO_COMMIT]], 1, *name, -1) for name in silent]
    ordered.sort()
    shown = ordered[first:] if most is None else ordered[first : first + most]
    rows = []
    for _, _, topic, partition, slot in shown:
        name = topic, partition
        owner = owners.get(name)
        row = _row(lag, view, slot) if slot >= 0 else _silent_row(lag, silent[name], owner)
        rows.append({"topic": topic, "partition": partition} | row | _owner(owner))
    return rows, len(ordered)


def clients(lag: ClusterLag, group: str) -> list[dict[str, Any]]:
    """Return the members with partitions by client id and host, with the number of their partitions."""
    given = Counter(lag.intake.owners(group).values())
    ordered = sorted(given.items(), key=lambda one: (one[0].client_id, one[0].host))
    return [_owner(owner) | {"partitions": count} for owner, count in ordered]


def _status(view: GroupView, slot: int) -> Any:
    return STATUS_OF[Reason(int(view.rows.reason[slot]))]


def _place(lag: ClusterLag, slot: int) -> int:
    return int(lag.slots.place[slot])


def _owner(owner: Owner | None) -> dict[str, Any]:
    return {"client_id": owner.client_id, "host": owner.host} if owner is not None else {}


def _row(lag: ClusterLag, view: GroupView, slot: int) -> dict[str, Any]:
    place = _place(lag, slot)
    seconds, facts = float(view.lag_s[slot]), view.rows.facts(slot)
    return {
        "status": _status(view, slot).name,
        "reason": Reason(int(view.rows.reason[slot])).name.lower(),
        "sentence": sentence_of(view.rows, slot, view.carried.get(int(lag.slots.group[slot]), ())),
        "since_ms": _known(facts.since_ms),
        "committed_offset": facts.offset,
        "readable_from": _known(view.readable_from[slot]),  # no record to read before it
        "end_offset": view.end[slot],
        "start_offset": view.start[slot],
        "lag_records": _known(facts.lag),
        "lag_s": round(seconds, 3) if seconds >= 0 else None,
        "lag_s_kind": LagKind(int(view.lag_kind[slot])).name.lower(),
        "commits": [{"offset": offset, "committed_at_ms": at_ms} for offset, at_ms in _commits(lag, slot)],
        "ends": polled_ends(lag.heads, place),
    }


def _silent(lag: ClusterLag, view: GroupView, group: str) -> dict[tuple[str, int], SilentPlace]:
    number = lag.slots.number(group)
    known = number is not None and view.knows_group(lag.slots, number)
    return {one.name: one for one in view.silent.get(number, ())} if known and number is not None else {}


def _silent_row(lag: ClusterLag, one: SilentPlace, owner: Owner | None) -> dict[str, Any]:
    places = lag.places.of(one.topic)  # none, if the topic was removed a moment ago
    place = places[one.partition] if one.partition < len(places) else None
    return {
        "status": STATUS_OF[Reason.NO_COMMIT].name,
        "reason": Reason.NO_COMMIT.name.lower(),
        "sentence": one.sentence(owner),
        "since_ms": _known(one.facts.since_ms),
        "committed_offset": -1,
        "readable_from": None,
        "end_offset": one.facts.head,
        "start_offset": -1 if place is None else int(lag.heads.start[place]),
        "lag_records": None,
        "lag_s": None,
        "lag_s_kind": LagKind.NONE.name.lower(),
        "commits": [],
        "ends": [] if place is None else polled_ends(lag.heads, place),
    }


def _commits(lag: ClusterLag, slot: int) -> list[tuple[int, int]]:
    """Return offsets and times of commits: all of the ring, and older ones of the trail."""
    rings, trail = lag.rings, lag.trail
    newest = slice(rings.length - int(rings.filled[slot]), None)
    settled = slice(BEFORE - int(trail.settled[slot]), None)
    last, before = (
        list(zip(kept.offset[slot, at].tolist(), kept.committed_ms[slot, at].tolist(), strict=True))
        for kept, at in ((rings, newest), (trail, settled))
    )
    return [one for one in before if last and one[1] < last[0][1]] + last


def _known(number: int) -> int | None:
    return number if number >= 0 else None
