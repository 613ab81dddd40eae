"""A compacted topic is compared by the last record of each key: what Spark makes of one before it is summed.

Both sides compact when they like, so records that a later one of the same key replaced may be missing on
either. The last one of each key stands on both, but for a tombstone: that may be gone, and where it is, so
must be every value of the key. So keys whose last record is a tombstone count for nothing on either side, and
an absent tombstone is a difference only where the other side still has a value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

KEY, IS_VALUE = "key", "is_value"


def last_of_keys(frame: DataFrame, *, summed: Sequence[str]) -> DataFrame:
    """Return the last record of each place and key, without those that are tombstones.

    `frame` has place, KEY, IS_VALUE and offset beside its other columns; those in `summed` are added up over
    all of a key's records. The numbers have fixed widths, so Spark needs neither to sort nor to make objects.
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
