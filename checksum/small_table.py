"""A few rows of ours as a table of Spark, without a process of Python between them.

What `createDataFrame` is given goes by one: a third of a second, each time that it is read.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import ArrayType, StructType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession


def small_table(spark: SparkSession, rows: Iterable[Sequence[object]], schema: StructType) -> DataFrame:
    """Return a table of rows with the schema's columns, in its order; values are what JSON can say."""
    text = json.dumps([dict(zip(schema.names, row, strict=True)) for row in rows])
    one = spark.range(0, 1, 1, numPartitions=1)
    return one.select(F.inline(F.from_json(F.lit(text), ArrayType(schema))))
