"""Between which target offsets a record, or a group's next record, is, from offset syncs. Pure.

A pair of an offset sync is exact: MirrorMaker writes it once the target has acknowledged the record. Between
two pairs both offsets grow, so a record between them on the source is between them on the target. If both
grew by the same number, each record in between is at the same distance: MirrorMaker writes a sync at once
after an offset of the source that it did not replicate (OffsetSyncWriter of Kafka 4.3). So that number is
exact if only this mirror writes to the target topic, and outside transactions, whose markers take offsets.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from fleet.quantity import Bounds
from lagmon.syncs.pairs import in_order, restarted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lagmon.syncs.pairs import SyncPair

_UPSTREAM = attrgetter("upstream")
_DOWNSTREAM = attrgetter("downstream")


class RecordRange(NamedTuple):
    """The target offsets from `first` up to `last`, not included, of a source record if it is replicated.

    It is empty if the record was not replicated. `exact` is the offset that pairs prove, `likely` the one at
    the distance of the pair before. `by` is the first pair at or after the record: when that was written, the
    record was on the target.
    """

    first: int
    last: int
    exact: int | None = None
    likely: int | None = None
    by: SyncPair | None = None


def runs_of(pairs: Sequence[SyncPair]) -> list[Sequence[SyncPair]]:
    """Return the pairs of the last copy of each record, in runs without a restart, newest first.

    A mirror that restarts replicates some records again: older pairs hold for what is before those. If it
    went back on the target as well, the topic there was re-created, and no older pair holds.
    """
    pairs = in_order(pairs)
    found: list[Sequence[SyncPair]] = []
    last = len(pairs)
    while last:
        first = last - 1
        while first and not restarted(pairs[first - 1], pairs[first]):
            first -= 1
        run = pairs[first:last]
        if found:
            newer = found[-1][0]
            if run[-1].downstream >= newer.downstream:
                break
            run = run[: bisect_left(run, newer.upstream, key=_UPSTREAM)]
        if run:
            found.append(run)
        last = first
    return found


def last_start(
    runs: Sequence[Sequence[SyncPair]], upstream: int, *, target_end: int, in_transactions: bool
) -> Bounds:
    """Return bounds of the last target offset from which no record at or after a source offset is missed.

    `target_end` is the log end offset of the target partition, read after the pairs. A consumer that starts
    there reads each such record that is replicated. `in_transactions`: the mirror writes transactions, so
    equal distances prove nothing.
    """
    before, after, newer = _around(runs, upstream)
    next_downstream = target_end if newer is None else newer.downstream
    if before is None:
        return Bounds(0, next_downstream)
    if before.upstream == upstream:
        return Bounds(before.downstream, before.downstream)
    if after is None:
        return Bounds(min(before.downstream + 1, next_downstream), next_downstream)
    if before.difference == after.difference and not in_transactions:
        exact = before.downstream + upstream - before.upstream
        return Bounds(exact, exact)
    return Bounds(before.downstream + 1, after.downstream)


def record_range(
    runs: Sequence[Sequence[SyncPair]], upstream: int, *, target_end: int, in_transactions: bool
) -> RecordRange:
    """Return where on the target the last replicated record of a source offset is; arguments as above."""
    before, after, newer = _around(runs, upstream)
    next_downstream = target_end if newer is None else newer.downstream
    if before is None:
        return RecordRange(0, next_downstream, by=newer)
    if before.upstream == upstream:
        return RecordRange(before.downstream, before.downstream + 1, exact=before.downstream, by=before)
    likely = before.downstream + upstream - before.upstream
    if after is None:
        return RecordRange(before.downstream + 1, next_downstream, likely=likely, by=newer)
    exact = likely if before.difference == after.difference and not in_transactions else None
    return RecordRange(before.downstream + 1, after.downstream, exact=exact, likely=likely, by=after)


def _around(
    runs: Sequence[Sequence[SyncPair]], upstream: int
) -> tuple[SyncPair | None, SyncPair | None, SyncPair | None]:
    """Return the last pair at or before a source offset, the next of its run, the first of the next run."""
    newer = None
    for run in runs:
        if run[0].upstream > upstream:
            newer = run[0]
            continue
        index = bisect_right(run, upstream, key=_UPSTREAM) - 1
        return run[index], run[index + 1] if index + 1 < len(run) else None, newer
    return None, None, newer


def has_no_gaps(runs: Sequence[Sequence[SyncPair]], first: int, last: int) -> bool:
    """Return whether each target offset from `first` up to `last`, not included, holds one record in a row.

    It is known if pairs of one run and one difference enclose them. Compaction and deletion later are
    another matter.
    """
    if first >= last:
        return True
    run = next((one for one in runs if one[0].downstream <= first), None)
    if run is None:
        return False
    start = bisect_right(run, first, key=_DOWNSTREAM) - 1
    difference = run[start].difference
    for index in range(start + 1, len(run)):
        if run[index].difference != difference:
            return False
        if run[index].downstream >= last:
            return True
    return run[-1].downstream + 1 >= last
