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

A group shortly before an end that moves has something to read, and so has one far before an end. Other
readers say of themselves that this is not certain (`far`): thousands of aborted records may be next, and a
mirror is called behind only where a record was read. Those are looked at wherever they are. How long that
takes is bounded, so it is tried only every few minutes where it had no answer.

A gap is good for as long as the log is the same: where its end falls or the topic is re-created, all is
forgotten. It is used until the end moves, and a record is looked at anew after `AGAIN_MS`, since compaction
may have taken it. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lagmon.logs.readable_gaps import MOST_GAPS, Gap, with_seen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from lagmon.logs.readable_gaps import Seen

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


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Readers that may be looked at next: from where on, up to where, and whether that is a short way."""

    places: Int32s = field(default_factory=lambda: np.zeros(0, np.int32))
    first: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    heads: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    near: Flags = field(default_factory=lambda: np.zeros(0, np.bool_))

    def at(self, rows: NDArray[np.intp]) -> _Candidates:
        """Return some of these."""
        return _Candidates(self.places[rows], self.first[rows], self.heads[rows], self.near[rows])

    def with_more(self, others: _Candidates) -> _Candidates:
        """Return these and others."""
        return _Candidates(
            np.concatenate((self.places, others.places)),
            np.concatenate((self.first, others.first)),
            np.concatenate((self.heads, others.heads)),
            np.concatenate((self.near, others.near)),
        )


class Readable:
    """What is known of the places of one cluster, as far as they were looked at.

    Gaps are (as many as any place has, places), in any order and -1 throughout where there is none.
    """

    def __init__(self) -> None:
        self._first = np.full((1, 0), -1, np.int64)
        self._end = np.full((1, 0), -1, np.int64)
        self._record_ms = np.full((1, 0), -1, np.int64)  # when one was seen at the end, -1 none was
        self._looked_ms = np.full(0, -1, np.int64)  # with or without an answer
        self._tried: dict[tuple[int, int], int] = {}  # when, far before ends: by place, and from where

    def readable_from(self, places: Int32s, offsets: Longs) -> Longs:
        """Return for each reader where there may be something again, -1 if no gap is known around it."""
        found = np.full(len(places), -1, np.int64)
        known = np.flatnonzero(places < len(self._looked_ms))
        known = known[self._looked_ms[places[known]] >= 0]  # a few of many
        at, offset = places[known], offsets[known]
        for first, end in zip(self._first, self._end, strict=True):
            inside = (first[at] <= offset) & (offset < end[at])
            found[known[inside]] = end[at[inside]]
        return found

    def has_record(self, places: Int32s, offsets: Longs) -> Flags:
        """Return which readers have a record to read, at their offset or behind it, that was seen."""
        found = np.zeros(len(places), np.bool_)
        known = np.flatnonzero(places < len(self._looked_ms))
        at, offset = places[known], offsets[known]
        for end, record_ms in zip(self._end, self._record_ms, strict=True):
            found[known] |= (record_ms[at] >= 0) & (end[at] >= offset)
        return found

    def due(
        self,
        readers: Iterable[Readers],
        settled: Flags,
        *,
        now_ms: int,
        most: int = MOST_PLACES,
        without: Collection[int] = (),
    ) -> list[Stretch]:
        """Return what to look at next, those first that were not looked at for longest.

        `settled` tells of each place whether its end has stood for a while. Of several readers of a place
        that are to be looked at, the one nearest to the end comes first, and the others after it. `without`
        are places that cannot be read.
        """
        # Of each that are told of together the foremost, and of these again: so that few are held at once.
        chosen = _Candidates()
        out = np.fromiter(without, np.int64, len(without))
        for one in readers:
            more = self._candidates(one, settled, now_ms)
            if len(out):
                more = more.at(np.flatnonzero(~np.isin(more.places, out)))
            chosen = self._foremost(chosen.with_more(more), most)
        far = ~chosen.near
        self._tried |= dict.fromkeys(_pairs(chosen.places[far], chosen.first[far]), now_ms)
        columns = (chosen.places, chosen.first, chosen.heads)
        return list(map(Stretch, *(column.tolist() for column in columns)))

    def _candidates(self, readers: Readers, settled: Flags, now_ms: int) -> _Candidates:
        """Return the readers before ends, or far before them, of which a look would tell more."""
        places = readers.places
        first = np.maximum(readers.offsets, self.readable_from(places, readers.offsets))
        left = readers.heads - first
        near = (left <= MOST_OFFSETS) & settled[places]
        wanted = (left > 0) & (readers.offsets >= 0) & (readers.standing_ms >= STANDS_MS)
        rows = np.flatnonzero(wanted & (near | readers.far))
        self._hold(int(places[rows].max(initial=-1)) + 1)
        rows = rows[~self._answered(places[rows], first[rows], now_ms)]
        rows = rows[near[rows] | ~self._was_tried(places[rows], first[rows], now_ms)]
        return _Candidates(places[rows], first[rows], readers.heads[rows], near[rows])

    def _foremost(self, among: _Candidates, most: int) -> _Candidates:
        """Return those to be looked at first, one of each place and so many at most, in their order."""
        looked_ms = self._looked_ms[among.places]
        order = np.lexsort((-among.first, among.places, looked_ms))
        _, nearest = np.unique(among.places[order], return_index=True)
        return among.at(order[np.sort(nearest)][:most])

    def note_asked(self, places: Iterable[int], now_ms: int) -> None:
        """Record that these are looked at, so that others come before them the next time."""
        at = np.fromiter(places, np.int64)
        self._hold(int(at.max(initial=-1)) + 1)
        self._looked_ms[at] = now_ms

    def note(self, seen: Iterable[Seen]) -> None:
        """Add what was seen of places, at the instant at which `note_asked` was told of them."""
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
        """Forget these places."""
        if self._tried:
            gone = set(places.tolist())
            self._tried = {one: at_ms for one, at_ms in self._tried.items() if one[0] not in gone}
        at = places[places < len(self._looked_ms)]
        self._looked_ms[at] = -1
        for array in (self._first, self._end, self._record_ms):
            array[:, at] = -1

    def _was_tried(self, places: Int32s, first: Longs, now_ms: int) -> Flags:
        """Return for which readers a look from so far back did not answer a short while ago."""
        self._tried = {one: at_ms for one, at_ms in self._tried.items() if 0 <= now_ms - at_ms < FAR_AGAIN_MS}
        return np.array([one in self._tried for one in _pairs(places, first)], np.bool_)

    def _answered(self, places: Int32s, first: Longs, now_ms: int) -> Flags:
        """Return for which readers no look would tell more: a record is next, or they are too far back."""
        answered = np.zeros(len(places), np.bool_)
        full = np.full(len(places), len(self._end) == MOST_GAPS)
        furthest_back = np.full(len(places), np.iinfo(np.int64).max)
        for end, record_ms in zip(self._end, self._record_ms, strict=True):
            seen_ms = record_ms[places]
            new = (seen_ms >= 0) & (seen_ms <= now_ms) & (now_ms - seen_ms <= AGAIN_MS)
            answered |= (end[places] == first) & new
            full &= end[places] >= 0
            furthest_back = np.minimum(furthest_back, end[places])
        return answered | (full & (first < furthest_back))

    def _keep(self, place: int, gaps: Sequence[Gap]) -> None:
        lacking = len(gaps) - len(self._end)
        if lacking > 0:
            self._grow(((0, lacking), (0, 0)))
        for number in range(len(self._end)):
            gap = gaps[number] if number < len(gaps) else Gap()
            self._first[number, place], self._end[number, place] = gap.first, gap.end
            self._record_ms[number, place] = gap.record_ms

    def _gaps(self, place: int) -> list[Gap]:
        columns = (array[:, place].tolist() for array in (self._first, self._end, self._record_ms))
        return [gap for gap in map(Gap, *columns) if gap.end >= 0]

    def _hold(self, places: int) -> None:
        now = len(self._looked_ms)
        if places > now:
            more = max(places - now, now // 8)
            self._looked_ms = np.concatenate((self._looked_ms, np.full(more, -1, np.int64)))
            self._grow(((0, 0), (0, more)))

    def _grow(self, by: tuple[tuple[int, int], tuple[int, int]]) -> None:
        """Make room for more gaps of each place, or for more places."""
        # One after the other, so that only one is there twice.
        self._first = np.pad(self._first, by, constant_values=-1)
        self._end = np.pad(self._end, by, constant_values=-1)
        self._record_ms = np.pad(self._record_ms, by, constant_values=-1)


def _pairs(places: Int32s, offsets: Longs) -> Iterator[tuple[int, int]]:
    """Give place and offset of each."""
    return zip(places.tolist(), offsets.tolist(), strict=True)
