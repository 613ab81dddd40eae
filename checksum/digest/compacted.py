"""The last record of each key of a compacted topic.

Both sides compact at different times, so records that a later one of the same key replaced may be missing on
either. The last one of each key is on both, unless it is a tombstone: that may be gone, and then so is every
value of the key. So keys whose last record is a tombstone are left out on both sides, and a missing tombstone
is a difference only if the other side still has a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

KEY, IS_VALUE = "key", "is_value"


def last_of_keys(frame: DataFrame, *, summed: Sequence[str]) -> DataFrame:
    """Return the last record of each place and key, without tombstones.

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
