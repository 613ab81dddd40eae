"""The hash of a record as Spark columns; the same as record_hash in Python.

    xxhash64(version, key is null, key, value is null, value, milliseconds, count of headers, headers,
             which of them are null)

Spark's xxhash64 skips nulls, so ('k', null) and (null, 'k') would be equal without the flags. An untyped
literal is a 32-bit integer to Spark, and so are true, false and a size. No Python function handles a record:
that is 5 to 28 times slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from checksum.digest import header_columns
from checksum.digest.record_hash import NO_TIME_MS
from checksum.plan.shape import SEEDS, VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column

_LOW = 0xFFFFFFFF
_HALF_BITS = 32


def time_ms(*, timestamps: bool) -> Column:
    """Return the timestamp in epoch ms; NO_TIME_MS if timestamps are not compared, or the log has none."""
    return F.unix_millis(F.col("timestamp")) if timestamps else F.lit(NO_TIME_MS).cast("bigint")


def record_hash(*, headers: bool, milliseconds: Column, excluded_headers: Sequence[str] = ()) -> Column:
    """Return h, a bigint, from the columns key, value and, if they are read, headers.

    `milliseconds` is `time_ms`. Records without headers have the same hash whether headers are read or not,
    and an empty list equals none.
    """
    key, value = F.col("key"), F.col("value")
    parts = [F.lit(VERSION), key.isNull(), key, value.isNull(), value, milliseconds]
    if not headers:
        return F.xxhash64(*parts, F.lit(0))
    kept = _kept(F.col("headers"), excluded_headers)
    return F.xxhash64(*parts, header_columns.count(kept), kept, *header_columns.null_flags(kept))


def second_sum(record: Column) -> Column:
    """Return g, which confirms that a decoded value is a record's hash."""
    return F.xxhash64(record, F.lit(SEEDS[0]))


def third_sum(record: Column) -> Column:
    """Return the third hash of h, with another seed."""
    return F.xxhash64(record, F.lit(SEEDS[1]))


def low(number: Column) -> Column:
    """Return the lower 32 bits, unsigned: the sum of whole hashes would overflow."""
    return number.bitwiseAND(F.lit(_LOW))


def high(number: Column) -> Column:
    """Return the upper 32 bits, unsigned."""
    return F.shiftrightunsigned(number, _HALF_BITS)


def _kept(headers: Column, excluded: Sequence[str]) -> Column:
    if not excluded:
        return headers
    return F.filter(headers, lambda header: ~header["key"].isin(*excluded))
