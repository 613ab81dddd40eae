"""The Spark query of a count: exact ranges of Kafka in, a row for each partition and bucket out.

Only a record's place and timestamp are used, and its size if a rate is to be kept. Spark's reader returns
keys and values all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from checksum.digest.query import SIZE_BYTES, bucket_of, placed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

    from checksum.digest.query import Reading


def bucket_counts(
    spark: SparkSession, options: Mapping[str, str], reading: Reading, *, sizes: bool
) -> DataFrame:
    """Return place, bucket, records, first_offset, last_offset and bytes (0 without `sizes`)."""
    size = F.lit(0)
    if sizes:
        size = F.coalesce(F.octet_length("key"), F.lit(0)) + F.coalesce(F.octet_length("value"), F.lit(0))
    found = placed(spark, options, reading).select(
        "place", "offset", bucket_of(reading).alias("bucket"), size.cast("bigint").alias(SIZE_BYTES)
    )
    return found.groupBy("place", "bucket").agg(
        F.count("*").alias("records"),
        F.min("offset").alias("first_offset"),
        F.max("offset").alias("last_offset"),
        F.sum(SIZE_BYTES).alias(SIZE_BYTES),
    )
