"""The hash and size of a record's headers as Spark columns that are compiled.

Spark compiles neither `transform` nor `filter` nor `aggregate`. If a query contains one of them, it is split,
and each record is copied between the parts. Records have few headers: the first FEW are handled one by one,
and the nulls of the others through JSON, which is slow but compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

if TYPE_CHECKING:
    from pyspark.sql import Column

FEW: Final = 4
"""More would make the compiled method too long: beyond 8,000 bytes, Java interprets it."""

_ALL: Final = 1 << 30


def count(headers: Column) -> Column:
    """Return how many headers there are; null is none."""
    return F.coalesce(F.size(headers), F.lit(0))


def null_flags(headers: Column) -> list[Column]:
    """Return the columns to hash for the array of booleans that says which values are null.

    An array hashes like its elements in order, a boolean like an integer, and nulls are skipped: so the first
    FEW are columns of their own, null without such a header, and the rest is an array.
    """
    first = [
        F.when(count(headers) > number, F.get(headers, F.lit(number))["value"].isNull())
        for number in range(FEW)
    ]
    # ["QUJD",null,""] becomes 0,1,0: Base64 has no quotation marks.
    nulls = F.regexp_replace(F.to_json(_rest(headers)["value"]), '"[^"]*"', "0")
    flags = F.split(F.translate(nulls, "n[]ul", "1"), ",").cast("array<int>")
    return [*first, F.when(count(headers) > FEW, flags)]


def size_bytes(headers: Column) -> Column:
    """Return the bytes of all names and values, 0 without headers."""
    size = F.lit(0)
    for number in range(FEW):
        header = F.get(headers, F.lit(number))
        size = size + _length(header["key"]) + _length(header["value"])
    rest = _rest(headers)
    names = F.array_join(rest["key"], "")
    values = F.array_join(rest["value"].cast("array<string>"), "")
    return size + F.when(count(headers) > FEW, _length(names) + _length(values)).otherwise(F.lit(0))


def _rest(headers: Column) -> Column:
    return F.slice(headers, FEW + 1, _ALL)


def _length(column: Column) -> Column:
    return F.coalesce(F.octet_length(column), F.lit(0))
