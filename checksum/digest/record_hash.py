"""The hash of a record in Python, the same 64-bit number as in Spark. Pure.

In Spark, with the seed 42 of its `xxhash64`, and without the headers that the mirror adds by design:

    xxhash64(1, key is null, key, value is null, value, unix_millis(timestamp), coalesce(size(headers), 0),
             headers, transform(headers, x -> x.value is null))

Spark's hash skips nulls, so ('k', null) would equal (null, 'k') without the flags. Null headers hash like no
headers. The first number is the version of this rule. If the target sets timestamps itself, the time is the
constant -1 (a bigint, as unix_millis returns). A record without a timestamp also has -1, as in Spark.

`check_hash` and `place_hash` are derived from that number. Hashes are signed, as Spark shows them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from checksum.digest.xxhash64 import hash_bytes, hash_int, hash_long, signed
from checksum.plan.shape import SEEDS, VERSION

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

SPARK_SEED = 42
NO_TIME_MS = -1

FIRST_HASHED = hash_int(VERSION, SPARK_SEED)
"""The chain after the version, with which each record begins; unsigned."""


class Content(NamedTuple):
    """The compared parts of a record; `timestamp_ms` is epoch ms, -1 without one."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int
    headers: Sequence[tuple[str, bytes | None]] | None = None


def record_hash(content: Content, *, timestamps: bool = True, excluded: Collection[str] = ()) -> int:
    """Return the hash of one record, without the headers named in `excluded`."""
    mixed = _nullable(content.value, _nullable(content.key, FIRST_HASHED))
    mixed = hash_long(content.timestamp_ms if timestamps else NO_TIME_MS, mixed)
    headers = kept_headers(content.headers, excluded)
    mixed = hash_int(len(headers), mixed)
    for name, value in headers:
        mixed = hash_bytes(name_bytes(name), mixed)
        if value is not None:
            mixed = hash_bytes(value, mixed)
    for _, value in headers:
        mixed = hash_int(value is None, mixed)
    return signed(mixed)


def kept_headers(
    headers: Sequence[tuple[str, bytes | None]] | None, excluded: Collection[str]
) -> Sequence[tuple[str, bytes | None]]:
    """Return a record's headers in order, without the excluded ones."""
    if not headers:
        return ()
    if not excluded:
        return headers
    return [header for header in headers if header[0] not in excluded]


def name_bytes(name: str) -> bytes:
    """Return a header's name as Java encodes it: an unpaired surrogate becomes a question mark."""
    return name.encode("utf-8", "replace")


def check_hash(record: int, seed: int) -> int:
    """Return xxhash64(h, seed) of a record's hash, for the second and third sum of a cell."""
    return signed(hash_int(seed, hash_long(record, SPARK_SEED)))


def second_hash(record: int) -> int:
    """Return g, the summand of a cell's second sum."""
    return check_hash(record, SEEDS[0])


def third_hash(record: int) -> int:
    """Return the summand of a cell's third sum."""
    return check_hash(record, SEEDS[1])


def place_hash(record: int, source_offset: int) -> int:
    """Return xxhash64(h, source offset), the summand of the order sum within a run."""
    return signed(hash_long(source_offset, hash_long(record, SPARK_SEED)))


def _nullable(field: bytes | None, mixed: int) -> int:
    """Hash whether a field is null, and then the field."""
    if field is None:
        return hash_int(1, mixed)
    return hash_bytes(field, hash_int(0, mixed))
