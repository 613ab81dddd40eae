"""The cuts and runs of a partition, and the delta between target and source offsets. Pure.

*Cuts* are pairs of offsets that belong together: both ends of the ranges, and the segments between them.
Records between two cuts of the source are replicated between the same two cuts of the target, so a *block*
between cuts can be compared by itself. Within a run the delta is exact; between two cuts it lies between the
deltas at them, if MirrorMaker only lost or only repeated records there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

from checksum.digest.cell_rows import Side
from checksum.plan.shape import OffsetRange

if TYPE_CHECKING:
    from checksum.plan.shape import PartitionPlan, Run


class Block(NamedTuple):
    """Offsets between two cuts, on both sides."""

    source: OffsetRange
    target: OffsetRange


class Distances:
    """The cuts and runs of one partition, by offset."""

    __slots__ = ("_cuts", "_runs", "_starts")

    def __init__(self, partition: PartitionPlan) -> None:
        self._cuts = _cuts(partition)
        self._starts = {
            Side.SOURCE: [source for source, _ in self._cuts],
            Side.TARGET: [target for _, target in self._cuts],
        }
        self._runs = sorted(partition.runs, key=lambda run: run.first)

    def block(self, held: OffsetRange, side: Side) -> Block:
        """Return the smallest block that holds these offsets of a side."""
        starts = self._starts[side]
        first = max(bisect_right(starts, held.first) - 1, 0)
        last = min(bisect_left(starts, held.until), len(starts) - 1)
        (source, target), (source_until, target_until) = self._cuts[first], self._cuts[last]
        return Block(OffsetRange(source, source_until), OffsetRange(target, target_until))

    def runs_in(self, held: OffsetRange, side: Side) -> list[Run]:
        """Return the parts of runs within offsets of a side, each in source offsets."""
        found: list[Run] = []
        for run in self._runs:
            moved_by = 0 if side is Side.SOURCE else run.delta
            first, until = max(run.first, held.first - moved_by), min(run.until, held.until - moved_by)
            if first < until:
                found.append(type(run)(first, until, run.delta))
        return found

    def bracket(self, held: OffsetRange, side: Side) -> tuple[int, int]:
        """Return the smallest and the largest likely delta at offsets of a side."""
        runs = self.runs_in(held, side)
        if sum(run.until - run.first for run in runs) == held.span:
            deltas = [run.delta for run in runs]
        else:
            starts = self._starts[side]
            first = max(bisect_right(starts, held.first) - 1, 0)
            last = min(bisect_left(starts, held.until), len(starts) - 1)
            deltas = [target - source for source, target in self._cuts[first : last + 1]]
            deltas += [run.delta for run in runs]
        return min(deltas), max(deltas)

    def floor(self, source_start: int, target_start: int) -> tuple[int, int]:
        """Return the first offsets of source and target from which both logs still hold what is compared.

        `source_start` and `target_start` are the log start offsets now.
        """
        for source, target in self._cuts:
            if source >= source_start and target >= target_start:
                return source, target
        return self._cuts[-1]


def _cuts(partition: PartitionPlan) -> list[tuple[int, int]]:
    """Return the cuts in order; an anchor that does not rise on both sides is skipped."""
    found = [(partition.source.first, partition.target.first)]
    end = (partition.source.until, partition.target.until)
    for source, target in partition.segments:
        if found[-1][0] < source < end[0] and found[-1][1] < target < end[1]:
            found.append((source, target))
    if end != found[-1]:
        found.append(end)
    return found
