"""Have a real Spark hash records of every kind.

`spark_hashes.json` beside this file was made with it, by PySpark 4.0.0, from the root of the checkout:

    python -m tests.checksum.golden.record_spark_hashes

Bytes are written in hexadecimal, or as {"hex": ..., "times": n} where they repeat. Each record has its hash with
and without its time, and without the headers named in EXCLUDED; `primitives` are xxhash64 of one value each.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from pyspark.sql import functions as F  # noqa: N812

from checksum.digest.hash_columns import record_hash, second_sum, third_sum, time_ms
from checksum.spark.session import spark_session
from checksum.spark.settings import SparkSettings

EXCLUDED = ("trace", "ünicode ☃")
SCHEMA = "number int, key binary, value binary, ms bigint, headers array<struct<key:string,value:binary>>"
FILE = Path(__file__).with_name("spark_hashes.json")
MEGABYTE = {"hex": "00ff5a", "times": 350_000}

RECORDS = [
    # key, value, time in ms, headers
    (None, None, 0, None),
    ("", None, 0, None),
    (None, "", 0, None),
    ("", "", 0, []),
    ("6b", None, 0, None),
    (None, "6b", 0, None),
    ("6b31", "7631", 1_700_000_000_123, None),
    ("6b31", "7631", 1_700_000_000_123, [("a", "01"), ("b", "02")]),
    ("6b31", "7631", 1_700_000_000_123, [("b", "02"), ("a", "01")]),
    ("6b31", "7631", 1_700_000_000_123, [("a", "01"), ("a", "01")]),
    ("6b31", "7631", 1_700_000_000_123, [("a", None), ("a", "")]),
    ("6b31", "7631", 1_700_000_000_123, [("a", ""), ("a", None)]),
    ("6b31", "7631", 1_700_000_000_123, [("", None)]),
    ("6b31", "7631", 1_700_000_000_123, [("trace", "0a0b"), ("kept", "0c"), ("ünicode ☃", None)]),
    ("6b31", "7631", 1_700_000_000_123, [("trace", "0a0b")]),
    ("6b31", "7631", 1_700_000_000_123, [("ünicode ☃", "e29883"), ("日本語", None), ("𝄞", "f09d849e")]),
    ("6b31", "7631", -1, None),
    ("6b31", "7631", -12_219_292_800_000, None),
    ("6b31", "7631", 253_402_300_799_999, None),
    *(
        (None, {"hex": "a5", "times": length}, 1, None)
        for length in (1, 3, 4, 7, 8, 11, 12, 31, 32, 33, 63, 64, 100)
    ),
    ("ff", MEGABYTE, 2, [("a", MEGABYTE)]),
]
INTS = [0, 1, -1, 2**31 - 1, -(2**31)]
LONGS = [*INTS, 2**63 - 1, -(2**63)]


def decoded(data):
    if isinstance(data, dict):
        return bytes.fromhex(data["hex"]) * data["times"]
    return None if data is None else bytes.fromhex(data)


def hashes(spark):
    """Return for each record its hashes as Spark makes them."""
    rows = [
        (number, decoded(key), decoded(value), ms,
         None if headers is None else [(name, decoded(data)) for name, data in headers])
        for number, (key, value, ms, headers) in enumerate(RECORDS)
    ]  # fmt: skip
    frame = spark.createDataFrame(rows, SCHEMA).withColumn("timestamp", F.timestamp_millis("ms"))
    ms, none = time_ms(timestamps=True), time_ms(timestamps=False)
    found = frame.select(
        "number",
        record_hash(headers=True, milliseconds=ms).alias("hash"),
        record_hash(headers=True, milliseconds=none).alias("without_time"),
        record_hash(headers=True, milliseconds=ms, excluded_headers=EXCLUDED).alias("without_excluded"),
        record_hash(headers=False, milliseconds=ms).alias("without_headers"),
    ).select(
        "*",
        second_sum(F.col("hash")).alias("second"),
        third_sum(F.col("hash")).alias("third"),
        F.xxhash64(F.col("hash"), F.lit(12345678901).cast("bigint")).alias("at_12345678901"),
    )
    return [row.asDict() for row in sorted(found.collect(), key=lambda row: row["number"])]


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        spark_session(SparkSettings(Path(folder), master="local[1]")) as spark,
    ):
        told = hashes(spark)
        ints = spark.createDataFrame([(one,) for one in INTS], "x int").select("x", F.xxhash64("x")).collect()
        longs = (
            spark.createDataFrame([(one,) for one in LONGS], "x bigint")
            .select("x", F.xxhash64("x"))
            .collect()
        )
        document = {
            "spark": spark.version,
            "excluded": EXCLUDED,
            "records": [
                {"key": key, "value": value, "ms": ms, "headers": headers}
                | {name: value for name, value in row.items() if name != "number"}
                for (key, value, ms, headers), row in zip(RECORDS, told, strict=True)
            ],
            "ints": [list(row) for row in ints],
            "longs": [list(row) for row in longs],
        }
    FILE.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{FILE}: {len(told)} records")


if __name__ == "__main__":
    main()
