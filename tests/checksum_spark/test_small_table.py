"""A small table holds exactly the rows that were given, whatever they are, and no process of Python makes it."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from checksum.digest import small_table as module
from checksum.digest.coverage import SliceRow
from checksum.digest.files import _SLICES
from checksum.digest.query import _NAMES, _PLACES
from checksum.digest.small_table import small_table
from checksum.plan.pacing import UNPACED
from checksum.plan.places import NEVER

pytestmark = pytest.mark.real
LEAST, MOST = -(1 << 63), (1 << 63) - 1
NAMES = [
    "orders", "A.orders", "", " ", "\"quoted\" 'twice'", "back\\slash\\", '{"a": [1]}', "a\nb\tc\x00\x01\x7f",
    "größe", "数据", "\U0001f980", "\u2028\u202e", "null", "x" * 249, "$1 ${y} `z` %s",
]  # fmt: skip


def rows_of(frame):
    return [tuple(row) for row in frame.collect()]


def test_places_are_as_they_were_given(spark):
    assert NEVER == MOST
    rows = [
        (MOST, 0, 0, [0], [1], [0], 0, []),
        (LEAST, 2**31 - 1, MOST, [LEAST, -1, 0, 1, MOST], [MOST] * 5, [-(2**53) - 1] * 5, LEAST, [MOST]),
        (0, 1, 2**53 + 1, [], [], [], -1, [2**53 + 1, 2**62 + 1]),
    ]
    assert rows_of(small_table(spark, rows, _PLACES)) == rows


def test_names_are_as_they_were_given(spark):
    rows = [(number, name, number) for number, name in enumerate(NAMES)]
    assert rows_of(small_table(spark, rows, _NAMES)) == rows


def test_what_a_slice_tells_may_be_nothing(spark):
    stamp = ("ab" * 32, 1, "source")
    rows = [
        (*stamp, *SliceRow(0, NAMES[4], 0, 0, 50, 0, 0, None, None, 1, 30)),
        (*stamp, *SliceRow(0, "orders", 1, 0, MOST, MOST, MOST, 0, MOST - 1, 1, 30)),
    ]
    assert rows_of(small_table(spark, rows, _SLICES)) == rows


def test_columns_are_those_of_the_schema(spark):
    frame = small_table(spark, [(1, "t", 0)], _NAMES)
    assert [(one.name, one.dataType) for one in frame.schema] == [(one.name, one.dataType) for one in _NAMES]


def test_no_rows_are_a_table_without_rows(spark):
    for schema in (_PLACES, _NAMES, _SLICES):
        frame = small_table(spark, [], schema)
        assert frame.columns == schema.names
        assert rows_of(frame) == []


def test_a_plan_of_many_partitions_with_many_cuts_fits(spark):
    names = [(number, f"topic-{number % 97}-{'n' * 200}", number) for number in range(5_000)]
    assert rows_of(small_table(spark, names, _NAMES)) == names
    # As many places as a slice reads, and runs as a plan has cuts of a partition.
    runs = [MOST - number for number in range(512)]
    places = [(number, number, LEAST, runs, runs, runs, -number, runs) for number in range(UNPACED.places)]
    assert rows_of(small_table(spark, places, _PLACES)) == places


@pytest.mark.parametrize("wrong", [MOST + 1, LEAST - 1, "7", 1.5, True, [1]])
def test_a_value_that_the_schema_does_not_hold_ends_it(spark, wrong):
    """A row that became nulls would drop the records of its partition without a word."""
    schema = StructType([StructField("number", IntegerType()), StructField("held", LongType())])
    with pytest.raises(Py4JError, match="MALFORMED_RECORD"):
        rows_of(small_table(spark, [(1, 1), (2, wrong), (3, 3)], schema))


@pytest.mark.parametrize("schema", [_NAMES, _PLACES], ids=["names", "places"])
def test_what_is_too_large_for_a_text_holds_the_same(spark, monkeypatch, schema):
    """As a text a plan's largest table, 256 places of 10,000 runs, ended Spark's Java for lack of memory."""
    rows = [(number, name, number) for number, name in enumerate(NAMES)]
    if schema is _PLACES:
        rows = [(MOST, 0, LEAST, [0], [1], [LEAST], -1, []), (LEAST, 1, 0, [], [], [], 0, [MOST])]
    monkeypatch.setattr(module, "MOST_CHARS", 100)
    frame = small_table(spark, rows, schema)
    assert "ExistingRDD" in frame._jdf.queryExecution().toString()
    assert rows_of(frame) == rows


def test_a_row_of_another_length_is_a_fault(spark):
    with pytest.raises(ValueError, match="zip"):
        small_table(spark, [(1, "t")], _NAMES)


def test_it_is_joined_to_what_is_read_and_no_python_makes_it(spark):
    rows = [(number, f"topic {number}", number) for number in range(100)]
    read = spark.range(0, 1000, 1, numPartitions=2).selectExpr("cast(id % 100 as int) place")
    found = read.join(small_table(spark, rows, _NAMES).hint("broadcast"), "place").groupBy("topic").count()
    assert sorted(rows_of(found)) == sorted((name, 10) for _, name, _ in rows)
    plan = small_table(spark, rows, _NAMES)._jdf.queryExecution().toString()
    assert "Python" not in plan
    assert "ExistingRDD" not in plan


def test_texts_are_told_apart_from_nothing(spark):
    schema = StructType([StructField("name", StringType())])
    assert rows_of(small_table(spark, [("",), (None,), ("null",)], schema)) == [("",), (None,), ("null",)]
