"""Sets of numbers as ranges, and bounds of a run's offsets. Pure."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_ANCHORS = 64


class Sequences:
    """A set of sequence numbers that has few gaps, kept as sorted ranges that never touch."""

    __slots__ = ("_firsts", "_lasts")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in sorted(ranges):
            if self._lasts and first <= self._lasts[-1] + 1:
                self._lasts[-1] = max(self._lasts[-1], last)
            else:
                self._firsts.append(first)
                self._lasts.append(last)

    def __contains__(self, number: int) -> bool:
        index = bisect_right(self._firsts, number) - 1
        return index >= 0 and number <= self._lasts[index]

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self.ranges())

    @property
    def newest(self) -> int:
        """Return the largest number, -1 for an empty set."""
        return self._lasts[-1] if self._lasts else -1

    def ranges(self) -> tuple[tuple[int, int], ...]:
        """Return (first, last) of each range in order."""
        return tuple(zip(self._firsts, self._lasts, strict=True))

    def add_range(self, first: int, last: int) -> None:
        """Add all numbers from one to another, both included."""
        merged = Sequences((*self.ranges(), (first, last)))
        self._firsts, self._lasts = merged._firsts, merged._lasts

    def after(self, number: int) -> int:
        """Return the smallest number, from this one on, that is not in the set."""
        index = bisect_right(self._firsts, number) - 1
        return self._lasts[index] + 1 if index >= 0 and number <= self._lasts[index] else number

    def add(self, number: int) -> None:
        """Add a number."""
        firsts, lasts = self._firsts, self._lasts
        if lasts and number == lasts[-1] + 1:
            lasts[-1] = number
            return
        index = bisect_right(firsts, number)
        if index and number <= lasts[index - 1]:
            return
        after = index < len(firsts) and firsts[index] == number + 1
        before = index > 0 and lasts[index - 1] == number - 1
        if before and after:
            lasts[index - 1] = lasts[index]
            del firsts[index], lasts[index]
        elif before:
            lasts[index - 1] = number
        elif after:
            firsts[index] = number
        else:
            firsts.insert(index, number)
            lasts.insert(index, number)


class Anchors:
    """Source offsets of some probes of a run, to bound the offset of any other.

    Both numbers rise together. If there are too many, every second one is dropped: bounds stay true.
    """

    __slots__ = ("_offsets", "_sequences")

    def __init__(self) -> None:
        self._sequences: list[int] = []
        self._offsets: list[int] = []

    def __len__(self) -> int:
        return len(self._sequences)

    def note(self, sequence: int, offset: int) -> None:
        """Note the offset of a probe, if it is newer than all others."""
        if self._sequences and sequence <= self._sequences[-1]:
            return
        if self._offsets and offset <= self._offsets[-1]:  # the log was reset, or lost its end
            self._sequences.clear()
            self._offsets.clear()
        self._sequences.append(sequence)
        self._offsets.append(offset)
        if len(self._sequences) > MAX_ANCHORS:
            del self._sequences[:-1:2], self._offsets[:-1:2]

    def at_least(self, sequence: int) -> int | None:
        """Return a lower bound of this probe's source offset, or None.

        Skipped and refused probes have a number and no offset, so a newer one may follow directly.
        """
        index = bisect_right(self._sequences, sequence) - 1
        if index < 0:
            return None
        return self._offsets[index] + (sequence > self._sequences[index])
