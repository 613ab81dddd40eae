"""Where the end of a log holds nothing that a consumer would ever see: which ends to look at, what was found.

Markers of transactions, aborted records and what compaction took away leave offsets behind the last record
that nobody ever reads away: a reader that has all there is seems to lag for ever. So where a reader stands
shortly before an end that does not move either, the log is read from there on (runtime/kafka/gaps.py). What
is known of a *place* afterwards, one topic partition of one cluster:

- a *gap*: between two offsets there is nothing to read. A reader within it is as far as its end;
- the furthest offset at which there is a record: who stands before it has something to read.

A gap is good for as long as the log is the same: where its end falls or the topic is made anew, it is
forgotten. Both are used until the end moves, and a record is looked at anew after `AGAIN_MS`, since
compaction may have taken it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Int32s = NDArray[np.int32]
    Flags = NDArray[np.bool_]

MOST_OFFSETS = 1000  # between reader and end: what is further behind has something to read, or is read soon
STANDS_MS = 20_000  # readers that move are left alone
AGAIN_MS = 1_800_000
MOST_PLACES = 500  # that are looked at together


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets of a place to look at, the last not included."""

    place: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a place from an offset on: nothing before `end`; there, perhaps, a record."""

    place: int
    first: int
    end: int
    is_record: bool


@dataclass(frozen=True, slots=True)
class Readers:
    """Readers that may be looked at, an entry each: where they are, and since when at least."""

    places: Int32s
    offsets: Longs
    heads: Longs  # up to where they can read, -1 not known
    standing_ms: Longs


def joined(readers: Sequence[Readers]) -> Readers:
    """Return these as one."""
    none = Readers(np.zeros(0, np.int32), *(np.zeros(0, np.int64) for _ in range(3)))
    every = [none, *readers]
    return Readers(
        np.concatenate([one.places for one in every]),
        np.concatenate([one.offsets for one in every]),
        np.concatenate([one.heads for one in every]),
        np.concatenate([one.standing_ms for one in every]),
    )


class Readable:
    """What is known of the places of one cluster, as far as they were looked at."""

    def __init__(self) -> None:
        self._first = np.full(0, -1, np.int64)  # of the gap
        self._end = np.full(0, -1, np.int64)
        self._record = np.full(0, -1, np.int64)
        self._looked_ms = np.full(0, -1, np.int64)  # with or without an answer

    def readable_from(self, places: Int32s, offsets: Longs) -> Longs:
        """Return for each reader where there may be something again, -1 where no gap is known around it."""
        found = np.full(len(places), -1, np.int64)
        known = np.flatnonzero(places < len(self._end))
        at, offset = places[known], offsets[known]
        inside = (self._first[at] <= offset) & (offset < self._end[at])
        found[known[inside]] = self._end[at[inside]]
        return found

    def due(self, readers: Readers, settled: Flags, *, now_ms: int, most: int = MOST_PLACES) -> list[Stretch]:
        """Return what to look at next, those first that were not looked at for longest.

        `settled` tells of each place whether its end has stood for a while. Of several readers of a place the
        one nearest to the end comes first.
        """
        if not len(readers.places):
            return []
        self._hold(int(readers.places.max()) + 1)
        places = readers.places
        first = np.maximum(readers.offsets, self.readable_from(places, readers.offsets))
        left = readers.heads - first
        wanted = (left > 0) & (left <= MOST_OFFSETS) & (readers.offsets >= 0)
        wanted &= settled[places] & (readers.standing_ms >= STANDS_MS)
        old = (now_ms - self._looked_ms[places] > AGAIN_MS) | (self._looked_ms[places] > now_ms)
        rows = np.flatnonzero(wanted & ((first > self._record[places]) | old))
        order = rows[np.lexsort((-first[rows], places[rows], self._looked_ms[places[rows]]))]
        _, nearest = np.unique(places[order], return_index=True)
        chosen = order[np.sort(nearest)][:most]
        return [
            Stretch(place, start, end)
            for place, start, end in zip(
                places[chosen].tolist(), first[chosen].tolist(), readers.heads[chosen].tolist(), strict=True
            )
        ]

    def note_asked(self, places: Iterable[int], now_ms: int) -> None:
        """Take note that these were looked at, so that others come before them the next time."""
        at = np.fromiter(places, np.int64)
        self._hold(int(at.max(initial=-1)) + 1)
        self._looked_ms[at] = now_ms

    def note(self, seen: Iterable[Seen]) -> None:
        """Take in what was seen."""
        for one in seen:
            self._hold(one.place + 1)
            first, end = int(self._first[one.place]), int(self._end[one.place])
            if one.is_record:
                self._record[one.place] = max(one.end, int(self._record[one.place]))
            elif self._record[one.place] >= one.first:
                self._record[one.place] = -1  # compaction took it
            if one.end <= one.first:
                continue
            if end >= 0 and one.first <= end and first <= one.end:
                self._first[one.place], self._end[one.place] = min(first, one.first), max(end, one.end)
            elif one.end > end:
                self._first[one.place], self._end[one.place] = one.first, one.end

    def note_ends(self, places: Int32s, ends: Longs) -> None:
        """Forget what lies behind ends that fell; a negative one is no answer."""
        known = (places < len(self._end)) & (ends >= 0)
        at, end = places[known], ends[known]
        self.forget(at[(self._end[at] > end) | (self._record[at] >= end)])

    def forget(self, places: Int32s) -> None:
        """Know nothing of these places."""
        at = places[places < len(self._end)]
        for array in (self._first, self._end, self._record, self._looked_ms):
            array[at] = -1

    def _hold(self, places: int) -> None:
        if places > len(self._end):
            more = np.full(max(places - len(self._end), len(self._end) // 4), -1, np.int64)
            self._first, self._end, self._record, self._looked_ms = (
                np.concatenate((array, more))
                for array in (self._first, self._end, self._record, self._looked_ms)
            )
