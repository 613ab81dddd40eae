"""Spark's hash of a record is the reference's, whatever the record is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as F  # noqa: N812

from checksum.digest.hash_columns import NO_TIME_MS, high, low, record_hash, second_sum, third_sum
from checksum.digest.record_hash import Content, place_hash, second_hash, third_hash
from checksum.digest.record_hash import record_hash as reference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.real
SCHEMA = "number int, key binary, value binary, ms bigint, headers array<struct<key:string,value:binary>>"
# Before 1582 Java's calendar is another than Spark's; such a record's time is never Kafka's own.
OLDEST_MS, NEWEST_MS = -12_219_292_800_000, 253_402_300_799_999
EXCLUDED = ("trace", "ünicode")

BYTES = st.none() | st.binary(max_size=80)
NAMES = st.sampled_from([*EXCLUDED, "", "a", "trac"]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=12
)
CONTENTS = st.builds(
    Content,
    key=BYTES,
    value=BYTES,
    timestamp_ms=st.integers(OLDEST_MS, NEWEST_MS) | st.sampled_from([-1, 0, 1, 999, -999, -1000]),
    headers=st.none() | st.lists(st.tuples(NAMES, BYTES), max_size=9),
)


def hashed(spark: SparkSession, contents, *, headers=True, timestamps=True, excluded=()):
    """Return Spark's hashes of these records, with the second and the third sum of each, in their order."""
    rows = [(number, *content) for number, content in enumerate(contents)]
    frame = spark.createDataFrame(rows, SCHEMA).withColumn("timestamp", F.timestamp_millis("ms"))
    ms = F.unix_millis("timestamp") if timestamps else F.lit(NO_TIME_MS).cast("bigint")
    h = record_hash(headers=headers, milliseconds=ms, excluded_headers=excluded)
    found = frame.select("number", h.alias("h")).select(
        "number", "h", second_sum(F.col("h")), third_sum(F.col("h")), low(F.col("h")), high(F.col("h")),
        F.xxhash64(F.col("h"), F.col("number").cast("bigint")),
    )  # fmt: skip
    return [tuple(row)[1:] for row in sorted(found.collect())]


def expected(contents, **kind):
    found = [reference(content, **kind) for content in contents]
    return [
        (h, second_hash(h), third_hash(h), h & 0xFFFFFFFF, (h >> 32) & 0xFFFFFFFF, place_hash(h, number))
        for number, h in enumerate(found)
    ]


@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    contents=st.lists(CONTENTS, min_size=50, max_size=120), timestamps=st.booleans(), leave_out=st.booleans()
)
def test_spark_s_hash_is_the_reference_s(spark, contents, timestamps, leave_out):
    kind = {"timestamps": timestamps, "excluded": EXCLUDED if leave_out else ()}
    assert hashed(spark, contents, **kind) == expected(contents, **kind)


def test_a_long_value_is_hashed_whole(spark):
    contents = [Content(None, bytes(1_000_000), 0), Content(None, bytes(999_999) + b"\x01", 0)]
    found = hashed(spark, contents)
    assert found == expected(contents)
    assert found[0][0] != found[1][0]


def test_headers_that_are_not_read_and_those_that_are_not_there_are_alike(spark):
    """A topic without headers is read without them on one side, and with them where another one needs it."""
    contents = [Content(b"k", b"v", 5, None), Content(b"k", b"v", 5, [])]
    assert (
        len({*hashed(spark, contents, headers=True)[0][:1], *hashed(spark, contents, headers=False)[1][:1]})
        == 1
    )
    assert [row[0] for row in hashed(spark, contents)] == [reference(contents[0])] * 2


def test_what_moves_between_fields_is_seen(spark):
    contents = [
        Content(b"k", None, 1),
        Content(None, b"k", 1),
        Content(b"", b"k", 1),
        Content(b"k", b"", 1),
        Content(b"k", None, 1, [("a", None), ("a", b"")]),
        Content(b"k", None, 1, [("a", b""), ("a", None)]),
        Content(b"k", None, 1, [("", b"a"), ("a", b"")]),
        Content(b"k", None, 1, [("ab", b"c")]),
        Content(b"k", None, 1, [("a", b"bc")]),
    ]
    assert len({row[0] for row in hashed(spark, contents)}) == len(contents)
