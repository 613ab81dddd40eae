"""Sets of numbers as ranges: which probes of a run are covered, and where its probes stand in a log. Pure."""

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
        """Return the largest number, -1 where there is none."""
        return self._lasts[-1] if self._lasts else -1

    def ranges(self) -> tuple[tuple[int, int], ...]:
        """Return (first, last) of each range in order."""
        return tuple(zip(self._firsts, self._lasts, strict=True))

    def add_range(self, first: int, last: int) -> None:
        """Put in all numbers from one to another, both included."""
        merged = Sequences((*self.ranges(), (first, last)))
        self._firsts, self._lasts = merged._firsts, merged._lasts

    def after(self, number: int) -> int:
        """Return the smallest number, from this one on, that is not in the set."""
        index = bisect_right(self._firsts, number) - 1
        return self._lasts[index] + 1 if index >= 0 and number <= self._lasts[index] else number

    def add(self, number: int) -> None:
        """Put a number in; one that is there already changes nothing."""
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
    """Where some probes of a run stand in the source's log, enough to bound the offset of any.

    Both numbers rise together. Of too many, every second one is forgotten: bounds grow looser and stay true.
    """

    __slots__ = ("_offsets", "_sequences")

    def __init__(self) -> None:
        self._sequences: list[int] = []
        self._offsets: list[int] = []

    def __len__(self) -> int:
        return len(self._sequences)

    def note(self, sequence: int, offset: int) -> None:
        """Note where a probe stands, if it is newer than all that were noted."""
        if self._sequences and sequence <= self._sequences[-1]:
            return
        if self._offsets and offset <= self._offsets[-1]:  # the log has begun anew, or lost its end
            self._sequences.clear()
            self._offsets.clear()
        self._sequences.append(sequence)
        self._offsets.append(offset)
        if len(self._sequences) > MAX_ANCHORS:
            del self._sequences[:-1:2], self._offsets[:-1:2]

    def at_least(self, sequence: int) -> int | None:
        """Return a source offset that this probe's own reaches; None where nothing is known.

        What was skipped or refused has a number and no place, so a newer one may stand right behind.
        """
        index = bisect_right(self._sequences, sequence) - 1
        if index < 0:
            return None
        return self._offsets[index] + (sequence > self._sequences[index])
