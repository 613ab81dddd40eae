"""How far a mirror is by its offset syncs, without other sources (`lag_from: offset-syncs`). Pure.

A sync is exact: the record at `upstream` was replicated when it was written. Between two syncs the target's
log end adds an estimate: as many records as it has after `downstream` were replicated since, so at least as
many source offsets passed. It is exact if downstream - upstream is constant, and a lower bound if that falls
(markers and compacted offsets of the source have no record on the target). If it rises, the target has
foreign records or duplicates: then only syncs count until STEADY of them in sequence show no rise.

An estimate ends where the next sync must have been written: MirrorMaker writes one each offset.lag.max + 1
records. If ten syncs of a task are in flight, it delays the next ones; then the distance of the last syncs
counts. Records that arrive between two polls of the source may be replicated while their syncs are on the
way. So a target that grows without syncs has foreign records: the mirror may hang.

An estimate that a later sync proves too high is no step back: the mirror went back only if a sync's own
offset is not past the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lagmon.mirrors.partitions.window import MirrorWindows
    from lagmon.syncs.queue import WaitingSync

STEADY = 3
SPACINGS = 2  # the distance of two syncs grows while more of them are in flight
DEFAULT_LAG_MAX = 100  # offset.lag.max of MirrorMaker; it may be 0
MOST_OFFSET = 1 << 62  # larger offsets are invalid: sums would overflow

NOTE = (
    "How far it is between two offset syncs is an estimate: so many records as the target's end has moved on"
    " by since."
)


@dataclass(slots=True)
class _Known:
    upstream: int
    downstream: int
    at_ms: int
    steady: int  # syncs in sequence without a rise, up to STEADY
    next_offset: int  # as passed to the windows
    spacing: int = 0  # records from one of the last syncs to the next
    growth: int = 0  # of the source's log between its last two polls
    source: tuple[int, int] | None = None  # its end at the last poll, and when


class SyncProgress:
    """Feeds the windows of one flow; `lag_max` is offset.lag.max of its mirror."""

    def __init__(
        self, windows: MirrorWindows, estimated: set[tuple[str, int]], *, lag_max: int = DEFAULT_LAG_MAX
    ) -> None:
        self.estimated = estimated  # partitions whose newest offset in the windows is an estimate
        self._windows = windows
        self._lag_max = lag_max
        self._known: dict[tuple[str, int], _Known] = {}

    def note(self, sync: WaitingSync, *, live: bool) -> None:
        """Add a sync; `live` if it is read when it is written."""
        if max(sync.upstream, sync.downstream) >= MOST_OFFSET:
            return
        place = sync.topic, sync.partition
        before = self._known.get(place)
        steady, back, spacing = STEADY, False, 0
        if before is not None:
            rises = sync.downstream - sync.upstream > before.downstream - before.upstream
            steady = 0 if rises else min(before.steady + 1, STEADY)
            again = (sync.upstream, sync.downstream) == (before.upstream, before.downstream)
            back = sync.upstream <= before.upstream and not again
            # The smaller one: gaps take offsets on the source only, foreign records on the target only.
            apart = min(sync.upstream - before.upstream, sync.downstream - before.downstream)
            spacing = max(apart, before.spacing // 2)
        told = before is None or back or sync.upstream + 1 > before.next_offset
        next_offset = sync.upstream + 1 if told or before is None else before.next_offset
        known = _Known(sync.upstream, sync.downstream, sync.at_ms, steady, next_offset, spacing)
        if before is not None:
            known.growth, known.source = before.growth, before.source
        self._known[place] = known
        if told:
            self._windows.take(*place, sync.upstream, sync.at_ms, live=live)
            self.estimated.discard(place)

    def partitions(self) -> Iterable[tuple[str, int]]:
        """Return the partitions with a known sync."""
        return self._known.keys()

    def estimate(
        self, topic: str, partition: int, *, target_end: int, at_ms: int, source_end: int, source_at_ms: int
    ) -> None:
        """Add the target's log end at an instant, and the source's at its next poll.

        An end of -1 is not known. Without a poll of the source since then the estimate has no upper bound, so
        there is none.
        """
        known = self._known.get((topic, partition))
        if known is None:
            return
        _note_source(known, source_end, source_at_ms)
        if known.steady < STEADY or not known.at_ms < at_ms <= source_at_ms:
            return
        if not 0 <= target_end < MOST_OFFSET:
            return
        since = min(target_end - known.downstream, 1 + self._most_since(known))
        next_offset = min(known.upstream + since, source_end)
        if next_offset > known.next_offset:
            known.next_offset = next_offset
            self._windows.take(topic, partition, next_offset - 1, at_ms, live=True)
            self.estimated.add((topic, partition))

    def _most_since(self, known: _Known) -> int:
        """Return how many records a mirror may have replicated since its newest sync."""
        return max(self._lag_max + 1, SPACINGS * known.spacing) + known.growth


def _note_source(known: _Known, end: int, at_ms: int) -> None:
    """Note the source's log end at a poll, and its growth since the poll before."""
    if end >= 0 and (known.source is None or at_ms > known.source[1]):
        known.growth = 0 if known.source is None else max(0, end - known.source[0])
        known.source = end, at_ms
