"""Records whose timestamps to read: those before which consumers are, older than all polls of the log. Pure.

A consumer is a group or a mirror at an offset. Its next record is read if no two polls bracket its time and
no mark (logs/record_times.py) covers it. It is read again only after the consumer has left the stretch of its
mark: an eighth of the way to the next known point. So a consumer that works off a backlog causes some tens of
reads in total. At most `MOST` places are read at a time, the largest lag first, each not again within
`AGAIN_MS`.

Consumers shortly before the end are left to the tail checks (logs/readable.py), which return timestamps too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.logs.readable import MOST_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from numpy.typing import NDArray

    from lagmon.logs.heads import Heads
    from lagmon.logs.record_times import Around

    Int32s = NDArray[np.int32]
    Longs = NDArray[np.int64]
    Flags = NDArray[np.bool_]
    Rows = NDArray[np.intp]

MOST = 100  # places at a time
AGAIN_MS = 60_000
STALE_MS = 60_000  # a log whose end was not read for this long would not answer
WAY = 8  # part of the stretch after which a consumer has left its mark


@dataclass(frozen=True, slots=True)
class RecordReaders:
    """Consumers of one cluster whose records may be read, an entry each."""

    places: Int32s
    offsets: Longs  # the next offset to read
    to_end: bool = False  # also shortly before the end, where no tail check is made


class RecordDue:
    """Which places were read recently."""

    def __init__(self) -> None:
        self._asked_ms: dict[int, int] = {}

    def due(
        self, readers: Iterable[RecordReaders], heads: Heads, *, now_ms: int, without: Collection[int] = ()
    ) -> list[tuple[int, int]]:
        """Return place and offset to read, and drop marks without a consumer nearby.

        `without` are places that cannot be read.
        """
        self._asked_ms = {place: at for place, at in self._asked_ms.items() if 0 <= now_ms - at < AGAIN_MS}
        places, offsets, left, may = _before_all_looks(readers, heads, now_ms)
        records = heads.records
        if len(records):
            records.keep(places, offsets)
        if not may.any():
            return []
        there = records.readers(places, offsets)
        places, offsets, left = places[may], offsets[may], left[may]
        wanted = _has_left(records.around(places, offsets), heads, places, offsets, there)
        for out in (self._asked_ms.keys(), without):
            wanted &= ~np.isin(places, np.fromiter(out, np.int64, len(out)))
        rows = np.flatnonzero(wanted)
        rows = rows[np.argsort(-left[rows], kind="stable")]
        _, foremost = np.unique(places[rows], return_index=True)
        chosen = rows[np.sort(foremost)][:MOST]
        self._asked_ms |= dict.fromkeys(places[chosen].tolist(), now_ms)
        return list(zip(places[chosen].tolist(), offsets[chosen].tolist(), strict=True))


def _before_all_looks(
    readers: Iterable[RecordReaders], heads: Heads, now_ms: int
) -> tuple[Int32s, Longs, Longs, Flags]:
    """Return consumers with lag whose next record no two polls bracket.

    Also how many offsets each has left, and whether it may be read. If its next records are deleted, it is at
    the log start.
    """
    none = np.zeros(0, np.int64)
    found = [(np.zeros(0, np.int32), none, none, np.zeros(0, np.bool_))]
    fresh = heads.sampled_ms > now_ms - STALE_MS
    for one in readers:
        places = one.places
        offsets = np.maximum(one.offsets, heads.start[places])
        left = heads.head(places) - offsets
        oldest_recent = heads.oldest_recent(places)
        # Records from within the last ten polls are bracketed, so few of many are left to search for. Records
        # from a downtime of ours become older than these ten polls later.
        old = (one.offsets >= 0) & (left > 0) & ((oldest_recent < 0) | (offsets < oldest_recent))
        rows = np.flatnonzero(old & fresh[places])
        passed_ms, exact = heads.passed_ms(places[rows], offsets[rows])
        rows = rows[(passed_ms >= 0) & ~exact]
        may = (left[rows] > MOST_OFFSETS) | one.to_end
        found.append((places[rows], offsets[rows], left[rows], may))
    every_place, every_offset, every_left, every_may = zip(*found, strict=True)
    return (
        np.concatenate(every_place),
        np.concatenate(every_offset),
        np.concatenate(every_left),
        np.concatenate(every_may),
    )


def _has_left(around: Around, heads: Heads, places: Int32s, offsets: Longs, there: Rows) -> Flags:
    """Return which consumers no mark covers; `there` is the number of consumers at each mark.

    If a place is full, a consumer that shares its mark keeps it: otherwise they would replace each other's.
    """
    oldest_end, _ = heads.oldest_ms(places)
    next_point = np.where(offsets < oldest_end, oldest_end, heads.end[places])
    next_point = np.where(around.behind_first >= 0, np.minimum(around.behind_first, next_point), next_point)
    apart = offsets - around.last
    without = around.row < 0
    has_left: Flags = (apart > 0) & (apart > (next_point - around.last) // WAY)
    has_left &= ~around.full | (there[around.row] == 1)
    return without | has_left
