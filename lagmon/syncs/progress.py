"""How far a mirror is by its offset syncs, where nothing else may be read (`lag_from: offset-syncs`). Pure.

A sync says exactly where the mirror was when it was written: the record at `upstream` is copied. Between two
syncs the target's end tells more: as many records as it has behind `downstream` were copied since, and so
at least as many offsets of the source passed. That is an estimate. It holds where downstream - upstream is
constant, and is the least that was copied where it falls (markers and compacted offsets of the source have no
copy). Where it rises, somebody else writes to the target's topic or copies are made twice: then there is no
estimate until STEADY syncs in turn show no rise, and only the syncs count.

An estimate that a later sync shows to have been too high is never told as a step back: the mirror went back
only where a sync's own offset is not past the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lagmon.mirrors.partitions.window import MirrorWindows
    from lagmon.syncs.queue import WaitingSync

STEADY = 3
MOST_OFFSET = 1 << 62  # beyond it an offset is none: what is counted on from it would not fit

NOTE = (
    "How far it is between two offset syncs is an estimate: so many records as the target's end has moved on"
    " by since."
)


@dataclass(slots=True)
class _Known:
    upstream: int
    downstream: int
    at_ms: int
    steady: int  # syncs in turn without a rise, up to STEADY
    next_offset: int  # as the windows were told


class SyncProgress:
    """Feeds the windows of one flow."""

    def __init__(self, windows: MirrorWindows, estimated: set[tuple[str, int]]) -> None:
        self.estimated = estimated  # partitions of which the windows' newest offset is an estimate
        self._windows = windows
        self._known: dict[tuple[str, int], _Known] = {}

    def note(self, sync: WaitingSync, *, live: bool) -> None:
        """Take in a sync; `live` where it is read as it comes."""
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
        """Return topic and partition of each of which a sync is known."""
        return self._known.keys()

    def estimate(
        self, topic: str, partition: int, *, target_end: int, at_ms: int, source_end: int, source_at_ms: int
    ) -> None:
        """Take in where the copy's log ended at an instant, and the source's when it was looked at next.

        An end of -1 is not known. A source that was not looked at since then does not bound the estimate, so
        there is none yet.
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
