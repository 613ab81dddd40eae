"""Whether the reader of a partition moves in others meanwhile: it may read them in turns. Pure.

A client that was given many records of one partition works them off before those of the next, and commits
nothing new elsewhere until then. Whose partition it is is known where the group has members; two that cannot
be told apart by client id and host count as one. In a group without members, or with a single one, every
partition has the same reader.
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


class Turns:
    """When the groups of one cluster, and the members of those that it is asked about, moved last."""

    def __init__(self, intake: Intake, now_ms: int) -> None:
        self._intake = intake
        self._now_ms = now_ms
        self._group = intake.slots.group[: len(intake.slots)]
        self._newest_ms = np.full(intake.slots.group_numbers + 1, -1, np.int64)  # with one for slots of none
        for part in parts(len(self._group)):
            np.maximum.at(self._newest_ms, self._group[part], _moved_ms(intake, part))
        self._owners: dict[int, Mapping[tuple[str, int], Owner]] = {}  # by group, as far as asked about
        self._owner_ms: dict[tuple[int, Owner], int] = {}

    def others_moved(self, part: slice, members: Longs, *, has_more: Flags) -> Longs:
        """Return when the reader of each slot was last seen to move in another, -1 if not lately.

        `members` is how many its group has, `has_more` whether there is anything to read. It is told only of
        slots that have stood for a minute with something to read. By our clock.
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
        """Tell of rows whose group has several members when the one that a partition was given moved last."""
        slots = self._intake.slots
        self._look_up(np.unique(self._group[start + rows]).tolist())
        for row in rows.tolist():
            number = int(self._group[start + row])
            owner = self._owners[number].get(self._intake.places.name(int(slots.place[start + row])))
            if owner is not None:
                found[row] = self._owner_ms[number, owner]

    def _look_up(self, numbers: list[int]) -> None:
        """Know of these groups when each of their members moved last."""
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
    """Return when slots had moved by, as far as their newest commits of three quarters of a minute tell."""
    trail, rings, seen_ms = intake.trail, intake.rings, intake.seen_ms[rows]
    newest, last, other = rings.offset[rows, -1], trail.offset[rows, -1], trail.offset[rows, -2]
    settled = trail.settled[rows]
    last_ms = seen_ms - np.maximum(0, rings.committed_ms[rows, -1] - trail.committed_ms[rows, -1])
    moved_before = (settled >= 2) & (last != other)
    moved: Longs = np.where((settled >= 1) & (newest != last), seen_ms, np.where(moved_before, last_ms, -1))
    return moved
