"""Which probes of one partition never came, as ranges of sequence numbers, so that an outage stays flat.

A probe that arrived is in no range: what is below the newest sequence and in no range was seen before.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from canary.books import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_RANGES = 2000


@dataclass(slots=True)
class Absent:
    """Consecutive probes that ended the same way and have not been seen downstream.

    `proved` stands only with overdue: these were outstanding and are confirmed or closed now. The source
    offsets of the first and last are kept where they are known (overdue and lost).
    """

    first: int
    last: int
    outcome: Outcome
    proved: bool = False
    first_offset: int | None = None
    last_offset: int | None = None

    @property
    def outstanding(self) -> bool:
        """Tell whether these are still waited for: overdue, neither seen nor proved absent."""
        return self.outcome is Outcome.OVERDUE and not self.proved

    def offset_at_most(self, sequence: int) -> int | None:
        """Return a source offset that the probe's own does not exceed; offsets rise at least by one."""
        if self.last_offset is None:
            return None
        return self.last_offset - (self.last - sequence)


_FIRST = attrgetter("first")


class AbsentRanges:
    """The ranges of one partition in order of sequence, neighbours of the same kind joined."""

    __slots__ = ("_ranges", "forgotten")

    def __init__(self) -> None:
        self._ranges: list[Absent] = []
        self.forgotten = 0  # ranges dropped for the sake of memory, oldest first, never outstanding ones

    def __iter__(self) -> Iterator[Absent]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def find(self, sequence: int) -> Absent | None:
        """Return the range that holds this sequence number, if one does."""
        index = bisect_right(self._ranges, sequence, key=_FIRST) - 1
        if index >= 0 and self._ranges[index].last >= sequence:
            return self._ranges[index]
        return None

    def add(self, new: Absent) -> None:
        """Put in a range that overlaps none that is there."""
        index = bisect_left(self._ranges, new.first, key=_FIRST)
        if index and _joins(self._ranges[index - 1], new):
            left = self._ranges[index - 1]
            left.last, left.last_offset = new.last, new.last_offset
            new, index = left, index - 1
        else:
            self._ranges.insert(index, new)
        if index + 1 < len(self._ranges) and _joins(new, self._ranges[index + 1]):
            right = self._ranges.pop(index + 1)
            new.last, new.last_offset = right.last, right.last_offset
        if len(self._ranges) > MAX_RANGES:
            self._forget()

    def take(self, first: int, last: int) -> list[Absent]:
        """Take these sequence numbers out of all ranges and return the parts that were there."""
        taken: list[Absent] = []
        index = max(bisect_right(self._ranges, first, key=_FIRST) - 1, 0)
        while index < len(self._ranges) and self._ranges[index].first <= last:
            held = self._ranges[index]
            if held.last < first:
                index += 1
                continue
            parts = _cut(held, first, last)
            taken.append(parts[1])
            keep = [part for part in (parts[0], parts[2]) if part is not None]
            self._ranges[index : index + 1] = keep
            index += len(keep)
        return taken

    def _forget(self) -> None:
        for index, held in enumerate(self._ranges):
            if not held.outstanding:
                del self._ranges[index]
                self.forgotten += 1
                return


def _joins(left: Absent, right: Absent) -> bool:
    return (
        left.last + 1 == right.first
        and left.outcome is right.outcome
        and left.proved is right.proved
        and (left.last_offset is None) is (right.first_offset is None)
    )


def _cut(held: Absent, first: int, last: int) -> tuple[Absent | None, Absent, Absent | None]:
    """Cut a range in three: before `first`, within, after `last`.

    Offsets at a cut are bounds: the lower end of a part takes the least, the upper end the most that
    the neighbours leave open, and what was dense stays exact.
    """
    low, high = max(held.first, first), min(held.last, last)

    def part(start: int, end: int) -> Absent:
        lower = upper = None
        if held.first_offset is not None and held.last_offset is not None:
            lower = held.first_offset + (start - held.first)
            upper = held.last_offset - (held.last - end)
        return Absent(start, end, held.outcome, held.proved, lower, upper)

    before = part(held.first, low - 1) if held.first < low else None
    after = part(high + 1, held.last) if held.last > high else None
    return before, part(low, high), after
