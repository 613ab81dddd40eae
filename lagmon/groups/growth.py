"""Whether the summed lag of all partitions of a group grows, poll by poll. Pure.

A consumer that processes partitions in batches lets the lag of each rise and fall, which hides for minutes
whether it grows. The sum over the partitions does not swing like that. So the lowest and the highest sum of
each `BLOCK_MS` are kept for every group, for nine minutes.

A group falls behind if, over the last three, six or nine minutes, cut into thirds,

- the sum was higher throughout the last third than ever in the first, and its minimum rose from third to
  third, which excludes the swing of commits, polls and batches;
- it rose by more than is written in `GROWN_MS`;
- offsets moved in at least two blocks of each third (groups that commit less often are judged commit by
  commit);

and it still grows: the minimum of the last `STILL` blocks is above that of as many before. It counts as
falling behind until the sum stops growing; earlier blocks are dropped then. A group starts again without
history if an offset is unknown, if its set of partitions changed, or if its number was reused. Partitions
whose log end was never read are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.groups.rules.sentences import instant_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Longs = NDArray[np.int64]
    Sums = NDArray[np.float64]

BLOCK_MS = 30_000
BLOCKS = 18
SPANS = (6, 12, 18)  # in blocks, each of three thirds
STILL = 4  # blocks
GROWN_MS = 10_000
AWAY_MS = 60_000  # a longer time between two polls: history is dropped
_LOW, _HIGH, _END, _OFFSET = range(4)


@dataclass(frozen=True, slots=True)
class Falling:
    """How a group falls behind: its lag at first and now, and what was written and read between."""

    since_ms: int
    before: int
    after: int
    written: int
    read: int

    @property
    def sentence(self) -> str:
        """Return the sentence of the verdict."""
        return (
            f"Group falls behind on all partitions together: lag rose from {self.before:,} at "
            f"{instant_text(self.since_ms)} to {self.after:,}. Written since: {self.written:,} records; "
            f"read: {self.read:,}."
        )


@dataclass(frozen=True, slots=True)
class GroupPart:
    """Consecutive slots of a cluster at one poll; -1 if not known."""

    first: int  # the slot of the first entry
    group: NDArray[np.integer]  # by number, -1 for a slot that is free
    generations: NDArray[np.integer]  # how often the slot was taken and freed
    seen: Flags  # whether its log was read at this poll
    end: Longs  # up to where the log can be read
    offset: Longs  # the next offset to read


class GroupGrowth:
    """Sums of every group, by its number.

    Blocks are (kind, BLOCKS, groups), the newest last, NaN if not known.
    """

    def __init__(self) -> None:
        self.falls: Flags = np.zeros(0, np.bool_)  # which groups fall behind, as of the last poll
        self._blocks = np.full((4, BLOCKS, 0), np.nan)
        self._partitions: Sums = np.zeros(0)  # a fingerprint of the partitions in the sum
        self._seen_in = np.zeros(0, np.int64)  # the number of the block with its last poll
        self._looked_ms = -1
        self._begun = 0  # how many groups had begun by the last poll

    def note(self, parts: Iterable[GroupPart], *, count: int, begun: int, now_ms: int) -> None:
        """Add the parts of one poll, which cover all slots once.

        `count` is the number of group numbers, `begun` how many groups have begun.
        """
        before_ms, self._looked_ms = self._looked_ms, now_ms
        self._begun = begun
        self._hold(count)
        if not 0 <= now_ms - before_ms <= AWAY_MS:
            self._forget(np.ones(len(self.falls), np.bool_))
        partitions, unknown_ones, unseen, lag, ends, offsets = _summed(parts, len(self.falls))
        unknown = unknown_ones > 0
        self._forget(unknown | (partitions != self._partitions))
        self._partitions = np.where(unknown, 0.0, partitions)
        block = now_ms // BLOCK_MS
        for _ in range(min(block - before_ms // BLOCK_MS, BLOCKS) if before_ms >= 0 else 0):
            self._blocks[:, :-1] = self._blocks[:, 1:]
        # If a log could not be read at this poll, the group keeps its last sums.
        seen = (partitions > 0) & ~unknown & (unseen == 0)
        newest = self._blocks[:, -1]
        new = self._seen_in != block
        low = np.where(new, lag, np.fmin(newest[_LOW], lag))
        high = np.where(new, lag, np.fmax(newest[_HIGH], lag))
        self._blocks[:, -1] = np.where(seen, (low, high, ends, offsets), newest)
        self._seen_in[seen] = block
        self._judge()

    def fallen(self, begun_as: Callable[[int], int]) -> list[int]:
        """Return the numbers of the groups that fall behind.

        `begun_as` returns the ordinal of the group that has a number now. A group that began since the last
        poll is left out: the sums under its number belong to an earlier group.
        """
        falls: list[int] = np.flatnonzero(self.falls).tolist()
        return [number for number in falls if begun_as(number) <= self._begun]

    def falling(self, number: int) -> Falling:
        """Return how a group falls behind; call it only for one that does."""
        blocks = self._blocks[:, :, number]
        first = int(np.argmax(~np.isnan(blocks[_LOW])))
        written, read = (int(blocks[what, -1] - blocks[what, first]) for what in (_END, _OFFSET))
        began_ms = (self._looked_ms // BLOCK_MS - (BLOCKS - 1 - first)) * BLOCK_MS
        return Falling(began_ms, int(blocks[_LOW, first]), int(blocks[_LOW, -1]), written, read)

    def _judge(self) -> None:
        low = self._blocks[_LOW]
        still = low[-STILL:].min(axis=0) > low[-2 * STILL : -STILL].min(axis=0)
        grown = np.zeros(len(self.falls), np.bool_)
        for span in SPANS:
            grown |= _grown(self._blocks[:, -span:])
        ended = self.falls & ~still
        self._blocks[:, :-STILL, ended] = np.nan
        self.falls = still & (self.falls | grown)

    def _forget(self, groups: Flags) -> None:
        self._blocks[:, :, groups] = np.nan
        self.falls = self.falls & ~groups

    def _hold(self, count: int) -> None:
        more = count - len(self.falls)
        if more > 0:
            self._blocks = np.concatenate((self._blocks, np.full((4, BLOCKS, more), np.nan)), axis=2)
            self._partitions = np.concatenate((self._partitions, np.zeros(more)))
            self._seen_in = np.concatenate((self._seen_in, np.full(more, -1)))
            self.falls = np.concatenate((self.falls, np.zeros(more, np.bool_)))


def _summed(parts: Iterable[GroupPart], groups: int) -> Sums:
    """Return by group: fingerprint of its partitions, unknown and unread ones, lag, log end and offset.

    Each is a sum over partitions; sums are whole numbers.
    """
    found = np.zeros((6, groups))
    for part in parts:
        here = np.flatnonzero((part.group >= 0) & (part.end >= 0))
        group, end, offset = part.group[here], part.end[here], part.offset[here]
        for row, values in enumerate(
            (
                1000.0 * (part.first + here + 1) + part.generations[here],
                offset < 0,
                ~part.seen[here],
                np.maximum(end - offset, 0),
                end,
                offset,
            )
        ):
            found[row] += np.bincount(group, weights=values, minlength=groups)
    return found


def _grown(blocks: Sums) -> Flags:
    """Return for each group whether it fell behind over these blocks; False if one is unknown."""
    third = blocks.shape[1] // 3
    lows = blocks[_LOW].reshape(3, third, -1).min(axis=1)
    swing = blocks[_HIGH, :third].max(axis=0)
    written = (blocks[_END, -1] - blocks[_END, 0]) / ((3 * third - 1) * BLOCK_MS) * GROWN_MS
    moves = np.diff(blocks[_OFFSET], axis=0, prepend=blocks[_OFFSET, :1] - 1) > 0
    often = (moves.reshape(3, third, -1).sum(axis=1) >= 2).all(axis=0)
    rose = (lows[2] > swing) & (lows[0] < lows[1]) & (lows[1] < lows[2]) & (lows[2] - lows[0] > written)
    found: Flags = rose & often
    return found
