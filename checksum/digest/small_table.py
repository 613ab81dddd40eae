"""A few rows of ours as a table of Spark, without a process of Python between them.

What `createDataFrame` is given goes by one: a third of a second, each time that it is read, and a Python on
each of Spark's machines. So only what is too large for a text goes that way.
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
"""Of a table as text: Spark copies it a few times, and eight times as much were too much for 1 GiB."""


def small_table(spark: SparkSession, rows: Iterable[Sequence[object]], schema: StructType) -> DataFrame:
    """Return a table of rows with the schema's columns, in its order; values are what JSON can say.

    A value that is none of its column's type fails here, or whatever reads the table.
    """
    held = list(rows)
    text = json.dumps([dict(zip(schema.names, row, strict=True)) for row in held])
    if len(text) > MOST_CHARS:
        return spark.createDataFrame(held, schema)
    one = spark.range(0, 1, 1, numPartitions=1)
    # Of a mere literal Spark would make all rows while it plans, and carry them through each of its rules.
    said = F.when(F.col("id") == 0, F.lit(text))
    # By default a value that does not fit is null, and a place without its key takes no record.
    return one.select(F.inline(F.from_json(said, ArrayType(schema), {"mode": "FAILFAST"})))
