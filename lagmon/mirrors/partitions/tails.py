"""What lies between a mirror's offsets and the ends of the source's logs: what was read, what to read. Pure.

A mirror's offset stops short of the log's end where nothing is left to copy (transaction markers, aborted
records, compacted offsets), where the mirror leaves records out, and where it has not copied them yet. Only
reading the log tells these apart; that other partitions move tells nothing. So each partition whose offset
is due is read from there (logs/tail_reads.py), and until then it is not known whether the mirror is behind.

The end of a log that keeps growing tells that records come, without a look: a mirror that is down is found as
soon as its offsets are due. A look that finds none there corrects that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.logs.readable import IDLE_MS, MOST_OFFSETS, Readers
from lagmon.logs.record_due import RecordReaders
from lagmon.mirrors.partitions.cadence import observed_cadence_ms
from lagmon.mirrors.partitions.sight import LEAST_MS, LOOK_MS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirrors.facts import FlowFacts
    from lagmon.mirrors.partitions.sight import MirrorPace

    Flags = NDArray[np.bool_]
    Longs = NDArray[np.int64]

RESTING_LOOKS = 2  # at the same end: the log is at rest


@dataclass(frozen=True, slots=True)
class TailsRead:
    """What is known of each slot's tail: the offsets from the mirror's next one to the log's end."""

    readable_from: Longs  # where a record may be again behind the next offset, -1 not known
    unread: Flags  # whether nothing tells that a record is there, and nothing that none is


def read(flow: FlowFacts, places: NDArray[np.int32], pace: MirrorPace, now_ms: int) -> TailsRead:
    """Return what was read of each slot's tail, and ask for what was not.

    The source's watch looks (logs/tail_reads.py) with the next look at the ends. A mirror that is between two
    commits is not asked about.
    """
    source, heads, count = flow.source, flow.source.heads, len(places)
    readable = source.readable if pace.committed_only else source.readable_uncommitted
    used = np.flatnonzero((places >= 0) & (flow.windows.next_offset[:count] >= 0))
    found, unread = np.full(count, -1, np.int64), np.zeros(count, np.bool_)
    at, offset = places[used], flow.windows.next_offset[used]
    found[used] = readable.readable_from(at, offset)
    end, stable = heads.end[at], heads.stable[at]
    head = np.where((stable >= 0) & pace.committed_only, np.minimum(stable, end), end)
    rests = heads.stood(RESTING_LOOKS)[at]
    cadence_ms = observed_cadence_ms(flow.windows, pace.configured_ms, pace.floor_ms)
    # So that what is behind an offset that is due has been read before the mirror counts as stopped.
    idle_ms = now_ms - flow.windows.committed_ms[used] - cadence_ms + IDLE_MS - LOOK_MS
    there = (offset >= heads.start[at]) & pace.tails
    first = np.maximum(np.maximum(offset, found[used]), flow.windows.rest[used])
    unread[used] = there & (head > first) & ~readable.has_record(at, first)
    refused = np.isin(at, source.refused_places())
    grows = ~rests & ~refused
    unread[used] &= ~grows
    left = np.flatnonzero(unread[used] & ~np.bool_(pace.committed_only))
    if len(left):
        surely = _kept_coming(flow, at[left], first[left], head[left], cadence_ms)
        surely |= refused[left] & (head[left] - first[left] > MOST_OFFSETS)
        unread[used[left]] = ~surely
    far = rests | pace.committed_only
    readers = Readers(at[there], offset[there], head[there], idle_ms[there], far[there])
    source.mirror_readers[flow.order.flow.name] = pace.committed_only, readers
    if pace.read_to_ms >= 0:  # until then its offsets are read one after the other
        source.idle_mirrors[flow.order.flow.name] = RecordReaders(at, offset, to_end=not pace.tails)
    return TailsRead(found, unread)


def _kept_coming(
    flow: FlowFacts, places: NDArray[np.int32], first: Longs, head: Longs, cadence_ms: int
) -> Flags:
    """Tell which logs grew behind these offsets for longer than a marker or two would explain."""
    heads = flow.source.heads
    first_ms, _ = heads.passed_ms(places, first)
    last_ms, _ = heads.passed_ms(places, head - 1)
    long: Flags = (first_ms >= 0) & (last_ms - first_ms > max(LEAST_MS, 2 * cadence_ms + 2 * LOOK_MS) // 2)
    return long
