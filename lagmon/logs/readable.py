"""Log tails without a record that a consumer would see: which to check, and the results. Pure.

Transaction markers, aborted records and compaction leave offsets after the last record that no consumer ever
commits: a consumer that has read everything seems to have lag forever. So if a consumer is idle shortly
before an end that does not move either, the log is read from its offset on (runtime/kafka/gaps.py). The
result for a *place* (a topic partition):

- a *gap*: offsets without a record. A consumer within it is as far as its end;
- whether there is a record at the end of the gap: then consumers in the gap or at its end have something to
  read. A consumer directly before a record has an empty gap.

Each consumer of a place may be in a gap of its own; the `MOST_GAPS` nearest to the end are kept. Consumers
further back than all of them are not checked, as their gap would displace another; their lag is counted in
offsets.

Groups far before an end, or shortly before one that moves, have something to read. Mirrors may not (`far`):
thousands of aborted records may be next, and a mirror counts as late only if a record was read. They are
checked wherever they are, for a limited time and only every few minutes if there was no result.

Gaps are valid as long as the log is the same: if its end falls or the topic is re-created, they are dropped.
They are used until the end moves. A record is checked again after `AGAIN_MS`, as compaction may have removed
it.
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

MOST_OFFSETS = 1000  # before the end; further behind there is something to read, or it is read soon
IDLE_MS = 20_000  # consumers that move are not checked
IDLE_POLLS = 2  # with the same end: the log of a mirror is idle
FAR_AGAIN_MS = 300_000  # a far check without a result is repeated after this
AGAIN_MS = 1_800_000
MOST_PLACES = 500  # checked together


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets of a place to check, the last not included."""

    place: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Readers:
    """Consumers that may be checked, an entry each: their offsets, and at least how long they are idle."""

    places: Int32s
    offsets: Longs
    heads: Longs  # up to where they can read, -1 not known
    idle_ms: Longs
    far: Flags  # to be checked at any distance, and while the end moves

    def with_more(self, others: Readers) -> Readers:
        """Return these and others."""
        return Readers(
            np.concatenate((self.places, others.places)),
            np.concatenate((self.offsets, others.offsets)),
            np.concatenate((self.heads, others.heads)),
            np.concatenate((self.idle_ms, others.idle_ms)),
            np.concatenate((self.far, others.far)),
        )


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Consumers that may be checked next: start and end of the check, and whether it is short."""

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
    """Results of checks for the places of one cluster.

    Gaps are (as many as any place has, places), unordered; missing ones are -1 throughout.
    """

    def __init__(self) -> None:
        self._first = np.full((1, 0), -1, np.int64)
        self._end = np.full((1, 0), -1, np.int64)
        self._record_ms = np.full((1, 0), -1, np.int64)  # when a record was seen at the end, -1 if none was
        self._looked_ms = np.full(0, -1, np.int64)  # of the last check, with or without a result
        self._tried: dict[tuple[int, int], int] = {}  # when far checks were made, by place and offset

    def readable_from(self, places: Int32s, offsets: Longs) -> Longs:
        """Return the end of the gap around each consumer, -1 if none is known."""
        found = np.full(len(places), -1, np.int64)
        known = np.flatnonzero(places < len(self._looked_ms))
        known = known[self._looked_ms[places[known]] >= 0]  # a few of many
        at, offset = places[known], offsets[known]
        for first, end in zip(self._first, self._end, strict=True):
            inside = (first[at] <= offset) & (offset < end[at])
            found[known[inside]] = end[at[inside]]
        return found

    def has_record(self, places: Int32s, offsets: Longs) -> Flags:
        """Return which consumers have a record to read, at their offset or after it, that was seen."""
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
        """Return the checks to make next, those first that were not made for longest.

        `settled` marks places whose end has not moved for a while. Of several consumers of a place, the one
        nearest to the end comes first. `without` are places that cannot be read.
        """
        # The foremost of each part, then of all parts, to need little memory.
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
        """Return the consumers for which a check would have a new result."""
        places = readers.places
        first = np.maximum(readers.offsets, self.readable_from(places, readers.offsets))
        left = readers.heads - first
        near = (left <= MOST_OFFSETS) & settled[places]
        wanted = (left > 0) & (readers.offsets >= 0) & (readers.idle_ms >= IDLE_MS)
        rows = np.flatnonzero(wanted & (near | readers.far))
        self._hold(int(places[rows].max(initial=-1)) + 1)
        rows = rows[~self._answered(places[rows], first[rows], now_ms)]
        rows = rows[near[rows] | ~self._was_tried(places[rows], first[rows], now_ms)]
        return _Candidates(places[rows], first[rows], readers.heads[rows], near[rows])

    def _foremost(self, among: _Candidates, most: int) -> _Candidates:
        """Return those to check first, at most one of each place and `most` in total, in their order."""
        looked_ms = self._looked_ms[among.places]
        order = np.lexsort((-among.first, among.places, looked_ms))
        _, nearest = np.unique(among.places[order], return_index=True)
        return among.at(order[np.sort(nearest)][:most])

    def note_asked(self, places: Iterable[int], now_ms: int) -> None:
        """Record that these are checked now, so that others come first next time."""
        at = np.fromiter(places, np.int64)
        self._hold(int(at.max(initial=-1)) + 1)
        self._looked_ms[at] = now_ms

    def note(self, seen: Iterable[Seen]) -> None:
        """Add the results of the last check."""
        for one in seen:
            gaps = with_seen(self._gaps(one.place), one, int(self._looked_ms[one.place]))
            self._keep(one.place, gaps)

    def gaps(self, places: Int32s) -> list[list[Gap]]:
        """Return the gaps of each of these places, to be restored by `take_up`."""
        found: list[list[Gap]] = [[] for _ in range(len(places))]
        known = np.flatnonzero(places < len(self._looked_ms))
        for first, end, record_ms in zip(self._first, self._end, self._record_ms, strict=True):
            rows = known[end[places[known]] >= 0]
            columns = (array[places[rows]].tolist() for array in (first, end, record_ms))
            for row, gap in zip(rows.tolist(), map(Gap, *columns), strict=True):
                found[row].append(gap)
        return found

    def take_up(self, place: int, gaps: Sequence[Gap], at_ms: int) -> None:
        """Restore gaps as of an instant; call it before any check of the place."""
        if gaps:
            self.note_asked([place], at_ms)
            self._keep(place, gaps)

    def note_ends(self, places: Int32s, ends: Longs) -> None:
        """Drop results beyond ends that fell; a negative end is no answer."""
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
        """Return for which consumers a far check had no result a short while ago."""
        self._tried = {one: at_ms for one, at_ms in self._tried.items() if 0 <= now_ms - at_ms < FAR_AGAIN_MS}
        return np.array([one in self._tried for one in _pairs(places, first)], np.bool_)

    def _answered(self, places: Int32s, first: Longs, now_ms: int) -> Flags:
        """Return for which consumers a check is useless: a record is next, or they are too far back."""
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
        # One after the other, so that at most one is in memory twice.
        self._first = np.pad(self._first, by, constant_values=-1)
        self._end = np.pad(self._end, by, constant_values=-1)
        self._record_ms = np.pad(self._record_ms, by, constant_values=-1)


def _pairs(places: Int32s, offsets: Longs) -> Iterator[tuple[int, int]]:
    """Yield place and offset of each."""
    return zip(places.tolist(), offsets.tolist(), strict=True)
