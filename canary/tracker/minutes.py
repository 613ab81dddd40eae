"""Counters of a flow by the minute in which its probes were due; reports use them. Pure.

A row counts covered probes only, which have their outcome, and later changes to them. Rows
are returned whole when they change, not as differences, so writing one twice is harmless.

A minute stays in memory as long as it may change. Old equal minutes share one entry,
so an outage of a week needs no more memory than one of an hour. If there are too many, the
oldest are dropped; later changes to their probes count in the next minute that is left.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from canary.tracker.counters import Counted
from canary.tracker.sequences import Sequences

if TYPE_CHECKING:
    from canary.tracker.counters import Flag, Outcome

MAX_SPANS = 2000
NEAR_MINUTES = 720  # a larger step is a clock change, and skips the minutes between
RECENT_MINUTES = 5  # kept separately
COLUMNS = tuple(field.name for field in fields(Counted))
COUNTED_FLAGS = frozenset({"recovered", "confirmed", "closed", "returned"})


@dataclass(slots=True)
class _Span:
    """Consecutive minutes with equal rows."""

    first: int
    last: int
    numbers: tuple[int, ...]


class Minutes:
    """The rows of one incarnation's probes of one flow, minutes counted from the epoch."""

    __slots__ = ("_changed", "_dropped", "_open", "_spans")

    def __init__(self, first: int = 0) -> None:
        """Start without rows; minutes before `first` count in `first`."""
        self._open: dict[int, Counted] = {}
        self._spans: list[_Span] = []  # in order
        # Dropped minutes, which cannot be written whole any more. A set, because clocks are set back.
        self._dropped = Sequences([(0, first - 1)] if first else ())
        self._changed: set[int] = set()

    def __len__(self) -> int:
        return len(self._open) + len(self._spans) + len(self._changed)

    def conclude(self, minute: int, outcome: Outcome, *, settled: bool) -> None:
        """Count a probe with an outcome."""
        row = self._row(minute)
        row.expected += 1
        row.settled += settled
        setattr(row, outcome, getattr(row, outcome) + 1)

    def flag(self, minute: int, flag: Flag, count: int) -> None:
        """Count a change to probes that were counted before."""
        row = self._row(minute)
        setattr(row, flag, getattr(row, flag) + count)

    def changed(self) -> dict[int, tuple[int, ...]]:
        """Return the rows that changed since the last call, in the order of `COLUMNS`."""
        rows = {minute: _numbers(self._open[minute]) for minute in self._changed}
        self._changed.clear()
        return rows

    def tidy(self, now_minute: int, open_since: int | None) -> None:
        """Merge old rows, and drop those that cannot change any more.

        `open_since` is the minute of the oldest probe that is in flight or outstanding. To be called after
        `changed`, so that no change of a dropped row is missed.
        """
        old = sorted(minute for minute in self._open if minute < now_minute - RECENT_MINUTES)
        gone_before = now_minute if open_since is None else open_since
        for minute in old:
            row = self._open.pop(minute)
            if minute >= gone_before:
                self._keep(minute, _numbers(row))
            else:
                self._drop(minute, minute)
        until = min(gone_before, now_minute - RECENT_MINUTES)
        while self._spans and (self._spans[0].last < until or len(self._spans) > MAX_SPANS):
            span = self._spans.pop(0)
            self._drop(span.first, span.last)

    def _drop(self, first: int, last: int) -> None:
        """Drop minutes, and the empty ones before them, so that the set has few ranges."""
        newest = self._dropped.newest
        self._dropped.add_range(newest + 1 if 0 <= first - newest <= NEAR_MINUTES else first, last)

    def _row(self, minute: int) -> Counted:
        row = self._open.get(minute)
        if row is None:
            # A change to a dropped minute counts in the next one that can be written.
            minute = self._dropped.after(minute)
            row = self._open.get(minute)
            if row is None:
                row = self._open[minute] = self._take(minute)
        self._changed.add(minute)
        return row

    def _keep(self, minute: int, numbers: tuple[int, ...]) -> None:
        index = bisect_right(self._spans, minute, key=_first)
        if index and self._spans[index - 1].last == minute - 1 and self._spans[index - 1].numbers == numbers:
            index -= 1
            self._spans[index].last = minute
        else:
            self._spans.insert(index, _Span(minute, minute, numbers))
        if index + 1 < len(self._spans):
            held, after = self._spans[index], self._spans[index + 1]
            if after.first == minute + 1 and after.numbers == numbers:
                held.last = after.last
                del self._spans[index + 1]

    def _take(self, minute: int) -> Counted:
        """Return the row of a minute for a change, split from its span."""
        index = bisect_right(self._spans, minute, key=_first) - 1
        if index < 0 or self._spans[index].last < minute:
            return Counted()
        held = self._spans[index]
        parts = [_Span(held.first, minute - 1, held.numbers), _Span(minute + 1, held.last, held.numbers)]
        self._spans[index : index + 1] = [part for part in parts if part.first <= part.last]
        return Counted(*held.numbers)


def _numbers(row: Counted) -> tuple[int, ...]:
    return tuple(getattr(row, name) for name in COLUMNS)


def _first(span: _Span) -> int:
    return span.first
