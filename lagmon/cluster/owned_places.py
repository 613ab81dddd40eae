"""Places that members of groups were given and on which their groups never committed: since when, from where.

What such a member has read is not known. A consumer that commits what it was given says at once where it is,
others only with the first record that they read; and with `auto.offset.reset=latest` a consumer begins at
the end that it finds. So silence alone is right. It is told of only where

- records were written to the place *while the group owned it*: behind the end that a look found which began
  `SETTLED_MS` or more after it was seen owned, when who was given it has found its position;
- the first of them was there for longer than a group may stand, up to where its commits are known. While
  its cluster was away, nobody could commit.

One that its group owns all the time goes on, whichever member has it. Pure.
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
    """Rows of places to which something was written: their numbers, and an entry for each in the others.

    `first` is the first record that was written since `since_ms`, and `written_ms` when that was (epoch ms,
    -1 if that is not known); `head` is up to where the place can be read.
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
        """Return those of which this is true."""
        return Unread(
            self.rows[told],
            self.place[told],
            self.since_ms[told],
            self.first[told],
            self.head[told],
            self.written_ms[told],
        )

    def read_from(self, readable_from: Longs) -> Unread:
        """Return those that have anything from these offsets on, before which there is no record."""
        first = np.maximum(self.first, readable_from)
        return replace(self, first=first).only(self.head > first)

    def dated(self, written_ms: Longs) -> Unread:
        """Return them with when the first record was written."""
        return replace(self, written_ms=written_ms)


class OwnedPlaces:
    """A row for each group and place that it owns without a commit."""

    def __init__(self) -> None:
        self.groups: list[str] = []  # by row, as the others are
        self.place = np.zeros(0, np.int32)
        # When it was seen owned; where `first` is known, when the look began that found the end there.
        self.since_ms = np.zeros(0, np.int64)
        self.first = np.zeros(0, np.int64)  # what is written from there on, is written while it is owned
        self._held: set[str] = set()  # the groups, each once

    def __len__(self) -> int:
        return len(self.groups)

    def put(self, owned: Mapping[str, Collection[int]], *, anew: Collection[str] = ()) -> None:
        """Have each of these groups own these places; what it owned before goes on, but of groups `anew`."""
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
        """Forget these places, which nobody has any more; return whose they were."""
        gone = np.isin(self.place, list(places))
        whose = {self.groups[row] for row in np.flatnonzero(gone).tolist()}
        if whose:
            self._keep(~gone)
            self._held = set(self.groups)
        return whose

    def begin_anew(self, places: Collection[int]) -> None:
        """Count nothing that was written to these places before: their topics were re-created."""
        anew = np.isin(self.place, list(places))
        self.since_ms[anew] = self.first[anew] = _NOT_YET

    def note_look(self, ends: Longs, answered: Flags, *, at_ms: int, read_ms: int) -> None:
        """Take the ends of all rows' places at a look that began at `at_ms` and was over at `read_ms`.

        Of those that did not answer an end is not known.
        """
        np.minimum(self.since_ms, read_ms, out=self.since_ms)  # our clock may have been set back
        np.minimum(self.first, ends, out=self.first, where=answered)  # an end that fell
        settled = (self.since_ms >= 0) & (at_ms - self.since_ms >= SETTLED_MS)
        begins = answered & (self.first < 0) & settled
        self.first[begins], self.since_ms[begins] = ends[begins], at_ms
        self.since_ms[self.since_ms < 0] = read_ms

    def written(self, heads: Longs) -> Unread:
        """Return the rows to which anything was written since; `heads` are up to where each can be read."""
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
    """Return for each row whether its silence is to be told of.

    `commits_known_ms` is up to when its group's commits are known, -1 for not at all; `away` is when the
    cluster was left without an answer last, and when it was back, -1 for never.
    """
    left_ms, back_ms = away
    written_ms = unread.written_ms
    excused = (written_ms < back_ms) & (left_ms - written_ms <= stopped_after_ms)
    counted_ms = np.where(excused, back_ms, written_ms)
    known = (commits_known_ms >= 0) & (now_ms - commits_known_ms <= stale_after_ms)
    stands_ms = np.minimum(now_ms, commits_known_ms) - counted_ms
    found: Flags = known & (written_ms >= 0) & (stands_ms > stopped_after_ms)
    return found
