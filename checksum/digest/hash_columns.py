"""The canonical hash of a record as Spark's built-in column functions; record_hash is its twin in Python.

    xxhash64(version, key is null, key, value is null, value, milliseconds, count of headers, headers,
             which of them are null)

Spark's xxhash64 passes over nulls, so ('k', null) and (null, 'k') would be one without the flags. A literal
without a type is a 32-bit integer to Spark, and so are true, false and a size. No function of Python touches
a record: that is 5 to 28 times slower.
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
    """Return the record's time in epoch ms; NO_TIME_MS where times are not compared, or its log has none."""
    return F.unix_millis(F.col("timestamp")) if timestamps else F.lit(NO_TIME_MS).cast("bigint")


def record_hash(*, headers: bool, milliseconds: Column, excluded_headers: Sequence[str] = ()) -> Column:
    """Return h, a bigint, of columns key, value and, where they are read, headers.

    `milliseconds` is `time_ms`. Records without headers have the same hash whether headers are read or not,
    and an empty list of them is none.
    """
    key, value = F.col("key"), F.col("value")
    parts = [F.lit(VERSION), key.isNull(), key, value.isNull(), value, milliseconds]
    if not headers:
        return F.xxhash64(*parts, F.lit(0))
    kept = _kept(F.col("headers"), excluded_headers)
    return F.xxhash64(*parts, header_columns.count(kept), kept, *header_columns.null_flags(kept))


def second_sum(record: Column) -> Column:
    """Return g, which checks that what a cell decodes to is a record's hash."""
    return F.xxhash64(record, F.lit(SEEDS[0]))


def third_sum(record: Column) -> Column:
    """Return the independently seeded third hash of h."""
    return F.xxhash64(record, F.lit(SEEDS[1]))


def low(number: Column) -> Column:
    """Return the lower 32 bits, unsigned: a sum of hashes as they are would overflow with the second one."""
    return number.bitwiseAND(F.lit(_LOW))


def high(number: Column) -> Column:
    """Return the upper 32 bits, unsigned."""
    return F.shiftrightunsigned(number, _HALF_BITS)


def _kept(headers: Column, excluded: Sequence[str]) -> Column:
    if not excluded:
        return headers
    return F.filter(headers, lambda header: ~header["key"].isin(*excluded))
