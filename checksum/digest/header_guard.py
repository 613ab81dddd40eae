"""Check that topics planned without headers have none.

Reading headers costs a quarter of the speed, so a topic whose sample had none is read without them. First,
headers are counted among the newest records of each partition: this detects producers that started to send
them. A single header among older records is not detected; the plan says that the topic's headers were not
compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from checksum.digest.query import records
from checksum.plan.pacing import FREE, Stretch
from checksum.plan.shape import OutdatedPlanError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from checksum.digest.kafka_options import Cluster
    from checksum.plan.places import Place

LOOKED_AT: Final = 1000  # offsets of each partition


def look_for_headers(
    spark: SparkSession,
    cluster: Cluster,
    places: Sequence[Place],
    left: Sequence[Stretch],
    *,
    wait: Callable[[Sequence[Stretch]], object],
) -> None:
    """Count headers among the newest unread records of topics planned without them.

    `places` are all of the side, `left` is in the plan's order; `wait` is called with what is read next, to
    keep the rate. Raises OutdatedPlanError if there are headers, and Spark's own errors.
    """
    newest: dict[int, Stretch] = {}
    for stretch in left:  # in order, so that the last one of a place is kept
        if not places[stretch.place].headers:
            first = max(stretch.first, stretch.until - LOOKED_AT)
            newest[stretch.place] = Stretch(stretch.place, first, stretch.until)
    looked = list(newest.values())
    for start in range(0, len(looked), FREE.places):
        chunk = tuple(looked[start : start + FREE.places])
        wait(chunk)
        read = records(spark, cluster.options, places, chunk, headers=True)
        found = read.where(F.size("headers") > 0).groupBy("topic").count().collect()
        if found:
            topic, count = max(((row[0], row[1]) for row in found), key=lambda row: row[1])
            raise OutdatedPlanError(
                f"cluster {cluster.alias}: {count} of the newest records of {topic} have headers, but the "
                "plan says that it has none; plan again"
            )
