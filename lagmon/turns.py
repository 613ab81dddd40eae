"""Whether the reader of a partition moves in others meanwhile: it may read them in turns. Pure.

A client that was given many records of one partition works them off before those of the next, and commits
nothing new elsewhere until then. Whose partition it is is known where the group has members; two that cannot
be told apart by client id and host count as one. In a group without members, or with a single one, every
partition has the same reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.intake import Intake
    from lagmon.membership import Owner
    from lagmon.rules_groups import Grouping
    from lagmon.rules_window import Flags, Longs

RECENT_MS = 60_000


def others_moved(
    intake: Intake, grouping: Grouping, members: Longs, *, has_more: Flags, now_ms: int
) -> Longs:
    """Return when the reader of each slot was last seen to move in another, by our clock, -1 if not lately.

    `members` is how many its group has, `has_more` whether there is anything to read. It is told only of
    slots that have stood for a minute with something to read.
    """
    group = intake.slots.group[: len(members)]
    moved_ms = _moved_ms(intake, len(members))
    newest_ms, _ = grouping.largest(moved_ms, -1)
    found = np.full(len(members), -1, np.int64)
    rests = has_more & (group >= 0) & (now_ms - moved_ms > RECENT_MS)
    rests &= newest_ms[np.maximum(group, 0)] >= now_ms - RECENT_MS if grouping.count else False
    shared = rests & (members > 1)
    alone = rests & ~shared
    found[alone] = newest_ms[group[alone]]
    if shared.any():
        _tell_owners(intake, np.flatnonzero(shared), moved_ms, found)
    return found


def _moved_ms(intake: Intake, count: int) -> Longs:
    """Return when each slot had moved by, as far as its newest commits of three quarters of a minute tell."""
    trail, rings, seen_ms = intake.trail, intake.rings, intake.seen_ms[:count]
    newest, last, other = rings.offset[:count, -1], trail.offset[:count, -2], trail.offset[:count, -3]
    settled = trail.settled[:count]
    last_ms = seen_ms - np.maximum(0, rings.committed_ms[:count, -1] - trail.committed_ms[:count, -2])
    moved_before = (settled >= 2) & (last != other)
    moved: Longs = np.where((settled >= 1) & (newest != last), seen_ms, np.where(moved_before, last_ms, -1))
    return moved


def _tell_owners(intake: Intake, rows: NDArray[np.intp], moved_ms: Longs, found: Longs) -> None:
    """Tell of rows whose group has several members when the one that a partition was given moved last."""
    slots, places = intake.slots, intake.places
    group = slots.group[: len(moved_ms)]
    numbers = np.unique(group[rows])
    owner_of: dict[int, Owner] = {}
    newest: dict[tuple[int, Owner], int] = {}
    owners = {number: intake.membership.owners(slots.group_name(number)) for number in numbers.tolist()}
    for slot in np.flatnonzero(np.isin(group, numbers)).tolist():
        number = int(group[slot])
        owner = owners[number].get(places.name(int(slots.place[slot])))
        if owner is not None:
            owner_of[slot] = owner
            newest[number, owner] = max(newest.get((number, owner), -1), int(moved_ms[slot]))
    for slot in rows.tolist():
        if slot in owner_of:
            found[slot] = newest[int(group[slot]), owner_of[slot]]
