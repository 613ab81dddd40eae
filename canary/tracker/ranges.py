"""Probes of one partition that never arrived, as ranges, so that an outage needs constant memory.

A probe that arrived is in no range. The number of ranges is bounded. The oldest ended ranges are forgotten; a
record that arrives later still counts as duplicated. Outstanding ranges are never forgotten: the two oldest
merge into one with holes, which keeps the count exact and the sequence numbers approximate.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from canary.tracker.counters import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_RANGES = 2000


AbsentRow = tuple[int, int, str, bool, int | None, int | None, int, int, int]
MINUTE_MS = 60_000
_UNEVEN = 0.5  # ranges whose spacing differs by more than this share are not merged


@dataclass(slots=True)
class Absent:
    """Consecutive probes that ended the same way and were not read on the target.

    `proved` is only set for overdue probes: they were outstanding and are confirmed now. Source offsets,
    scheduled instants (monotonic nanoseconds) and the same on the wall clock (epoch milliseconds) are those
    of the first and the last probe; an unknown offset is None. The others are evenly spaced. `holes` is the
    count of sequence numbers in between that are not part of the range.
    """

    first: int
    last: int
    outcome: Outcome
    proved: bool = False
    first_offset: int | None = None
    last_offset: int | None = None
    first_ns: int = 0
    last_ns: int = 0
    first_due_ms: int = 0
    last_due_ms: int = 0
    holes: int = 0

    def row(self) -> AbsentRow:
        """Return plain values, without instants that another process cannot use."""
        return (
            self.first,
            self.last,
            self.outcome.value,
            self.proved,
            self.first_offset,
            self.last_offset,
            self.first_due_ms,
            self.last_due_ms,
            self.holes,
        )

    @classmethod
    def of_row(cls, row: AbsentRow, *, due_ns: int) -> Absent:
        """Return the range of these values, due at that instant of this process's clock."""
        first, last, outcome, proved, first_offset, last_offset, first_due_ms, last_due_ms, holes = row
        return cls(
            first,
            last,
            Outcome(outcome),
            proved,
            first_offset,
            last_offset,
            due_ns,
            due_ns,
            first_due_ms,
            last_due_ms,
            holes,
        )

    @property
    def count(self) -> int:
        """Return the number of probes."""
        return self.last - self.first + 1 - self.holes

    @property
    def outstanding(self) -> bool:
        """Return whether these may still arrive: overdue and not proved absent."""
        return self.outcome is Outcome.OVERDUE and not self.proved

    def offset_at_most(self, sequence: int) -> int | None:
        """Return an upper bound of the probe's source offset; offsets rise at least by one."""
        if self.last_offset is None:
            return None
        return self.last_offset - max(0, self.last - sequence - self.holes)

    def offset_at_least(self, sequence: int) -> int | None:
        """Return a lower bound of the probe's source offset."""
        if self.first_offset is None:
            return None
        return self.first_offset + max(0, sequence - self.first - self.holes)

    def last_below(self, offset: int) -> int:
        """Return the last sequence number whose probe is certainly before this source offset.

        Less than `first` if there is none.
        """
        if self.last_offset is None:
            return self.first - 1
        beyond = self.last_offset - offset + 1
        return self.last if beyond <= 0 else self.last - self.holes - beyond

    def scheduled_ns(self, sequence: int) -> int:
        """Return when this probe was due, by the even spacing of the schedule."""
        return self._between(self.first_ns, self.last_ns, sequence)

    def due_at_ms(self, sequence: int) -> int:
        """Return the same on the wall clock."""
        return self._between(self.first_due_ms, self.last_due_ms, sequence)

    def by_minute(self) -> list[tuple[int, int]]:
        """Return (minute since the epoch, probes due in it), with holes spread evenly."""
        steps, span_ms = self.last - self.first, self.last_due_ms - self.first_due_ms
        first, last = self.first_due_ms // MINUTE_MS, self.last_due_ms // MINUTE_MS
        if span_ms <= 0 or first == last:
            return [(first, self.count)]
        rows, given = [], 0
        for minute in range(first, last + 1):
            # The numbers due before the end of the minute: those i with i * span / steps below it.
            ends_ms = (minute + 1) * MINUTE_MS - self.first_due_ms
            before = steps + 1 if minute == last else -(-ends_ms * steps // span_ms)
            until = before * self.count // (steps + 1)
            if until > given:
                rows.append((minute, until - given))
                given = until
        return rows

    def extend(self, other: Absent) -> None:
        """Append a later range; the numbers between become holes."""
        self.holes += other.first - self.last - 1 + other.holes
        self.last, self.last_offset, self.last_ns = other.last, other.last_offset, other.last_ns
        self.last_due_ms = other.last_due_ms

    def _between(self, first: int, last: int, sequence: int) -> int:
        if self.last == self.first:
            return first
        return first + (last - first) * (sequence - self.first) // (self.last - self.first)


_FIRST = attrgetter("first")


class AbsentRanges:
    """Ranges of one partition in order of sequence; equal neighbours are merged.

    Outstanding and ended ranges are in separate objects.
    """

    __slots__ = ("_ranges",)

    def __init__(self) -> None:
        self._ranges: list[Absent] = []

    def __iter__(self) -> Iterator[Absent]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    @property
    def oldest(self) -> Absent | None:
        """Return the range with the lowest sequence numbers."""
        return self._ranges[0] if self._ranges else None

    def add(self, new: Absent) -> None:
        """Add a range that overlaps no other."""
        index = bisect_left(self._ranges, new.first, key=_FIRST)
        if index and _joins(self._ranges[index - 1], new):
            index -= 1
            self._ranges[index].extend(new)
        else:
            self._ranges.insert(index, new)
        if index + 1 < len(self._ranges) and _joins(self._ranges[index], self._ranges[index + 1]):
            self._ranges[index].extend(self._ranges.pop(index + 1))
        if len(self._ranges) > MAX_RANGES:
            self._shorten()

    def forget_offsets(self) -> None:
        """Forget the source offsets of all ranges."""
        for held in self._ranges:
            held.first_offset = held.last_offset = None

    def find(self, sequence: int) -> Absent | None:
        """Return the range with this sequence number."""
        index = bisect_right(self._ranges, sequence, key=_FIRST) - 1
        return self._ranges[index] if index >= 0 and sequence <= self._ranges[index].last else None

    def take(self, first: int, last: int) -> list[Absent]:
        """Remove these sequence numbers and return the removed parts."""
        taken: list[Absent] = []
        index = max(bisect_right(self._ranges, first, key=_FIRST) - 1, 0)
        while index < len(self._ranges) and self._ranges[index].first <= last:
            held = self._ranges[index]
            if held.last < first:
                index += 1
                continue
            before, within, after = _cut(held, first, last)
            taken += [within] if within is not None else []
            keep = [part for part in (before, after) if part is not None]
            self._ranges[index : index + 1] = keep
            index += len(keep)
        return taken

    def _shorten(self) -> None:
        if self._ranges[0].outstanding:
            self._ranges[0].extend(self._ranges.pop(1))
        else:
            del self._ranges[0]


def _joins(left: Absent, right: Absent) -> bool:
    return (
        left.last + 1 == right.first
        and left.outcome is right.outcome
        and left.proved is right.proved
        and (left.last_offset is None) is (right.first_offset is None)
        and _evenly_spaced(left, right)
    )


def _evenly_spaced(left: Absent, right: Absent) -> bool:
    """Return whether the step between them is about as long as the steps within them."""
    step_ms = right.first_due_ms - left.last_due_ms
    for held in (left, right):
        steps = held.last - held.first
        if steps:
            usual_ms = (held.last_due_ms - held.first_due_ms) / steps
            if abs(step_ms - usual_ms) > _UNEVEN * usual_ms + 1:
                return False
    return True


def _cut(held: Absent, first: int, last: int) -> tuple[Absent | None, Absent | None, Absent | None]:
    """Cut a range in three: before `first`, within, after `last`; a part without a probe is None.

    Offsets at a cut are bounds: the lower end of a part takes the smallest, the upper end the largest that
    the neighbours allow; dense parts stay exact. Holes are spread evenly.
    """
    low, high = max(held.first, first), min(held.last, last)
    spans = (low - held.first, high - low + 1, held.last - high)
    counts = _deal(held.count, spans)
    edges = ((held.first, low - 1), (low, high), (high + 1, held.last))
    parts = [
        Absent(
            start,
            end,
            held.outcome,
            held.proved,
            held.offset_at_least(start),
            held.offset_at_most(end),
            held.scheduled_ns(start),
            held.scheduled_ns(end),
            held.due_at_ms(start),
            held.due_at_ms(end),
            span - count,
        )
        if count
        else None
        for (start, end), span, count in zip(edges, spans, counts, strict=True)
    ]
    return parts[0], parts[1], parts[2]


def _deal(count: int, spans: tuple[int, int, int]) -> tuple[int, int, int]:
    """Spread `count` probes over three spans, at least one in the middle, none more than it holds."""
    before, within, after = spans
    outside = before + after
    middle = max(1, count - outside, min(within, count * within // (outside + within)))
    left = count - middle
    start = max(left - after, left * before // outside) if outside else 0
    return start, middle, left - start
