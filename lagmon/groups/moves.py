"""Whether the consumer of a partition progresses on other partitions meanwhile. Pure.

A consumer that got many records of one partition processes them before those of the next and commits nothing
on the others until then. Its partitions are known if the group has members; two members with the same client
id and host count as one. In a group with one member or none, all partitions have the same consumer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.place_rows import parts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from numpy.typing import NDArray

    from lagmon.cluster.membership import Owner
    from lagmon.groups.rules.window import Flags, Longs
    from lagmon.ingest.intake import Intake

    Rows: TypeAlias = slice | NDArray[np.intp]

RECENT_MS = 60_000


class Moves:
    """When the groups of one cluster moved last, and members of groups that are queried."""

    def __init__(self, intake: Intake, now_ms: int) -> None:
        self._intake = intake
        self._now_ms = now_ms
        self._group = intake.slots.group[: len(intake.slots)]
        # with one for slots without a group
        self._newest_ms = np.full(intake.slots.group_numbers + 1, -1, np.int64)
        for part in parts(len(self._group)):
            np.maximum.at(self._newest_ms, self._group[part], _moved_ms(intake, part))
        self._owners: dict[int, Mapping[tuple[str, int], Owner]] = {}  # by group, as far as queried
        self._owner_ms: dict[tuple[int, Owner], int] = {}

    def others_moved(self, part: slice, members: Longs, *, has_more: Flags) -> Longs:
        """Return when the consumer of each slot last moved on another partition, -1 if not recently.

        `members` is the number of members of the group, `has_more` whether there is lag. Only slots that have
        not moved for a minute and have lag are computed. Times are by our clock.
        """
        group = self._group[part]
        newest_ms, recent_ms = self._newest_ms[group], self._now_ms - RECENT_MS
        found = np.full(len(group), -1, np.int64)
        rests = has_more & (group >= 0) & (_moved_ms(self._intake, part) < recent_ms)
        rests &= newest_ms >= recent_ms
        shared = rests & (members > 1)
        alone = rests & ~shared
        found[alone] = newest_ms[alone]
        if shared.any():
            self._tell_owners(np.flatnonzero(shared), part.start, found)
        return found

    def _tell_owners(self, rows: NDArray[np.intp], start: int, found: Longs) -> None:
        """Set when the owner of each of these partitions, one of several members, moved last."""
        slots = self._intake.slots
        self._look_up(np.unique(self._group[start + rows]).tolist())
        for row in rows.tolist():
            number = int(self._group[start + row])
            owner = self._owners[number].get(self._intake.places.name(int(slots.place[start + row])))
            if owner is not None:
                found[row] = self._owner_ms[number, owner]

    def _look_up(self, numbers: list[int]) -> None:
        """Compute when each member of these groups moved last."""
        intake, slots = self._intake, self._intake.slots
        new = [number for number in numbers if number not in self._owners]
        for number in new:
            self._owners[number] = intake.membership.owners(slots.group_name(number))
        wanted = np.zeros(len(self._newest_ms), np.bool_)
        wanted[new] = True
        rows = np.flatnonzero(wanted[self._group])
        for slot, moved_ms in zip(rows.tolist(), _moved_ms(intake, rows).tolist(), strict=True):
            number = int(self._group[slot])
            owner = self._owners[number].get(intake.places.name(int(slots.place[slot])))
            if owner is not None:
                self._owner_ms[number, owner] = max(self._owner_ms.get((number, owner), -1), moved_ms)


def _moved_ms(intake: Intake, rows: Rows) -> Longs:
    """Return when slots last moved, as far as their newest commits of 45 s show."""
    trail, rings, seen_ms = intake.trail, intake.rings, intake.seen_ms[rows]
    newest, last, other = rings.offset[rows, -1], trail.offset[rows, -1], trail.offset[rows, -2]
    settled = trail.settled[rows]
    last_ms = seen_ms - np.maximum(0, rings.committed_ms[rows, -1] - trail.committed_ms[rows, -1])
    moved_before = (settled >= 2) & (last != other)
    moved: Longs = np.where((settled >= 1) & (newest != last), seen_ms, np.where(moved_before, last_ms, -1))
    return moved
