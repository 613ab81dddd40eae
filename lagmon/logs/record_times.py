"""Timestamps of records that were written before all polls of their logs. Pure.

If a consumer is before all that `logs/heads.py` knows, its next record is read (logs/record_due.py plans,
logs/tail_reads.py reads). The result is a *mark*: read from `first` on, the first record is at `last`. A
consumer that has not read a record has not read later ones either, so a mark counts as no later than those
after it.

Timestamps are CreateTime (by a producer) or LogAppendTime (by the broker). One before the year 2000 is
ignored: it is in seconds instead of milliseconds, or missing (0 or -1). logs/time_lag.py ignores those later
than a poll at which the record existed.

At most `MOST_MARKS` of a place and `MOST_IN_ALL` are kept, 36 bytes each; `keep` drops those without a
consumer nearby.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.place_rows import parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Int32s = NDArray[np.int32]
    Longs = NDArray[np.int64]
    Rows = NDArray[np.intp]
    Flags = NDArray[np.bool_]

MOST_MARKS = 4  # of one place
MOST_IN_ALL = 100_000
EARLIEST_MS = 946_684_800_000  # 2000-01-01
NO_FACT_MS = np.iinfo(np.int64).max  # later than any poll, and so ignored


@dataclass(frozen=True, slots=True)
class Around:
    """For each consumer the mark at or before it and the next one; -1 if there is none."""

    first: Longs
    last: Longs
    at_ms: Longs
    behind_first: Longs
    behind_at_ms: Longs
    row: Rows  # of the mark at or before it
    behind_row: Rows
    full: Flags  # whether its place has no room for another mark


class RecordTimes:
    """The marks of one cluster's places."""

    def __init__(self) -> None:
        self._hold(np.zeros(0, np.int32), *(np.zeros(0, np.int64) for _ in range(3)))

    def __len__(self) -> int:
        return len(self._place)

    def note(self, places: Int32s, firsts: Longs, lasts: Longs, at_ms: Longs) -> None:
        """Add results for some places, each once: read from `firsts` on, records at `lasts`.

        A result replaces marks within it. In a full place it replaces the mark that the consumer came from,
        or else the last one.
        """
        if not len(places):
            return
        before = self.around(places, firsts)
        gone = np.isin(self._place, places[before.full & (before.row < 0)]) & self._is_last()
        gone[before.row[before.full & (before.row >= 0)]] = True
        order = np.argsort(places)
        at = np.minimum(np.searchsorted(places[order], self._place), len(places) - 1)
        within = (self._first <= lasts[order][at]) & (self._last >= firsts[order][at])
        gone |= within & (places[order][at] == self._place)
        taken = slice(0, max(0, MOST_IN_ALL - int(np.count_nonzero(~gone))))
        self._hold(
            np.concatenate((self._place[~gone], places[taken].astype(np.int32))),
            np.concatenate((self._first[~gone], firsts[taken])),
            np.concatenate((self._last[~gone], lasts[taken])),
            np.concatenate((self._told_ms[~gone], np.where(at_ms >= EARLIEST_MS, at_ms, NO_FACT_MS)[taken])),
        )

    def around(self, places: Int32s, offsets: Longs) -> Around:
        """Return the marks around each consumer."""
        count = len(self)
        begin = np.searchsorted(self._place, places, side="left")
        row, behind = np.full((2, len(places)), -1, np.intp)
        held = np.zeros(len(places), np.int8)
        for step in range(min(MOST_MARKS, count)):
            at = np.minimum(begin + step, count - 1)
            here = (begin + step < count) & (self._place[at] == places)
            passed = here & (self._first[at] <= offsets)
            row = np.where(passed, at, row)
            behind = np.where(here & ~passed & (behind < 0), at, behind)
            held += here
        return Around(
            first=_of(self._first, row),
            last=_of(self._last, row),
            at_ms=_of(self._at_ms, row),
            behind_first=_of(self._first, behind),
            behind_at_ms=_of(self._at_ms, behind),
            row=row,
            behind_row=behind,
            full=held >= MOST_MARKS,
        )

    def keep(self, places: Int32s, offsets: Longs) -> None:
        """Drop all marks except those around these consumers."""
        wanted = np.zeros(len(self), np.bool_)
        for part in parts(len(places)):
            around = self.around(places[part], offsets[part])
            for rows in (around.row, around.behind_row):
                wanted[rows[rows >= 0]] = True
        self._leave(~wanted)

    def readers(self, places: Int32s, offsets: Longs) -> NDArray[np.intp]:
        """Return the number of consumers at each mark, by `Around.row`; last: those without a mark."""
        found = np.zeros(len(self) + 1, np.intp)
        for part in parts(len(places)):
            row = self.around(places[part], offsets[part]).row
            found += np.bincount(np.where(row < 0, len(self), row), minlength=len(found))
        return found

    def forget(self, places: Int32s) -> None:
        """Forget these places."""
        if len(self):
            self._leave(np.isin(self._place, places))

    def fall(self, places: Int32s, ends: Longs) -> None:
        """Forget records that no longer exist: each of these logs now ends here."""
        if len(self):
            order = np.argsort(places)
            at = np.minimum(np.searchsorted(places[order], self._place), len(places) - 1)
            self._leave((places[order][at] == self._place) & (self._last >= ends[order][at]))

    def _leave(self, gone: Flags) -> None:
        if gone.any():
            kept = ~gone
            self._hold(self._place[kept], self._first[kept], self._last[kept], self._told_ms[kept])

    def _is_last(self) -> Flags:
        found = np.ones(len(self), np.bool_)
        found[:-1] = self._place[:-1] != self._place[1:]
        return found

    def _hold(self, place: Int32s, first: Longs, last: Longs, told_ms: Longs) -> None:
        order = np.lexsort((first, place))
        self._place, self._first = place[order], first[order]
        self._last, self._told_ms = last[order], told_ms[order]
        at_ms = self._told_ms.copy()
        for step in range(1, min(MOST_MARKS, len(at_ms))):
            behind_ms = self._told_ms[step:]
            earlier = (self._place[:-step] == self._place[step:]) & (behind_ms < at_ms[:-step])
            at_ms[:-step][earlier] = behind_ms[earlier]
        self._at_ms = at_ms  # of the oldest record from the mark on


def _of(values: Longs, rows: Rows) -> Longs:
    return np.where(rows >= 0, values[rows], -1) if len(values) else np.full(len(rows), -1, np.int64)
