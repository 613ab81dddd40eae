"""Read offset and time of many values of `__consumer_offsets` at once.

The positions of these fields follow from the version and the length of the metadata (fleet.wire.commits reads
single values completely). OffsetCommitValue has the metadata's length in two bytes in versions 0 to 3, and in
version 4 in an unsigned varint, plus one. Other values are left to the reader of single records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SHORTEST_KEY = 10  # two empty names and a partition
_SHORTEST = 18  # version 0 up to the metadata's length, and a time
_NEWEST = 4


@dataclass(frozen=True, slots=True)
class Columns:
    """A row for each value; the other columns are valid only if `good`."""

    good: NDArray[np.bool_]
    offset: NDArray[np.int64]
    committed_ms: NDArray[np.int64]


def usual_key(key: bytes) -> tuple[str, str, int] | None:
    """Read the key of a commit, versions 0 and 1; return its group, topic and partition.

    None for other and malformed keys, which `fleet.wire.commits.decode_key` reads. This takes a third of its
    time, and a cluster has as many keys as group-partitions.
    """
    size = len(key)
    if size < _SHORTEST_KEY or key[0] or key[1] > 1 or key[2] & 0x80:
        return None
    topic_at = 6 + (key[2] << 8 | key[3])
    if topic_at > size or key[topic_at - 2] & 0x80:
        return None
    end = topic_at + (key[topic_at - 2] << 8 | key[topic_at - 1])
    if end + 4 != size or key[end] & 0x80:
        return None
    try:
        group, topic = str(key[4 : topic_at - 2], "utf-8"), str(key[topic_at:end], "utf-8")
    except UnicodeDecodeError:
        return None
    return group, topic, int.from_bytes(key[end:], "big")


def read_values(values: Sequence[bytes]) -> Columns:
    """Read these values, none of which is null."""
    count = len(values)
    lengths = np.fromiter(map(len, values), np.int64, count)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    # Padding: if a value is too short, bytes after it are read and ignored.
    data = b"".join((*values, bytes(_SHORTEST + 16)))
    bytes_, twos, longs = (_everywhere(data, kind) for kind in ("u1", ">i2", ">i8"))
    version = twos[starts].astype(np.int64)
    late = version >= 3  # a leader epoch comes between offset and metadata
    length_at = starts + np.where(late, 14, 10)
    compact = version == _NEWEST
    first = bytes_[length_at].astype(np.int64)
    metadata = np.where(compact, first - 1, twos[length_at])
    time_at = length_at + np.where(compact, 1, 2) + metadata
    good = (
        (version >= 0)
        & (version <= _NEWEST)
        & (lengths >= _SHORTEST)
        & (metadata >= 0)
        & ~(compact & (first >= 0x80))  # a length of several bytes
        & (time_at + 8 <= ends)
    )
    offset, committed_ms = longs[starts + 2], longs[np.where(good, time_at, starts)]
    return Columns(good, offset.astype(np.int64), committed_ms.astype(np.int64))


def _everywhere(data: bytes, kind: str) -> NDArray[Any]:
    """Return the numbers that begin at each byte, as a view."""
    size = np.dtype(kind).itemsize
    return np.ndarray((len(data) - size + 1,), kind, data, strides=(1,))
