"""A few rows as a Spark table, without a Python worker.

`createDataFrame` uses a worker: a third of a second for each read, and Python on each of Spark's machines. So
it is used only for what is too large for a literal.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import ArrayType, StructType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

MOST_CHARS: Final = 20_000_000
"""Of a table as text: Spark copies it a few times; eight times as much does not fit into 1 GiB."""


def small_table(spark: SparkSession, rows: Iterable[Sequence[object]], schema: StructType) -> DataFrame:
    """Return a table of rows with the schema's columns, in its order; values must be JSON values.

    A value of the wrong type fails here, or in the query that reads the table.
    """
    held = list(rows)
    text = json.dumps([dict(zip(schema.names, row, strict=True)) for row in held])
    if len(text) > MOST_CHARS:
        return spark.createDataFrame(held, schema)
    one = spark.range(0, 1, 1, numPartitions=1)
    # Spark would evaluate a plain literal while planning, and pass all rows through each rule.
    said = F.when(F.col("id") == 0, F.lit(text))
    # By default an invalid value becomes null, and a place without its key would match no record.
    return one.select(F.inline(F.from_json(said, ArrayType(schema), {"mode": "FAILFAST"})))
