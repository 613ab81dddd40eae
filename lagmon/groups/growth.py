"""Whether groups fall behind with all of their partitions together, by what is seen at each look. Pure.

A member that reads its partitions in turns lets each of them wait, and reads it off again: the lag of one
is a saw whose teeth hide for minutes whether it grows. Their sum has no teeth, as what one waits for another
gets. So of each group the sum is kept: the lowest and the highest of each `BLOCK_MS`, for nine minutes.

A group falls behind where over the last three, six or nine minutes, cut into thirds,

- the sum was higher throughout the last third than ever in the first, and its lowest rose from third to
  third: what commits, looks and batches make it swing by is outgrown, however much that is;
- it rose by more than is written in `GROWN_MS`;
- offsets moved in at least two blocks of each third: who commits more rarely is judged by each commit;

and it still grows: the lowest of the last `STILL` blocks is above that of as many before. Then it falls
behind for as long as it still grows, until the sum holds or falls; what was before that counts no more. A
group of which a position is not known, or of other partitions than before, begins anew; so does one that
was given the number of another. A partition whose end was never read, as of a topic that has none of its
number, is not among them.
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
AWAY_MS = 60_000  # between two looks: longer ones tell nothing of what was between
_LOW, _HIGH, _END, _OFFSET = range(4)


@dataclass(frozen=True, slots=True)
class Falling:
    """How a group falls behind: its lag at first and lately, and what was written and read between."""

    since_ms: int
    before: int
    after: int
    written: int
    read: int

    @property
    def sentence(self) -> str:
        """Return why, for people."""
        return (
            f"Group falls behind on all partitions together: lag rose from {self.before:,} at "
            f"{instant_text(self.since_ms)} to {self.after:,}. Written since: {self.written:,} records; "
            f"read: {self.read:,}."
        )


@dataclass(frozen=True, slots=True)
class Look:
    """Where slots of a cluster stand that follow each other: -1 where that is not known."""

    first: int  # the slot of the first entry
    group: NDArray[np.integer]  # by number, -1 for a slot that is free
    turns: NDArray[np.integer]  # how often it was given out and back
    seen: Flags  # whether its log was read at this look
    end: Longs  # up to where it can be read
    offset: Longs  # the next to be read


class GroupGrowth:
    """Sums of every group, by its number.

    Blocks are (what, BLOCKS, groups), the newest last, NaN where not known.
    """

    def __init__(self) -> None:
        self.falls: Flags = np.zeros(0, np.bool_)  # which groups fall behind, as of the last look
        self._blocks = np.full((4, BLOCKS, 0), np.nan)
        self._partitions: Sums = np.zeros(0)  # a number for those that a sum is made of
        self._seen_in = np.zeros(0, np.int64)  # the number of the block in which it was seen last
        self._looked_ms = -1
        self._begun = 0  # how many groups had begun by the last look

    def note(self, looks: Iterable[Look], *, count: int, begun: int, now_ms: int) -> None:
        """Take in looks at an instant, which are of all slots once: so that few are held at once.

        There are so many numbers of groups, and so many have begun.
        """
        before_ms, self._looked_ms = self._looked_ms, now_ms
        self._begun = begun
        self._hold(count)
        if not 0 <= now_ms - before_ms <= AWAY_MS:
            self._forget(np.ones(len(self.falls), np.bool_))
        partitions, unknown_ones, unseen, lag, ends, offsets = _summed(looks, len(self.falls))
        unknown = unknown_ones > 0
        self._forget(unknown | (partitions != self._partitions))
        self._partitions = np.where(unknown, 0.0, partitions)
        block = now_ms // BLOCK_MS
        for _ in range(min(block - before_ms // BLOCK_MS, BLOCKS) if before_ms >= 0 else 0):
            self._blocks[:, :-1] = self._blocks[:, 1:]
        # Where a log could not be read at this look, what was known of the group stands.
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

        `begun_as` tells the how-manyth group to begin has a number: of one that began since the last look,
        nothing is known, and what is kept by its number is another one's.
        """
        falls: list[int] = np.flatnonzero(self.falls).tolist()
        return [number for number in falls if begun_as(number) <= self._begun]

    def falling(self, number: int) -> Falling:
        """Return how a group falls behind; of one that does."""
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


def _summed(looks: Iterable[Look], groups: int) -> Sums:
    """Sum up by group what its partitions are, how many are not known, or not seen, and what each tells.

    That is how much it has left, where it ends, and where the group stands. Sums are of whole numbers.
    """
    found = np.zeros((6, groups))
    for look in looks:
        here = np.flatnonzero((look.group >= 0) & (look.end >= 0))
        group, end, offset = look.group[here], look.end[here], look.offset[here]
        for row, values in enumerate(
            (
                1000.0 * (look.first + here + 1) + look.turns[here],
                offset < 0,
                ~look.seen[here],
                np.maximum(end - offset, 0),
                end,
                offset,
            )
        ):
            found[row] += np.bincount(group, weights=values, minlength=groups)
    return found


def _grown(blocks: Sums) -> Flags:
    """Tell of each group whether it fell behind over these blocks; where one is not known, it did not."""
    third = blocks.shape[1] // 3
    lows = blocks[_LOW].reshape(3, third, -1).min(axis=1)
    swing = blocks[_HIGH, :third].max(axis=0)
    written = (blocks[_END, -1] - blocks[_END, 0]) / ((3 * third - 1) * BLOCK_MS) * GROWN_MS
    moves = np.diff(blocks[_OFFSET], axis=0, prepend=blocks[_OFFSET, :1] - 1) > 0
    often = (moves.reshape(3, third, -1).sum(axis=1) >= 2).all(axis=0)
    rose = (lows[2] > swing) & (lows[0] < lows[1]) & (lows[1] < lows[2]) & (lows[2] - lows[0] > written)
    found: Flags = rose & often
    return found
