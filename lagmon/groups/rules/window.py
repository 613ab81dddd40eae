"""What the evaluators look at: a window of commits and where the log stands, for one row and for many. Pure.

Times are epoch milliseconds, -1 where not known. `committed_ms` is by the broker's clock, all others by ours.
Of the broker's only differences are used; it is compared with ours just to tell what is no time at all.

Arrays are right-aligned: the newest commit stands in the last column, and missing ones, -1 throughout, on
the left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from lagmon.groups.rules.words import STATUS_OF, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Flags = NDArray[np.bool_]

Kind = TypeVar("Kind", bound=np.integer)

_BY_NUMBER = {int(reason): status for reason, status in STATUS_OF.items()}
_STATUSES = np.array(
    [_BY_NUMBER.get(number, Status.UNKNOWN) for number in range(max(STATUS_OF) + 1)], np.int8
)


@dataclass(frozen=True, slots=True)
class Window:
    """The commits of one group to one partition that are kept, oldest first; all three equally long."""

    offsets: tuple[int, ...]
    committed_ms: tuple[int, ...]
    lags: tuple[int, ...]  # against the end known at that time, -1 where none was


@dataclass(frozen=True, slots=True)
class Position:
    """Where one partition's log stands, and how well that and the group's commits are known.

    `head` is the end that can be read by every consumer, `end` the high watermark. They differ while a
    transaction is open, and a consumer that reads uncommitted records stands between them; where the
    transaction hangs, it is judged by the end. `passed_ms` is
    when the head, not the high watermark, passed the newest committed offset, or `readable_from`.
    """

    head: int = -1
    end: int = -1  # -1: the same as head
    head_at_ms: int = -1  # when both were read
    start: int = -1  # the log's first offset
    passed_ms: int = -1
    passed_exact: bool = False  # False: it passed then or earlier
    seen_ms: int = -1  # when the newest commit was made, by our clock
    commits_read_to_ms: int = -1  # every commit up to this instant is known
    remade_ms: int = -1  # when the topic was seen to be made anew
    members: int = -1  # how many members of the group are active
    readable_from: int = -1  # behind the committed offset, where nothing is to be read before
    others_moved_ms: int = -1  # when who reads this was last seen to move in another partition
    moved_ms: int = -1  # when the newest offset was first committed
    known_before: int = -1  # the newest offset that was known before the end was looked at
    left_ms: int = -1  # when the cluster was last seen before its last absence (cluster/absence.py)
    back_ms: int = -1  # when it was seen again
    hangs_ms: int = -1  # since when a transaction that hangs is open at the head, where the group stands

    @property
    def end_read_later(self) -> bool:
        """Tell whether the log's end was read after the newest commit was made."""
        return self.head_at_ms >= self.seen_ms

    @property
    def recreated(self) -> bool:
        """Tell whether the topic was made anew since the newest commit."""
        return self.remade_ms > self.seen_ms


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of many rows. `offset`, `committed_ms` and `lag` are (rows, columns).

    `filled` is how many columns of a row hold a commit, `live` how many of its newest were read as they
    came: lags of the others were taken against an end that is younger than they are, and only Burrow
    believes them.
    """

    offset: Longs
    committed_ms: Longs
    lag: NDArray[np.integer]
    filled: NDArray[np.integer]
    live: NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.filled)

    def row(self, index: int) -> Window:
        """Return the window of one row, without the lags that were not taken live."""
        filled, live = int(self.filled[index]), int(self.live[index])
        first = self.offset.shape[1] - filled
        offsets, times, lags = (
            tuple(array[index, first:].tolist()) for array in (self.offset, self.committed_ms, self.lag)
        )
        unknown = max(0, filled - live)
        return Window(offsets, times, (-1,) * unknown + lags[unknown:])


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions of many rows, each field an array of as many as there are windows."""

    head: Longs
    end: Longs
    head_at_ms: Longs
    start: Longs
    passed_ms: Longs
    passed_exact: Flags
    seen_ms: Longs
    commits_read_to_ms: Longs
    remade_ms: Longs
    members: NDArray[np.integer]
    readable_from: Longs
    others_moved_ms: Longs
    moved_ms: Longs
    known_before: Longs
    left_ms: Longs
    back_ms: Longs
    hangs_ms: Longs

    def row(self, index: int) -> Position:
        """Return the position of one row."""
        return Position(
            head=int(self.head[index]),
            end=int(self.end[index]),
            head_at_ms=int(self.head_at_ms[index]),
            start=int(self.start[index]),
            passed_ms=int(self.passed_ms[index]),
            passed_exact=bool(self.passed_exact[index]),
            seen_ms=int(self.seen_ms[index]),
            commits_read_to_ms=int(self.commits_read_to_ms[index]),
            remade_ms=int(self.remade_ms[index]),
            members=int(self.members[index]),
            readable_from=int(self.readable_from[index]),
            others_moved_ms=int(self.others_moved_ms[index]),
            moved_ms=int(self.moved_ms[index]),
            known_before=int(self.known_before[index]),
            left_ms=int(self.left_ms[index]),
            back_ms=int(self.back_ms[index]),
            hangs_ms=int(self.hangs_ms[index]),
        )


def columns(array: NDArray[Kind], rows: NDArray[np.integer] | slice) -> NDArray[Kind]:
    """Return some rows with columns first, so that each column lies together in memory."""
    return np.ascontiguousarray(array[rows].T)


def statuses(reason: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the status that each of these reasons means."""
    return _STATUSES[reason]
