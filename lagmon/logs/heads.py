"""Positions of topic partitions: log start, end, last stable offset, and the history of the end. Pure.

A *place* is a topic partition of one cluster: a row, claimed and released by its number. Offsets are int64,
-1 is "not known". Times are epoch milliseconds by our wall clock. Arrays have a column for each age,
contiguous over places, and grow by an eighth (more would use memory at once with huge pages). A place takes
232 bytes: 24 polls with their times, 8 bytes each (`logs/head_history.py`), and five more offsets or times. A
few places also have times of records from before all polls (`logs/record_times.py`).

Polls are kept for a day, or for the last 2**31 - 1 records if more are written in a day (25,000 per second
into one partition; `logs/near_ends.py`). An older offset has a bound: written then or before.

If an end falls (truncation, unclean election), all higher points are lowered to it: what lies below was there
when the end first passed it. If it falls below the log start, the log is another one, and its start is
unknown. If our clock is set back, all later times are lowered to it.

Records from a downtime of ours (`away`) count as written at the first poll after it, so that no group counts
as idle for longer than is known. That time has a bracket only if the downtime was no longer than a usual gap
between polls. A single place that was not polled is handled by its own history (`logs/head_history.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.place_rows import chunks, grown, parts, places_of
from lagmon.logs.head_history import AGED, LONGEST_LINE_MS, POINTS, SPAN_MS, age, ended, passed
from lagmon.logs.near_ends import UNKNOWN, NearEnds
from lagmon.logs.record_times import EARLIEST_MS, RecordTimes
from lagmon.logs.start_history import StartHistory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lagmon.arrays.kinds import Flags, Int32s, Int64s
    from lagmon.arrays.place_rows import Rows

_FIRST_CAPACITY = 1000
LAST_MS = 253_402_300_799_999  # the end of the year 9999
MAX_AWAY = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadsState:
    """The state of places: `ends` and `times` with a column for each age, times from the origin."""

    origin_ms: int
    ends: Int64s
    times: Int32s
    start: Int64s
    start_at_ms: Int64s
    stable: Int64s


class Heads:
    """The positions of all places of one cluster."""

    def __init__(self) -> None:
        self.fallen = 0  # number of ends that ever fell
        self.fallen_below_start = 0  # of these, below their log start
        self.records = RecordTimes()
        self.starts = StartHistory()
        self.away: list[tuple[int, int]] = []  # downtimes of ours: the polls before and after, newest last
        self._left_ms = -1  # the last poll before our downtime, until the first one after
        self._size = 0  # rows ever claimed
        self._free: list[int] = []
        self._forgotten: list[Int32s] = []  # since the newest `begin_asking`
        self._origin_ms = 0  # origin of the 32-bit `_times`
        self._ends = NearEnds(POINTS, _FIRST_CAPACITY)
        self._times = np.empty((POINTS, _FIRST_CAPACITY), np.int32)
        self._start = np.empty(_FIRST_CAPACITY, np.int64)
        self._start_at_ms = np.empty(_FIRST_CAPACITY, np.int64)
        self._stable = np.empty(_FIRST_CAPACITY, np.int64)

    @classmethod
    def of(cls, state: HeadsState) -> Heads:
        """Return heads with places 0, 1, ... in the order of a state, whose arrays are copied."""
        heads = cls()
        places = heads.claim(len(state.start))
        heads._origin_ms = state.origin_ms
        heads._ends.take(places, state.ends)
        heads._times[:, places] = state.times
        heads._start[places], heads._stable[places] = state.start, state.stable
        heads._start_at_ms[places] = state.start_at_ms
        return heads

    def state(self, places: Int32s) -> HeadsState:
        """Return a copy of the state of these places: 312 bytes each."""
        return HeadsState(
            origin_ms=self._origin_ms,
            ends=self._ends.whole(places),
            times=self._times[:, places],
            start=self._start[places],
            start_at_ms=self._start_at_ms[places],
            stable=self._stable[places],
        )

    def columns(self, places: Int32s) -> Iterator[Int64s | Int32s]:
        """Yield the arrays of the state of these places, a column at a time."""
        for near in self._ends.near:
            yield self._ends.ends(places, near[places])
        for times in self._times:
            yield times[places]
        for array in (self._start, self._start_at_ms, self._stable):
            yield array[places]

    def take_up(self, places: Int32s, state: HeadsState) -> None:
        """Restore the state of these places; call it before any poll of them."""
        if not len(places):
            return
        self._from_origin(state.origin_ms)
        times = np.clip(state.times + np.int64(state.origin_ms - self._origin_ms), -SPAN_MS, SPAN_MS - 1)
        self._ends.take(places, state.ends)
        self._times[:, places] = times
        self._start[places], self._stable[places] = state.start, state.stable
        self._start_at_ms[places] = state.start_at_ms

    def note_away(self) -> None:
        """Record that polling stopped after the newest restored poll; call it before the next one."""
        self._left_ms = int(self.sampled_ms.max(initial=-1))

    @property
    def origin_ms(self) -> int:
        """Return the origin of the times of a state."""
        return self._origin_ms

    @property
    def start(self) -> Int64s:
        """Log starts by place."""
        return self._start[: self._size]

    @property
    def start_at_ms(self) -> Int64s:
        """Timestamps of the records at the log starts by place."""
        return self._start_at_ms[: self._size]

    @property
    def stable(self) -> Int64s:
        """Last stable offsets by place."""
        return self._stable[: self._size]

    @property
    def end(self) -> Int64s:
        """Ends (high watermarks) by place."""
        return self._ends.newest[: self._size]

    def head(self, places: Int32s) -> Int64s:
        """Return the end that every consumer can read: at most the last stable offset."""
        end, stable = self.end[places], self.stable[places]
        return np.where(stable >= 0, np.minimum(stable, end), end)

    @property
    def sampled_ms(self) -> Int64s:
        """Return when each end was read; a new array at each call."""
        times = self._times[-1, : self._size] + np.int64(self._origin_ms)
        return np.where(self.end >= 0, times, -1)

    def recent(self, places: Int32s) -> Int64s:
        """Return the ends of the last ten polls, (places, 10), the newest in the last column.

        -1 is not known, or more than 2**31 - 1 records before the newest end (20,000,000 per second).
        """
        return self._ends.whole(places, AGED).T

    def oldest_recent(self, places: Int32s) -> Int64s:
        """Return the ends of the oldest of the last ten polls."""
        return self._ends.ends(places, self._ends.near[AGED, places])

    def stood(self, looks: int) -> Flags:
        """Return by place whether its last `looks` polls all returned the same end."""
        first, last = self._ends.near[-looks, : self._size], self._ends.near[-1, : self._size]
        stood: Flags = (first == last) & (first != UNKNOWN)  # none in between is lower than the first
        return stood

    def claim(self, count: int) -> Int32s:
        """Return this many places without state; released ones are reused first."""
        reused = [self._free.pop() for _ in range(min(count, len(self._free)))]
        fresh = range(self._size, self._size + count - len(reused))
        self._grow(fresh.stop)
        self._size = max(self._size, fresh.stop)
        places = np.array([*reused, *fresh], np.int32)
        self.forget(places)
        return places

    def release(self, places: Int32s) -> None:
        """Free places for reuse. Release each only once."""
        self.forget(places)
        self._free += places.tolist()

    def forget(self, places: Int32s) -> None:
        """Forget these places: their topics were re-created."""
        self._forgotten.append(places)
        self.records.forget(places)
        self.starts.forget(places)
        for rows, _ in chunks(places):
            self._ends.forget(rows)
            self._times[:, rows] = 0
            for array in (self._start, self._start_at_ms, self._stable):
                array[rows] = -1

    def begin_asking(self) -> None:
        """Record from here on which places are forgotten: answers about the old logs may still arrive."""
        self._forgotten = []

    def forgotten(self, places: Int32s) -> Flags:
        """Return which of these were forgotten since the newest `begin_asking`."""
        return np.isin(places, np.concatenate(self._forgotten) if self._forgotten else [])

    def note(self, places: Int32s, ends: Int64s, at_ms: int) -> None:
        """Add the ends that were read at this instant, each place once; a negative end is no answer."""
        known = ends >= 0
        if not known.all():
            places, ends = places[known], ends[known]
        now = self._from_origin(at_ms)
        if self._left_ms >= 0 and len(places):
            if self._left_ms < at_ms:
                self.away = [*self.away[1 - MAX_AWAY :], (self._left_ms, at_ms)]
            self._left_ms = -1
        for rows, part in chunks(places):
            self._note(rows, ends[part], now)

    def note_stable(self, places: Int32s, stables: Int64s) -> None:
        """Set last stable offsets; a negative one is no answer."""
        known = stables >= 0
        self._stable[places[known]] = stables[known]

    def note_starts(
        self, places: Int32s, starts: Int64s, at_ms: Int64s | None = None, *, read_ms: int = -1
    ) -> None:
        """Set log starts, and the timestamps of the records there if they were read; negative is no answer.

        A start that moves without a timestamp loses its old one. `read_ms` is when all had been read, -1 if
        that is before all instants that are judged by them.
        """
        known = starts >= 0
        places, starts = places[known], starts[known]
        self.starts.note(places, self._start[places], starts, read_ms)
        self._start_at_ms[places[self._start[places] != starts]] = -1
        self._start[places] = starts
        if at_ms is not None:
            told = at_ms[known]
            self._start_at_ms[places[told >= 0]] = told[told >= 0]

    def note_records(self, places: Int32s, firsts: Int64s, offsets: Int64s, at_ms: Int64s) -> None:
        """Add timestamps of records, one for each place: at `offsets`, the first ones from `firsts` on."""
        self.records.note(places, firsts, offsets, at_ms)
        start = self._start[places]
        at_start = (firsts <= start) & (start <= offsets) & (at_ms >= EARLIEST_MS)
        self._start_at_ms[places[at_start]] = at_ms[at_start]

    def passed_ms(self, places: Int32s, offsets: Int64s) -> tuple[Int64s, Flags]:
        """Return when each end passed its offset, and whether two polls bracket that.

        That is when the record at the offset was written. -1 if the end has not passed it, if nothing is
        known and for a negative offset. A time without a bracket is a bound: written then or before.
        """
        times = np.empty(len(places), np.int64)
        exact = np.empty(len(places), np.bool_)
        for part in parts(len(places)):
            here = places[part]
            near = self._ends.distances(here, offsets[part])
            time, has_passed, bracketed = passed(self._ends.near, self._times, here, near)
            times[part] = np.where(has_passed, time + self._origin_ms, -1)
            exact[part] = bracketed
        for left_ms, back_ms in self.away:
            meanwhile = (times > left_ms) & (times < back_ms)
            times[meanwhile] = back_ms
            exact[meanwhile] &= back_ms - left_ms <= LONGEST_LINE_MS
        return times, exact

    def end_at(self, places: Int32s, at_ms: Int64s) -> Int64s:
        """Return each end at its instant, -1 before the oldest poll and after the newest."""
        found = np.empty(len(places), np.int64)
        for part in parts(len(places)):
            here = places[part]
            near = ended(self._ends.near, self._times, here, at_ms[part] - self._origin_ms)
            found[part] = self._ends.ends(here, near)
        return found

    def look_until(self, place: int, at_ms: int) -> tuple[int, int]:
        """Return end and time of a place's newest poll up to an instant, of the last ten; -1 for none."""
        ends, times = self._points(place, AGED)
        known = np.flatnonzero((ends >= 0) & (times <= at_ms))
        return (int(ends[known[-1]]), int(times[known[-1]])) if len(known) else (-1, -1)

    def bounds_at(self, place: int, at_ms: int) -> tuple[int, int]:
        """Return a place's ends at the polls around an instant, -1 if there was none before, or after."""
        ends, times = self._points(place)
        before, after = (ends[(ends >= 0) & there] for there in (times <= at_ms, times >= at_ms))
        return (int(before[-1]) if len(before) else -1), (int(after[0]) if len(after) else -1)

    def oldest_ms(self, places: Int32s) -> tuple[Int64s, Int64s]:
        """Return the oldest kept point of each place: its end and its time, -1 if there is none."""
        ends, times = np.empty(len(places), np.int64), np.empty(len(places), np.int64)
        for part in parts(len(places)):
            rows = places[part]
            column = (self._ends.near[:, rows] == UNKNOWN).sum(axis=0)
            found = np.minimum(column, POINTS - 1)
            ends[part] = self._ends.ends(rows, self._ends.near[found, rows])
            times[part] = np.where(column < POINTS, self._times[found, rows] + np.int64(self._origin_ms), -1)
        return ends, times

    def _points(self, place: int, first: int = 0) -> tuple[Int64s, Int64s]:
        """Return the ends and times of one place from a column on."""
        ends = self._ends.whole(np.array([place], np.int32), first)[:, 0]
        return ends, self._times[first:, place] + np.int64(self._origin_ms)

    def _note(self, rows: Rows, ends: Int64s, now: int) -> None:
        self._mend(rows, ends, now)
        newest, near = self._ends.reach(rows, ends), self._ends.near
        aged, leaving, following = (near[column, rows] for column in (AGED - 1, AGED, AGED + 1))
        ages = (leaving != UNKNOWN) & ((aged != leaving) | (leaving != following))
        times, later = self._times[AGED, rows], self._times[AGED + 1, rows]
        if ages.mean() > 0.5:  # in place is faster than leaving rows out
            self._age(rows, (leaving, times), now, where=ages)
        elif ages.any():
            self._age(places_of(rows)[ages], (leaving[ages], times[ages]), now, where=ages[ages])
        unseen = ages & (leaving != following) & (later - times > LONGEST_LINE_MS)
        if unseen.any():
            self._age(places_of(rows)[unseen], (leaving[unseen], later[unseen]), now, where=unseen[unseen])
        for column in range(AGED, POINTS - 1):
            near[column, rows] = near[column + 1, rows]
            self._times[column, rows] = self._times[column + 1, rows]
        near[-1, rows], self._ends.newest[rows] = newest, ends
        self._times[-1, rows] = now

    def _mend(self, rows: Rows, ends: Int64s, now: int) -> None:
        """Lower the history of these rows to an end that fell, and to a clock that was set back."""
        fell = ends < self._ends.newest[rows]
        if fell.any():
            places, to = places_of(rows)[fell], ends[fell]
            self._ends.lower(places, to)
            self._stable[places] = np.minimum(self._stable[places], to)
            self.records.fall(places, to)
            self.fallen += len(places)
            anew = places[to < self._start[places]]  # below the log start: another log
            self._start[anew] = self._start_at_ms[anew] = -1
            self.starts.forget(anew)
            self.fallen_below_start += len(anew)
        later = self._times[-1, rows] > now
        if later.any():
            places = places_of(rows)[later]
            self._times[:, places] = np.minimum(self._times[:, places], np.int32(now))

    def _age(self, rows: Rows, point: tuple[Int32s, Int32s], now: int, *, where: Flags) -> None:
        """Move a point of each row, the oldest of the recent polls, to the aged ones."""
        ends, times = self._ends.near[:AGED, rows], self._times[:AGED, rows]
        age(ends, times, *point, now=now, where=where)
        if not isinstance(rows, slice):  # an index array returns a copy
            self._ends.near[:AGED, rows], self._times[:AGED, rows] = ends, times

    def _from_origin(self, at_ms: int) -> int:
        """Return an instant relative to the origin, which moves to it if 32 bits are not enough."""
        at_ms = min(max(int(at_ms), 0), LAST_MS)
        away = at_ms - self._origin_ms
        if not -SPAN_MS < away < SPAN_MS:
            for column in self._times[:, : self._size]:
                column[:] = np.clip(column - np.int64(away), -SPAN_MS, SPAN_MS - 1)
            self._origin_ms = at_ms
            away = 0
        return away

    def _grow(self, needed: int) -> None:
        capacity = len(self._start)
        if needed <= capacity:
            return
        capacity = max(needed, capacity + capacity // 8)
        # One array after the other, so that at most one is in memory twice.
        self._ends.grow(capacity, self._size)
        self._times = grown(self._times, capacity, self._size)
        self._start = grown(self._start, capacity, self._size)
        self._start_at_ms = grown(self._start_at_ms, capacity, self._size)
        self._stable = grown(self._stable, capacity, self._size)
