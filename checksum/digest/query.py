"""The Spark query of a digest: exact ranges of Kafka in, a row for each cell out, in one pass.

Each record is joined to its place in the plan (a small table on every executor), hashed, and added to its
cell. Spark gets the plan as literals and that table; no Python function handles a record.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType, StructField, StructType

from checksum.digest import header_columns
from checksum.digest.cell_rows import CellRow
from checksum.digest.hash_columns import high, low, record_hash, second_sum, third_sum, time_ms
from checksum.digest.record_hash import SPARK_SEED
from checksum.digest.small_table import small_table
from checksum.digest.xxhash64 import hash_bytes, hash_int, signed
from checksum.plan.places import PlaceRow, place_rows, search_steps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from checksum.digest.cell_rows import Side
    from checksum.plan.pacing import Stretch
    from checksum.plan.places import Place
    from checksum.plan.shape import Plan

KEY, IS_VALUE = "key", "is_value"


def last_of_keys(frame: DataFrame, *, summed: Sequence[str]) -> DataFrame:
    """Return the last record of each place and key, without tombstones.

    Both sides compact at different times, so replaced records may be missing on either. The last record of a
    key is on both, unless it is a tombstone: that may be gone, and then so is every value of the key. So keys
    whose last record is a tombstone are left out on both sides, and a missing one is a difference only if the
    other side still has a value.

    `frame` has place, KEY, IS_VALUE, offset and other columns; those in `summed` are added up over all
    records of a key. The values have fixed widths, so Spark needs neither sorting nor objects.
    """
    carried = [
        name
        for name in frame.columns
        if name not in {"place", KEY, IS_VALUE, "offset"} and name not in summed
    ]
    last = frame.groupBy("place", KEY).agg(
        *(F.max_by(name, "offset").alias(name) for name in (IS_VALUE, *carried)),
        *(F.sum(name).alias(name) for name in summed),
        F.max("offset").alias("offset"),
    )
    return last.where(F.col(IS_VALUE)).drop(KEY, IS_VALUE)


SIZE_BYTES = "size_bytes"  # of keys, values and headers, for the rate
_LONGS = ArrayType(LongType(), containsNull=False)
_PLACES = StructType(
    [
        StructField("place_key", LongType(), nullable=False),
        StructField("place", IntegerType(), nullable=False),
        StructField("range_first", LongType(), nullable=False),
        StructField("run_starts", _LONGS, nullable=False),
        StructField("run_ends", _LONGS, nullable=False),
        StructField("run_deltas", _LONGS, nullable=False),
        StructField("mark_base", LongType(), nullable=False),
        StructField("marks", _LONGS, nullable=False),
    ]
)
_NAMES = StructType(
    [
        StructField("place", IntegerType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
    ]
)


@dataclass(frozen=True, slots=True)
class Reading:
    """One read of Kafka: places of one side that are read and hashed alike, and their stretches."""

    plan: Plan
    side: Side
    places: Sequence[Place]  # all of the side, by number
    stretches: Sequence[Stretch]  # of places that are alike in what follows
    headers: bool
    timestamps: bool
    compacted: bool


def records(
    spark: SparkSession,
    options: Mapping[str, str],
    places: Sequence[Place],
    stretches: Sequence[Stretch],
    *,
    headers: bool,
) -> DataFrame:
    """Return the records of stretches; the ranges are exact and name every partition.

    Spark silently drops an empty range, so none is passed. Partitions are assigned by number, so one that was
    added after the plan is not read.
    """
    assigned: dict[str, list[int]] = {}
    starts: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for stretch in stretches:
        assert stretch.first < stretch.until
        place = places[stretch.place]
        assigned.setdefault(place.read_as, []).append(place.partition)
        starts.setdefault(place.read_as, {})[str(place.partition)] = stretch.first
        ends.setdefault(place.read_as, {})[str(place.partition)] = stretch.until
    return (
        spark.read.format("kafka")
        .options(**options)
        .option("assign", json.dumps(assigned))
        .option("startingOffsets", json.dumps(starts))
        .option("endingOffsets", json.dumps(ends))
        .option("includeHeaders", str(headers).lower())
        .load()
    )


def cells(spark: SparkSession, options: Mapping[str, str], reading: Reading) -> DataFrame:
    """Return a row for each cell of a reading, with the columns of CellRow and the bytes read."""
    summed = _summed(_hashed(placed(spark, options, reading), reading))
    names = F.broadcast(small_table(spark, _names(reading), _NAMES))
    return summed.join(names, "place").select(*CellRow._fields, SIZE_BYTES)


def placed(spark: SparkSession, options: Mapping[str, str], reading: Reading) -> DataFrame:
    """Return the records of a reading, each with its place, its possible run, and its mark."""
    rows = place_rows(reading.places, reading.stretches, reading.side)
    keyed = [(_place_key(row.topic, row.partition), *row[2:]) for row in rows]
    assert len({row[0] for row in keyed}) == len(keyed)  # otherwise records would count for both
    table = F.broadcast(small_table(spark, keyed, _PLACES))
    read = records(spark, options, reading.places, reading.stretches, headers=reading.headers)
    # A lookup by number is several times as fast as by name and number.
    found = read.join(table, F.xxhash64("topic", "partition") == F.col("place_key"))
    found = _counted(found, "run_starts", "run", rows)
    if not reading.timestamps:
        found = _counted(found, "marks", "mark", rows)
    return found


def _place_key(topic: str, partition: int) -> int:
    """Return xxhash64(topic, partition), as Spark computes it for each record."""
    return signed(hash_int(partition, hash_bytes(topic.encode(), SPARK_SEED)))


def _names(reading: Reading) -> list[tuple[int, str, int]]:
    held = [reading.places[stretch.place] for stretch in reading.stretches]
    return [(place.number, place.topic, place.partition) for place in held]


def _counted(frame: DataFrame, array: str, name: str, rows: Sequence[PlaceRow]) -> DataFrame:
    """Add a column with the count of an array's entries at or below the record's offset."""
    frame = frame.withColumn(name, F.lit(0))
    for step in search_steps(len(getattr(rows[0], array))):
        # A column for each step: a single expression would double with every step.
        above = F.col(array)[F.col(name) + F.lit(step - 1)] > F.col("offset")
        frame = frame.withColumn(name, F.when(above, F.col(name)).otherwise(F.col(name) + F.lit(step)))
    return frame


def _hashed(frame: DataFrame, reading: Reading) -> DataFrame:
    plan = reading.plan
    milliseconds = time_ms(timestamps=reading.timestamps)
    width = F.lit(plan.bucket_ms).cast("bigint")
    within = F.pmod(milliseconds, width) if reading.timestamps else F.lit(0).cast("bigint")
    bucket = bucket_of(reading)
    h = record_hash(
        headers=reading.headers, milliseconds=milliseconds, excluded_headers=plan.excluded_headers
    )
    kept = [F.col("key").alias(KEY), F.col("value").isNotNull().alias(IS_VALUE)] if reading.compacted else []
    in_run = F.col("offset") < F.col("run_ends")[F.col("run")]
    source_offset = F.col("offset") - F.col("run_deltas")[F.col("run")]
    found = frame.select(
        "place",
        *kept,
        bucket.alias("bucket"),
        h.alias("h"),
        within.alias("within"),
        F.when(in_run, source_offset).alias("source_offset"),
        "offset",
        (F.col("offset") - F.col("range_first")).alias("offset_in_range"),
        _size(headers=reading.headers).alias(SIZE_BYTES),
    )
    if reading.compacted:
        found = last_of_keys(found, summed=[SIZE_BYTES])
    return found.select(
        "*",
        F.pmod(F.col("h"), F.lit(plan.cells).cast("bigint")).cast("int").alias("cell"),
        second_sum(F.col("h")).alias("g"),
        third_sum(F.col("h")).alias("third"),
        F.when(F.col("source_offset").isNull(), F.lit(0).cast("bigint"))
        .otherwise(F.xxhash64("h", "source_offset"))
        .alias("order"),
    )


def bucket_of(reading: Reading) -> Column:
    """Return a record's bucket, as in CellRow, from its time or from `mark_base` and `mark`."""
    if not reading.timestamps:
        return F.col("mark_base") + F.col("mark")
    width = reading.plan.bucket_ms
    return F.expr(f"(unix_millis(timestamp) - pmod(unix_millis(timestamp), {width}L)) div {width}L")


def _summed(frame: DataFrame) -> DataFrame:
    halves = [
        F.sum(half(F.col(name))).alias(f"{name}_{half.__name__}")
        for name in ("h", "g", "third", "order")
        for half in (low, high)
    ]
    return frame.groupBy("place", "bucket", "cell").agg(
        F.count("*").alias("records"),
        *halves,
        F.sum("within").alias("time_sum"),
        F.sum("offset_in_range").alias("offset_sum"),
        F.min("offset").alias("first_offset"),
        F.max("offset").alias("last_offset"),
        F.sum(SIZE_BYTES).alias(SIZE_BYTES),
    )


def _size(*, headers: bool) -> Column:
    size = _length("key") + _length("value")
    if headers:
        size = size + header_columns.size_bytes(F.col("headers"))
    return size


def _length(name: str) -> Column:
    return F.coalesce(F.octet_length(name), F.lit(0)).cast("bigint")
