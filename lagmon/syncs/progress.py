"""How far a mirror is by its offset syncs, without other sources (`lag_from: offset-syncs`). Pure.

A sync is exact: the record at `upstream` was replicated when it was written. Between two syncs the target's
log end adds an estimate: as many records as it has after `downstream` were replicated since, so at least as
many source offsets passed. It is exact if downstream - upstream is constant, and a lower bound if that falls
(markers and compacted offsets of the source have no record on the target). If it rises, the target has
foreign records or duplicates: then only syncs count until STEADY of them in sequence show no rise.

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


class SyncProgress:
    """Feeds the windows of one flow."""

    def __init__(self, windows: MirrorWindows, estimated: set[tuple[str, int]]) -> None:
        self.estimated = estimated  # partitions whose newest offset in the windows is an estimate
        self._windows = windows
        self._known: dict[tuple[str, int], _Known] = {}

    def note(self, sync: WaitingSync, *, live: bool) -> None:
        """Add a sync; `live` if it is read when it is written."""
        if max(sync.upstream, sync.downstream) >= MOST_OFFSET:
            return
        place = sync.topic, sync.partition
        before = self._known.get(place)
        steady, back = STEADY, False
        if before is not None:
            rises = sync.downstream - sync.upstream > before.downstream - before.upstream
            steady = 0 if rises else min(before.steady + 1, STEADY)
            again = (sync.upstream, sync.downstream) == (before.upstream, before.downstream)
            back = sync.upstream <= before.upstream and not again
        told = before is None or back or sync.upstream + 1 > before.next_offset
        next_offset = sync.upstream + 1 if told or before is None else before.next_offset
        self._known[place] = _Known(sync.upstream, sync.downstream, sync.at_ms, steady, next_offset)
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
        if known is None or known.steady < STEADY or not known.at_ms < at_ms <= source_at_ms:
            return
        if not 0 <= target_end < MOST_OFFSET:
            return
        next_offset = min(known.upstream + target_end - known.downstream, source_end)
        if next_offset > known.next_offset:
            known.next_offset = next_offset
            self._windows.take(topic, partition, next_offset - 1, at_ms, live=True)
            self.estimated.add((topic, partition))
