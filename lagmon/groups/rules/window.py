"""Inputs of the rules: a window of commits and the position of the log, for one row and for many. Pure.

Times are epoch milliseconds, -1 if not known. `committed_ms` is by the broker's clock, all others by ours. Of
the broker's times only differences are used, except to find impossible ones.

Arrays are right-aligned: the newest commit is in the last column; missing ones, all -1, are on the left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from lagmon.groups.rules.words import STATUS_OF, Status

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Flags = NDArray[np.bool_]

Kind = TypeVar("Kind", bound=np.integer)

NEVER_BACK = (-1, -1, -1)
_BY_NUMBER = {int(reason): status for reason, status in STATUS_OF.items()}
_STATUSES = np.array(
    [_BY_NUMBER.get(number, Status.UNKNOWN) for number in range(max(STATUS_OF) + 1)], np.int8
)


@dataclass(frozen=True, slots=True)
class Window:
    """The kept commits of one group on one partition, oldest first; all three have the same length."""

    offsets: tuple[int, ...]
    committed_ms: tuple[int, ...]
    lags: tuple[int, ...]  # against the log end known at that time, -1 if none was
    # The last step back, even from before these commits: highest offset, the one after it, its commit time.
    went_back: tuple[int, int, int] = NEVER_BACK


@dataclass(frozen=True, slots=True)
class Position:
    """The position of one partition's log, and how well it and the group's commits are known.

    `head` is the end that every consumer can read, `end` the high watermark. They differ while a transaction
    is open; consumers of uncommitted records are between them, and are judged by `end` if the transaction
    hangs. `passed_ms` is when the head, not the high watermark, passed the newest committed offset or
    `readable_from`.
    """

    head: int = -1
    end: int = -1  # -1: the same as head
    head_at_ms: int = -1  # when both were read
    start: int = -1  # the log start offset
    passed_ms: int = -1
    passed_exact: bool = False  # False: it passed then or earlier
    seen_ms: int = -1  # when the newest commit was made, by our clock
    commits_read_to_ms: int = -1  # every commit up to this instant is known
    remade_ms: int = -1  # when the topic was seen to be re-created
    members: int = -1  # active members of the group
    readable_from: int = -1  # after the committed offset: no record to read before it
    others_moved_ms: int = -1  # when the partition's consumer last moved on another
    moved_ms: int = -1  # when the newest offset was first committed
    known_before: int = -1  # the newest offset before the log end was polled
    left_ms: int = -1  # last answer of the cluster before its last downtime (cluster/absence.py)
    back_ms: int = -1  # its first answer afterwards
    hangs_ms: int = -1  # since when a hanging transaction is open at the head and blocks the group
    usual_pause_ms: int = -1  # the shorter of the last two pauses of a minute or more (groups/rings.py)

    @property
    def end_read_later(self) -> bool:
        """Return whether the log's end was read after the newest commit was made."""
        return self.head_at_ms >= self.seen_ms

    @property
    def recreated(self) -> bool:
        """Return whether the topic was re-created since the newest commit."""
        return self.remade_ms > self.seen_ms


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of many rows. `offset`, `committed_ms` and `lag` are (rows, columns).

    `filled` is the number of columns of a row with a commit, `live` how many of the newest were read when
    they were made. The lags of the others were taken against a later log end; only Burrow's rules use them.
    `went_back` is (rows, 3) as in `Window`; None: steps back are only known from these commits.
    """

    offset: Longs
    committed_ms: Longs
    lag: NDArray[np.integer]
    filled: NDArray[np.integer]
    live: NDArray[np.integer]
    went_back: Longs | None = None

    def __len__(self) -> int:
        return len(self.filled)

    def row(self, index: int) -> Window:
        """Return the window of one row, without lags that were not taken live."""
        filled, live = int(self.filled[index]), int(self.live[index])
        first = self.offset.shape[1] - filled
        offsets, times, lags = (
            tuple(array[index, first:].tolist()) for array in (self.offset, self.committed_ms, self.lag)
        )
        unknown = max(0, filled - live)
        found = Window(offsets, times, (-1,) * unknown + lags[unknown:])
        if self.went_back is None:
            return found
        highest, after, at_ms = self.went_back[index].tolist()
        return replace(found, went_back=(highest, after, at_ms))


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions of many rows: each field is an array with an entry for each window."""

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
    usual_pause_ms: Longs

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
            usual_pause_ms=int(self.usual_pause_ms[index]),
        )


def columns(array: NDArray[Kind], rows: NDArray[np.integer] | slice) -> NDArray[Kind]:
    """Return some rows with columns first, so that each column is contiguous in memory."""
    return np.ascontiguousarray(array[rows].T)


def statuses(reason: NDArray[np.int8]) -> NDArray[np.int8]:
    """Return the status of each of these reasons."""
    return _STATUSES[reason]
