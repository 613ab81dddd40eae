"""Positions of places as bytes, restored after a restart. Pure.

Layout, little-endian: "MWheads", the version (1 byte), the number of rows (4 bytes), the origin of times (8
bytes, epoch ms), a CRC-32 of all that follows (4 bytes); then the rows of the arrays: ends (24 columns of
int64), times (24 of int32), log starts, their timestamps and last stable offsets (int64 each). The topic
partitions of the places are stored elsewhere, in the same order.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

from fleet.errors import MalformedError
from lagmon.logs.head_history import POINTS, SPAN_MS
from lagmon.logs.heads import LAST_MS, Heads, HeadsState

if TYPE_CHECKING:
    from lagmon.arrays.kinds import Int32s

MAX_ROWS = 1_000_000
_MAGIC = b"MWheads"
_VERSION = 1
_HEADER = struct.Struct("<7sBIqI")
_ROW_BYTES = POINTS * (8 + 4) + 3 * 8


def snapshot(heads: Heads, places: Int32s) -> bytearray:
    """Return the state of these places as bytes: 312 each, and a header.

    Written in place, a column at a time: a second copy would exceed the memory limit of the ingest process.
    """
    payload = bytearray(_HEADER.size + len(places) * _ROW_BYTES)
    at = _HEADER.size
    for column in heads.columns(places):
        written = np.frombuffer(payload, column.dtype.newbyteorder("<"), len(places), at)
        written[:] = column
        at += written.nbytes
    checksum = zlib.crc32(memoryview(payload)[_HEADER.size :])
    _HEADER.pack_into(payload, 0, _MAGIC, _VERSION, len(places), heads.origin_ms, checksum)
    return payload


def restore(payload: bytes | bytearray, count: int) -> Heads:
    """Return the positions in a snapshot, as places 0 to count - 1; raises MalformedError."""
    return Heads.of(read_state(payload, count))


def read_state(payload: bytes | bytearray, count: int) -> HeadsState:
    """Return the state of this many places from a snapshot; raises MalformedError."""
    if len(payload) < _HEADER.size:
        raise MalformedError(f"snapshot of positions: {len(payload)} bytes, fewer than its header")
    magic, version, rows, origin_ms, checksum = _HEADER.unpack_from(payload)
    if magic != _MAGIC:
        raise MalformedError("snapshot of positions: invalid header")
    if version != _VERSION:
        raise MalformedError(f"snapshot of positions: version {version}; this program reads {_VERSION}")
    if rows > MAX_ROWS or rows != count:
        raise MalformedError(f"snapshot of positions: {rows} rows instead of {count}, at most {MAX_ROWS}")
    expected = _HEADER.size + rows * _ROW_BYTES
    if len(payload) != expected:
        raise MalformedError(f"snapshot of positions: {len(payload)} bytes; {rows} rows require {expected}")
    if zlib.crc32(memoryview(payload)[_HEADER.size :]) != checksum:
        raise MalformedError("snapshot of positions: damaged: its checksum differs")
    state = _read(payload, rows, origin_ms)
    _check(state)
    return state


def _read(payload: bytes | bytearray, rows: int, origin_ms: int) -> HeadsState:
    at = _HEADER.size
    ends = np.frombuffer(payload, "<i8", POINTS * rows, at).reshape(POINTS, rows)
    at += ends.nbytes
    times = np.frombuffer(payload, "<i4", POINTS * rows, at).reshape(POINTS, rows)
    at += times.nbytes
    start, start_at_ms, stable = np.frombuffer(payload, "<i8", 3 * rows, at).reshape(3, rows)
    return HeadsState(
        origin_ms=origin_ms, ends=ends, times=times, start=start, start_at_ms=start_at_ms, stable=stable
    )


def _check(state: HeadsState) -> None:
    """Raise MalformedError for impossible values."""
    if not 0 <= state.origin_ms <= LAST_MS:
        raise MalformedError(f"snapshot of positions: invalid origin of times {state.origin_ms}")
    for name in ("ends", "start", "start_at_ms", "stable"):
        if (getattr(state, name) < -1).any():
            raise MalformedError(f"snapshot of positions: a number below -1 in {name}")
    if (state.ends[1:] < state.ends[:-1]).any():
        raise MalformedError("snapshot of positions: an end is lower than an older one")
    if ((state.times < -SPAN_MS) | (state.times >= SPAN_MS)).any():
        raise MalformedError("snapshot of positions: a time is too far from its origin")
    if (state.times[1:] < state.times[:-1]).any():
        raise MalformedError("snapshot of positions: times run backwards")
