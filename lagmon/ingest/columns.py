"""Read offset and time out of many values of `__consumer_offsets` at once.

The fields that are wanted stand at places that follow from a value's version and the length of its
metadata (fleet.wire.commits reads the same one by one, and more): OffsetCommitValue of versions 0 to 3 has
the metadata's length in two bytes, version 4 in an unsigned varint, one more than it is. What does not fit
is left to the reader of single records.
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
    """A row for each value; where `good` is false the others mean nothing."""

    good: NDArray[np.bool_]
    offset: NDArray[np.int64]
    committed_ms: NDArray[np.int64]


def usual_key(key: bytes) -> tuple[str, str, int] | None:
    """Read the key of a commit, versions 0 and 1; return its group, topic and partition.

    None for any other key, and for one that is not as it should be: `fleet.wire.commits.decode_key` says
    what that is. This costs a third of it, and a cluster has as many keys as group-partitions.
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
    """Read these values; none of them is null."""
    count = len(values)
    lengths = np.fromiter(map(len, values), np.int64, count)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    # What stands behind the last is read where a value is too short, and thrown away.
    data = b"".join((*values, bytes(_SHORTEST + 16)))
    bytes_, twos, longs = (_everywhere(data, kind) for kind in ("u1", ">i2", ">i8"))
    version = twos[starts].astype(np.int64)
    late = version >= 3  # a leader epoch stands between offset and metadata
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
    """Return the numbers of a kind that begin at each byte: a view, so that only what is taken is copied."""
    size = np.dtype(kind).itemsize
    return np.ndarray((len(data) - size + 1,), kind, data, strides=(1,))
