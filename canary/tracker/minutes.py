"""The rows of a flow by the minute in which its probes were due: what reports are made of. Pure.

A row counts covered probes only, that is those that have their outcome, and what became of them since. Rows
are told whole whenever they change, never as differences: writing one twice does no harm.

A minute stays in memory as long as something of it may still change. Old ones that are alike are kept as one,
so that an outage of a week takes no more room than one of an hour. Where they are many and not alike, the
oldest are let go of; what becomes of their probes later is counted in the next minute that is left.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from canary.tracker.books import Counted
from canary.tracker.sequences import Sequences

if TYPE_CHECKING:
    from canary.tracker.books import Flag, Outcome

MAX_SPANS = 2000
NEAR_MINUTES = 720  # a step over more is one of the clock, and leaves what it steps over
RECENT_MINUTES = 5  # kept one by one, however quiet they are
COLUMNS = tuple(field.name for field in fields(Counted))
COUNTED_FLAGS = frozenset({"recovered", "confirmed", "closed", "returned"})


@dataclass(slots=True)
class _Span:
    """Consecutive minutes whose rows are alike."""

    first: int
    last: int
    numbers: tuple[int, ...]


class Minutes:
    """The rows of one incarnation's probes of one flow, minutes counted from the epoch."""

    __slots__ = ("_changed", "_dropped", "_open", "_spans")

    def __init__(self, first: int = 0) -> None:
        """Begin with no rows; what belongs to a minute before `first` is counted in that one."""
        self._open: dict[int, Counted] = {}
        self._spans: list[_Span] = []  # in order
        # What was let go of: none of it can be written whole any more. Clocks are set back, hence a set.
        self._dropped = Sequences([(0, first - 1)] if first else ())
        self._changed: set[int] = set()

    def __len__(self) -> int:
        return len(self._open) + len(self._spans) + len(self._changed)

    def conclude(self, minute: int, outcome: Outcome, *, settled: bool) -> None:
        """Count a probe that has its outcome."""
        row = self._row(minute)
        row.expected += 1
        row.settled += settled
        setattr(row, outcome, getattr(row, outcome) + 1)

    def flag(self, minute: int, flag: Flag, count: int) -> None:
        """Count what became of probes that were counted before."""
        row = self._row(minute)
        setattr(row, flag, getattr(row, flag) + count)

    def changed(self) -> dict[int, tuple[int, ...]]:
        """Return the rows that changed since the last call, whole, in the order of `COLUMNS`."""
        rows = {minute: _numbers(self._open[minute]) for minute in self._changed}
        self._changed.clear()
        return rows

    def tidy(self, now_minute: int, open_since: int | None) -> None:
        """Put old rows together, and let go of those of which nothing can change any more.

        `open_since` is the minute of the oldest probe that is in flight or outstanding. To be called after
        `changed`: what is let go of has been told.
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
        """Let go of minutes, and of those without a row before them, so that it stays one range or few."""
        newest = self._dropped.newest
        self._dropped.add_range(newest + 1 if 0 <= first - newest <= NEAR_MINUTES else first, last)

    def _row(self, minute: int) -> Counted:
        row = self._open.get(minute)
        if row is None:
            # What is told of a minute that was let go of stands in the next that can still be written.
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
        """Return the row of a minute to be changed, out of its span where it is kept in one."""
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
