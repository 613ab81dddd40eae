"""Partitions that groups own and never committed on: since when, and from which offset on. Pure.

What the owner has read is not known. Some consumers commit all assigned partitions at once, others only after
the first record; with `auto.offset.reset=latest` a consumer starts at the log end. So a missing commit alone
is no problem. It is reported only if

- records were written *while the group owned the partition*: after a log end offset from a poll that began at
  least `SETTLED_MS` after the assignment was seen, when the owner has found its position;
- the first of them is older than the allowed time without progress, up to where the group's commits are
  known. Time in which the cluster was unreachable does not count.

An ownership continues while any member of the group has the partition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Int32s = NDArray[np.int32]
    Flags = NDArray[np.bool_]

SETTLED_MS = 5_000
_NOT_YET = -1


@dataclass(frozen=True, slots=True)
class Unread:
    """Rows of places with records: their numbers, and an entry for each in the other columns.

    `first` is the first record after `since_ms`, `written_ms` its time (epoch ms, -1 if not known), `head`
    the end of what can be read.
    """

    rows: NDArray[np.intp]
    place: Int32s
    since_ms: Longs
    first: Longs
    head: Longs
    written_ms: Longs

    def __len__(self) -> int:
        return len(self.rows)

    def only(self, told: Flags) -> Unread:
        """Return the marked rows."""
        return Unread(
            self.rows[told],
            self.place[told],
            self.since_ms[told],
            self.first[told],
            self.head[told],
            self.written_ms[told],
        )

    def read_from(self, readable_from: Longs) -> Unread:
        """Return the rows with records from these offsets on; there are none before."""
        first = np.maximum(self.first, readable_from)
        return replace(self, first=first).only(self.head > first)

    def dated(self, written_ms: Longs) -> Unread:
        """Return the rows with the times of their first records."""
        return replace(self, written_ms=written_ms)


class OwnedPlaces:
    """A row for each group and place that it owns without a commit."""

    def __init__(self) -> None:
        self.groups: list[str] = []  # by row, like the others
        self.place = np.zeros(0, np.int32)
        # When it was seen owned; with a known `first`, the start of the poll that read the end there.
        self.since_ms = np.zeros(0, np.int64)
        self.first = np.zeros(0, np.int64)  # records from here on were written while it is owned
        self._held: set[str] = set()  # the groups, each once

    def __len__(self) -> int:
        return len(self.groups)

    def put(self, owned: Mapping[str, Collection[int]], *, anew: Collection[str] = ()) -> None:
        """Set the places that these groups own; earlier ownership continues, except for groups `anew`."""
        came = {group: places for group, places in owned.items() if places}
        if not came and self._held.isdisjoint(owned):
            return
        stays = np.array([group not in owned for group in self.groups], np.bool_)
        before = {
            (self.groups[row], int(self.place[row])): (int(self.since_ms[row]), int(self.first[row]))
            for row in np.flatnonzero(~stays).tolist()
            if self.groups[row] not in anew
        }
        self._keep(stays)
        new = [(group, place) for group, places in came.items() for place in sorted(places)]
        known = [before.get(one, (_NOT_YET, _NOT_YET)) for one in new]
        self.groups += [group for group, _ in new]
        self.place = np.append(self.place, np.array([place for _, place in new], np.int32))
        self.since_ms = np.append(self.since_ms, np.array([since for since, _ in known], np.int64))
        self.first = np.append(self.first, np.array([first for _, first in known], np.int64))
        self._held = set(self.groups)

    def drop_places(self, places: Collection[int]) -> set[str]:
        """Forget these places, which no longer exist; return their groups."""
        gone = np.isin(self.place, list(places))
        whose = {self.groups[row] for row in np.flatnonzero(gone).tolist()}
        if whose:
            self._keep(~gone)
            self._held = set(self.groups)
        return whose

    def forget_records(self, places: Collection[int]) -> None:
        """Do not count earlier records of these places: their topics were re-created."""
        anew = np.isin(self.place, list(places))
        self.since_ms[anew] = self.first[anew] = _NOT_YET

    def note_poll(self, ends: Longs, answered: Flags, *, at_ms: int, read_ms: int) -> None:
        """Add the log ends of all rows from a poll between `at_ms` and `read_ms`.

        Only `answered` rows have a known end.
        """
        np.minimum(self.since_ms, read_ms, out=self.since_ms)  # our clock may have been set back
        np.minimum(self.first, ends, out=self.first, where=answered)  # the end fell
        settled = (self.since_ms >= 0) & (at_ms - self.since_ms >= SETTLED_MS)
        begins = answered & (self.first < 0) & settled
        self.first[begins], self.since_ms[begins] = ends[begins], at_ms
        self.since_ms[self.since_ms < 0] = read_ms

    def written(self, heads: Longs) -> Unread:
        """Return the rows with records since; `heads` are the ends of what can be read."""
        rows = np.flatnonzero((self.first >= 0) & (heads > self.first))
        unknown = np.full(len(rows), -1, np.int64)
        return Unread(rows, self.place[rows], self.since_ms[rows], self.first[rows], heads[rows], unknown)

    def _keep(self, rows: Flags) -> None:
        if not rows.all():
            self.groups = [self.groups[row] for row in np.flatnonzero(rows).tolist()]
            self.place, self.since_ms, self.first = self.place[rows], self.since_ms[rows], self.first[rows]


def overdue(
    unread: Unread,
    commits_known_ms: Longs,
    *,
    away: tuple[int, int],
    now_ms: int,
    stopped_after_ms: int,
    stale_after_ms: int,
) -> Flags:
    """Return for each row whether its missing commit is to be reported.

    `commits_known_ms` is up to when its group's commits are known, -1 if not at all; `away` is when the
    cluster last became unreachable and when it was back, -1 if never.
    """
    left_ms, back_ms = away
    written_ms = unread.written_ms
    excused = (written_ms < back_ms) & (left_ms - written_ms <= stopped_after_ms)
    counted_ms = np.where(excused, back_ms, written_ms)
    known = (commits_known_ms >= 0) & (now_ms - commits_known_ms <= stale_after_ms)
    idle_ms = np.minimum(now_ms, commits_known_ms) - counted_ms
    found: Flags = known & (written_ms >= 0) & (idle_ms > stopped_after_ms)
    return found
