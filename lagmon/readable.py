"""Where the end of a log holds nothing that a consumer would ever see: which ends to look at, what was found.

Markers of transactions, aborted records and what compaction took away leave offsets behind the last record
that nobody ever reads away: a reader that has all there is seems to lag for ever. So where a reader stands
shortly before an end that does not move either, the log is read from there on (runtime/kafka/gaps.py). What
is known of a *place* afterwards, one topic partition of one cluster:

- a *gap*: between two offsets there is nothing to read. A reader within it is as far as its end;
- whether there is a record where a gap ends: who stands there, or in the gap, has something to read. A
  reader that stands before a record has a gap of no offsets.

Readers of one place stand where they stand, each perhaps in a gap of its own: `MOST_GAPS` of a place are
kept, those nearest to the end. A reader further back than all of them is not looked at, or its gap and
theirs would take turns for ever; what it has to read is told by offsets alone.

Who stands shortly before an end that moves has something to read, and so has who stands far before one. But
not where it reads committed records only: thousands that were aborted may be next. Of those who say so
(`far`) all are looked at; how long that takes is bounded, so that it is tried but every few minutes.

A gap is good for as long as the log is the same: where its end falls or the topic is made anew, all is
forgotten. It is used until the end moves, and a record is looked at anew after `AGAIN_MS`, since compaction
may have taken it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.readable_gaps import MOST_GAPS, Gap, with_seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from lagmon.readable_gaps import Seen

    Longs = NDArray[np.int64]
    Int32s = NDArray[np.int32]
    Flags = NDArray[np.bool_]

MOST_OFFSETS = 1000  # between reader and end: what is further behind has something to read, or is read soon
STANDS_MS = 20_000  # readers that move are left alone
FAR_AGAIN_MS = 300_000  # after which a look that told nothing of who stands far before an end is tried again
AGAIN_MS = 1_800_000
MOST_PLACES = 500  # that are looked at together


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets of a place to look at, the last not included."""

    place: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Readers:
    """Readers that may be looked at, an entry each: where they are, and since when at least."""

    places: Int32s
    offsets: Longs
    heads: Longs  # up to where they can read, -1 not known
    standing_ms: Longs
    far: Flags  # whether to be looked at however far behind, and while the end moves


def joined(readers: Sequence[Readers]) -> Readers:
    """Return these as one."""
    none = np.zeros(0, np.int64)
    every = [Readers(np.zeros(0, np.int32), none, none, none, np.zeros(0, np.bool_)), *readers]
    return Readers(
        np.concatenate([one.places for one in every]),
        np.concatenate([one.offsets for one in every]),
        np.concatenate([one.heads for one in every]),
        np.concatenate([one.standing_ms for one in every]),
        np.concatenate([one.far for one in every]),
    )


class Readable:
    """What is known of the places of one cluster, as far as they were looked at.

    Gaps are (MOST_GAPS, places), in any order and -1 throughout where there is none.
    """

    def __init__(self) -> None:
        self._first = np.full((MOST_GAPS, 0), -1, np.int64)
        self._end = np.full((MOST_GAPS, 0), -1, np.int64)
        self._record_ms = np.full((MOST_GAPS, 0), -1, np.int64)  # when one was seen at the end, -1 none was
        self._looked_ms = np.full(0, -1, np.int64)  # with or without an answer
        self._tried: dict[tuple[int, int], int] = {}  # when, far before ends: by place, and from where

    def readable_from(self, places: Int32s, offsets: Longs) -> Longs:
        """Return for each reader where there may be something again, -1 where no gap is known around it."""
        found = np.full(len(places), -1, np.int64)
        known = np.flatnonzero(places < len(self._looked_ms))
        known = known[self._looked_ms[places[known]] >= 0]  # a few of many
        at, offset = places[known], offsets[known]
        for first, end in zip(self._first, self._end, strict=True):
            inside = (first[at] <= offset) & (offset < end[at])
            found[known[inside]] = end[at[inside]]
        return found

    def due(self, readers: Readers, settled: Flags, *, now_ms: int, most: int = MOST_PLACES) -> list[Stretch]:
        """Return what to look at next, those first that were not looked at for longest.

        `settled` tells of each place whether its end has stood for a while. Of several readers of a place
        that are to be looked at, the one nearest to the end comes first, and the others after it.
        """
        places = readers.places
        first = np.maximum(readers.offsets, self.readable_from(places, readers.offsets))
        left = readers.heads - first
        near = (left <= MOST_OFFSETS) & settled[places]
        wanted = (left > 0) & (readers.offsets >= 0) & (readers.standing_ms >= STANDS_MS)
        rows = np.flatnonzero(wanted & (near | readers.far))
        self._hold(int(places[rows].max(initial=-1)) + 1)
        rows = rows[~self._answered(places[rows], first[rows], now_ms)]
        rows = rows[near[rows] | ~self._was_tried(places[rows], first[rows], now_ms)]
        order = rows[np.lexsort((-first[rows], places[rows], self._looked_ms[places[rows]]))]
        _, nearest = np.unique(places[order], return_index=True)
        chosen = order[np.sort(nearest)][:most]
        self._tried |= dict.fromkeys(_pairs(places, first, chosen[~near[chosen]]), now_ms)
        return [
            Stretch(place, start, end)
            for place, start, end in zip(
                places[chosen].tolist(), first[chosen].tolist(), readers.heads[chosen].tolist(), strict=True
            )
        ]

    def note_asked(self, places: Iterable[int], now_ms: int) -> None:
        """Take note that these are looked at, so that others come before them the next time."""
        at = np.fromiter(places, np.int64)
        self._hold(int(at.max(initial=-1)) + 1)
        self._looked_ms[at] = now_ms

    def note(self, seen: Iterable[Seen]) -> None:
        """Take in what was seen of places, at the instant at which `note_asked` was told of them."""
        for one in seen:
            gaps = with_seen(self._gaps(one.place), one, int(self._looked_ms[one.place]))
            self._keep(one.place, gaps)

    def gaps(self, places: Int32s) -> list[list[Gap]]:
        """Return what is known of each of these places, as `take_up` takes it."""
        found: list[list[Gap]] = [[] for _ in range(len(places))]
        known = np.flatnonzero(places < len(self._looked_ms))
        for first, end, record_ms in zip(self._first, self._end, self._record_ms, strict=True):
            rows = known[end[places[known]] >= 0]
            columns = (array[places[rows]].tolist() for array in (first, end, record_ms))
            for row, gap in zip(rows.tolist(), map(Gap, *columns), strict=True):
                found[row].append(gap)
        return found

    def take_up(self, place: int, gaps: Sequence[Gap], at_ms: int) -> None:
        """Know these again, as `gaps` gave them at an instant; call before any look at the place."""
        if gaps:
            self.note_asked([place], at_ms)
            self._keep(place, gaps)

    def note_ends(self, places: Int32s, ends: Longs) -> None:
        """Forget what lies behind ends that fell; a negative one is no answer."""
        known = (places < len(self._looked_ms)) & (ends >= 0)
        at, end = places[known], ends[known]
        beyond = (self._end[:, at] > end) | ((self._record_ms[:, at] >= 0) & (self._end[:, at] >= end))
        self.forget(at[beyond.any(axis=0)])

    def forget(self, places: Int32s) -> None:
        """Know nothing of these places."""
        if self._tried:
            gone = set(places.tolist())
            self._tried = {one: at_ms for one, at_ms in self._tried.items() if one[0] not in gone}
        at = places[places < len(self._looked_ms)]
        self._looked_ms[at] = -1
        for array in (self._first, self._end, self._record_ms):
            array[:, at] = -1

    def _was_tried(self, places: Int32s, first: Longs, now_ms: int) -> Flags:
        """Tell of which readers a look from so far back did not answer a short while ago."""
        self._tried = {one: at_ms for one, at_ms in self._tried.items() if 0 <= now_ms - at_ms < FAR_AGAIN_MS}
        return np.array([one in self._tried for one in _pairs(places, first)], np.bool_)

    def _answered(self, places: Int32s, first: Longs, now_ms: int) -> Flags:
        """Tell of which readers no look would tell more: a record is next, or they are too far back."""
        answered, full = np.zeros(len(places), np.bool_), np.ones(len(places), np.bool_)
        furthest_back = np.full(len(places), np.iinfo(np.int64).max)
        for end, record_ms in zip(self._end, self._record_ms, strict=True):
            seen_ms = record_ms[places]
            new = (seen_ms >= 0) & (seen_ms <= now_ms) & (now_ms - seen_ms <= AGAIN_MS)
            answered |= (end[places] == first) & new
            full &= end[places] >= 0
            furthest_back = np.minimum(furthest_back, end[places])
        return answered | (full & (first < furthest_back))

    def _keep(self, place: int, gaps: Sequence[Gap]) -> None:
        for number in range(MOST_GAPS):
            gap = gaps[number] if number < len(gaps) else Gap()
            self._first[number, place], self._end[number, place] = gap.first, gap.end
            self._record_ms[number, place] = gap.record_ms

    def _gaps(self, place: int) -> list[Gap]:
        columns = (array[:, place].tolist() for array in (self._first, self._end, self._record_ms))
        return [gap for gap in map(Gap, *columns) if gap.end >= 0]

    def _hold(self, places: int) -> None:
        now = len(self._looked_ms)
        if places > now:
            more = max(places - now, now // 4)
            self._looked_ms = np.concatenate((self._looked_ms, np.full(more, -1, np.int64)))
            self._first, self._end, self._record_ms = (
                np.concatenate((array, np.full((MOST_GAPS, more), -1, np.int64)), axis=1)
                for array in (self._first, self._end, self._record_ms)
            )


def _pairs(
    places: Int32s, offsets: Longs, rows: NDArray[np.intp] | slice = slice(None)
) -> Iterator[tuple[int, int]]:
    """Give place and offset of each of these rows."""
    return zip(places[rows].tolist(), offsets[rows].tolist(), strict=True)
