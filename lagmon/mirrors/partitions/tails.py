"""The tail between a mirror's offset and the source's log end: what was read of it, and what to read. Pure.

A mirror's offset stops before the log end in three cases: nothing is left to replicate (transaction markers,
aborted records, compacted offsets); the mirror skips records; or it has not replicated them yet. Only reading
the log separates these cases. Movement of other partitions proves nothing. So each partition whose offset is
due is read from there (logs/tail_reads.py). Until then it is unknown whether the mirror is behind.

A log end that keeps growing shows new records without a read. So a mirror that is down is found as soon as
its offsets are due. A read that finds no record corrects that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lagmon.logs.readable import IDLE_MS, IDLE_POLLS, MOST_OFFSETS, Readers
from lagmon.logs.record_due import RecordReaders
from lagmon.mirrors.partitions.snapshot import LEAST_MS, POLL_MS
from lagmon.mirrors.partitions.window import observed_cadence_ms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lagmon.mirrors.facts import FlowFacts
    from lagmon.mirrors.partitions.snapshot import MirrorPace
    from lagmon.mirrors.view import FlowView

    Flags = NDArray[np.bool_]
    Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TailsRead:
    """What is known of each slot's tail: the offsets from the mirror's next one to the log end."""

    readable_from: Longs  # the first offset after the next one that may have a record; -1: unknown
    unread: Flags  # whether it is unknown if there is a record


def read(flow: FlowView, places: NDArray[np.int32], pace: MirrorPace, now_ms: int) -> TailsRead:
    """Return what was read of each slot's tail, and request what was not.

    The source's watch reads it (logs/tail_reads.py) with the next poll of the ends. It reads nothing for a
    mirror between two commits.
    """
    source, heads, count = flow.source, flow.source.heads, len(places)
    readable = flow.readable
    used = np.flatnonzero((places >= 0) & (flow.windows.next_offset[:count] >= 0))
    found, unread = np.full(count, -1, np.int64), np.zeros(count, np.bool_)
    at, offset = places[used], flow.windows.next_offset[used]
    found[used] = readable.readable_from(at, offset)
    end, stable = heads.end[at], heads.stable[at]
    head = np.where((stable >= 0) & pace.committed_only, np.minimum(stable, end), end)
    rests = heads.stood(IDLE_POLLS)[at]
    cadence_ms = observed_cadence_ms(flow.windows, pace.configured_ms, pace.floor_ms)
    # Read the tail of a due offset before the mirror would count as stopped.
    idle_ms = now_ms - flow.windows.committed_ms[used] - cadence_ms + IDLE_MS - POLL_MS
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
    if pace.read_to_ms >= 0:  # before that the backlog of offsets is still being read
        readers = readers.with_more(_without_offset(flow))
        source.idle_mirrors[flow.order.flow.name] = RecordReaders(at, offset, to_end=not pace.tails)
    source.mirror_readers[flow.order.flow.name] = pace.committed_only, readers
    return TailsRead(found, unread)


def _without_offset(flow: FlowView) -> Readers:
    """Return the partitions without an offset: the mirror would read each from its first offset on."""
    _, places, offsets = flow.first_offsets.every(flow)
    idle_ms = np.full(len(places), IDLE_MS)
    return Readers(places, offsets, flow.readable_ends[places], idle_ms, np.ones(len(places), np.bool_))


def _kept_coming(
    flow: FlowFacts, places: NDArray[np.int32], first: Longs, head: Longs, cadence_ms: int
) -> Flags:
    """Return which logs grew after these offsets for longer than a marker or two would explain."""
    heads = flow.source.heads
    first_ms, _ = heads.passed_ms(places, first)
    last_ms, _ = heads.passed_ms(places, head - 1)
    long: Flags = (first_ms >= 0) & (last_ms - first_ms > max(LEAST_MS, 2 * cadence_ms + 2 * POLL_MS) // 2)
    return long
