"""Between which target offsets a group's next record is, from offset syncs. Pure.

A pair of an offset sync is exact: MirrorMaker writes it once the target has acknowledged the record. Between
two pairs both offsets grow, so a record between them on the source is between them on the target. If both
grew by the same number, each record in between is at the same distance: MirrorMaker writes a sync at once
after an offset of the source that it did not replicate (OffsetSyncWriter of Kafka 4.3). So that number is
exact if only this mirror writes to the target topic, and outside transactions, whose markers take offsets.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING

from fleet.quantity import Bounds
from lagmon.syncs.pairs import restarted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lagmon.syncs.pairs import SyncPair

_UPSTREAM = attrgetter("upstream")
_DOWNSTREAM = attrgetter("downstream")


def last_run(pairs: Sequence[SyncPair]) -> Sequence[SyncPair]:
    """Return the pairs since the mirror last replicated records again, or the target topic was re-created."""
    first = len(pairs) - 1
    while first > 0 and not restarted(pairs[first - 1], pairs[first]):
        first -= 1
    return pairs[max(first, 0) :]


def last_start(run: Sequence[SyncPair], upstream: int, *, target_end: int, in_transactions: bool) -> Bounds:
    """Return bounds of the last target offset from which no record at or after a source offset is missed.

    `run` are pairs without a restart, `target_end` is the log end offset of the target partition, read after
    the pairs. A consumer that starts there reads each such record that is replicated, and none before it
    twice. `in_transactions`: the mirror writes transactions, so equal distances prove nothing.
    """
    index = bisect_right(run, upstream, key=_UPSTREAM) - 1
    if index < 0:
        return Bounds(0, run[0].downstream if run else target_end)
    before = run[index]
    if before.upstream == upstream:
        return Bounds(before.downstream, before.downstream)
    if index + 1 == len(run):
        return Bounds(min(before.downstream + 1, target_end), target_end)
    after = run[index + 1]
    if before.difference == after.difference and not in_transactions:
        exact = before.downstream + upstream - before.upstream
        return Bounds(exact, exact)
    return Bounds(before.downstream + 1, after.downstream)


def has_no_gaps(run: Sequence[SyncPair], first: int, last: int) -> bool:
    """Return whether each target offset from `first` up to `last`, not included, holds a replicated record.

    It is known if pairs of one difference enclose them. Compaction and deletion later are another matter.
    """
    if first >= last:
        return True
    start = bisect_right(run, first, key=_DOWNSTREAM) - 1
    if start < 0:
        return False
    for before, after in zip(run[start:], run[start + 1 :], strict=False):
        if before.difference != after.difference:
            return False
        if after.downstream >= last:
            return True
    return run[-1].downstream + 1 >= last
