"""The hashes of many records, the same as `record_hash` returns one by one. Pure.

For reading thousands of records without Spark: differences that are read again, and the benchmark's
comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from checksum.digest.record_hash import FIRST_HASHED, NO_TIME_MS, kept_headers, name_bytes, record_hash
from checksum.digest.xxhash64_many import hash_bytes_many, hash_ints, hash_longs

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from checksum.digest.record_hash import Content
    from checksum.digest.xxhash64_many import Hashes

    Headers = Sequence[tuple[str, bytes | None]]

MAX_HEADERS_TOGETHER = 64
"""Records with more are hashed one by one, because each header is a round for all records."""


def record_hashes(
    contents: Sequence[Content], *, timestamps: bool = True, excluded: Collection[str] = ()
) -> NDArray[np.int64]:
    """Return the signed hash of each record, in order; a few thousand at a time are fastest."""
    mixed = np.full(len(contents), FIRST_HASHED, np.uint64)
    if not contents:
        return mixed.view(np.int64)
    mixed = _nullable([content.key for content in contents], mixed)
    mixed = _nullable([content.value for content in contents], mixed)
    times = [content.timestamp_ms if timestamps else NO_TIME_MS for content in contents]
    mixed = hash_longs(np.array(times, np.int64), mixed)
    headers = [kept_headers(content.headers, excluded) for content in contents]
    counts = np.fromiter(map(len, headers), np.int64, len(headers))
    mixed = hash_ints(counts, mixed)
    many = counts > MAX_HEADERS_TOGETHER
    if counts.any():
        _mix_headers(headers, np.where(many, 0, counts), mixed)
    hashes = mixed.view(np.int64)
    for index in np.flatnonzero(many).tolist():
        hashes[index] = record_hash(contents[index], timestamps=timestamps, excluded=excluded)
    return hashes


def _mix_headers(headers: Sequence[Headers], counts: NDArray[np.int64], mixed: Hashes) -> None:
    """Mix in the n-th header of all records that have one, for each n; then which values are null."""
    for number in range(int(counts.max())):
        having = np.flatnonzero(counts > number)
        these = [headers[index][number] for index in having.tolist()]
        mixed[having] = hash_bytes_many([name_bytes(name) for name, _ in these], mixed[having])
        _mix_present([value for _, value in these], having, mixed)
    for number in range(int(counts.max())):
        having = np.flatnonzero(counts > number)
        nulls = [headers[index][number][1] is None for index in having.tolist()]
        mixed[having] = hash_ints(np.array(nulls, np.int64), mixed[having])


def _nullable(fields: Sequence[bytes | None], mixed: Hashes) -> Hashes:
    mixed = hash_ints(np.array([field is None for field in fields], np.int64), mixed)
    _mix_present(fields, np.arange(len(fields)), mixed)
    return mixed


def _mix_present(fields: Sequence[bytes | None], indices: NDArray[np.int64], mixed: Hashes) -> None:
    """Mix each field into the hash at its index in place; skip nulls."""
    present = [field for field in fields if field is not None]
    if len(present) < len(fields):
        indices = indices[[field is not None for field in fields]]
    mixed[indices] = hash_bytes_many(present, mixed[indices])
