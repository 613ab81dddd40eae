"""Count one side of a plan, slice by slice, by partition and bucket.

Slices and their pace are those of a digest (plan/pacing.py). Nothing is stored: an interrupted count starts
over, because it is cheap.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from checksum.counts.counting import BucketCount, CountProgress
from checksum.digest.query import SIZE_BYTES, Reading, bucket_of, placed
from checksum.digest.slices import SideReading, check_returned_offsets
from checksum.plan.pacing import UNPACED, Stretch
from checksum.spark.failures import failure_text, reading_failure
from checksum.spark.session import READING_ERRORS
from fleet.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, Row, SparkSession


def bucket_counts(
    spark: SparkSession, options: Mapping[str, str], reading: Reading, *, sizes: bool
) -> DataFrame:
    """Return place, bucket, records, first_offset, last_offset and bytes (0 without `sizes`).

    Only a record's place and timestamp are used, and its size if a rate is to be kept.
    """
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


MOST_ROWS: Final = 2_000_000  # of one slice; rows are in the driver's memory


@dataclass(frozen=True, slots=True)
class SideCount(SideReading):
    """Counts one side of a plan."""

    def run(
        self, *, max_rate: float | None = None, slice_offsets: int = UNPACED.offsets
    ) -> Iterator[CountProgress]:
        """Count everything; yield the progress after each slice. `max_rate` is in bytes per second.

        Raises UnavailableError and RefusedError if the cluster or Spark fails, ConfigurationError if
        timestamps spread over too many buckets.
        """
        left = [
            Stretch(place.number, place.offsets.first, place.offsets.until)
            for place in self.places
            if place.offsets.span
        ]
        of_offsets, of_partitions = sum(one.span for one in left), len(left)
        slices = self.paced(left, max_rate=max_rate, slice_offsets=slice_offsets)
        offsets = records = size_bytes = 0
        yield CountProgress(0, of_offsets, 0, of_partitions, 0, 0)
        while taken := slices.next():
            found = self._slice(taken, sizes=max_rate is not None)
            rows = tuple(row for row, _ in found)
            if max_rate is not None:
                slices.read(self._counts(found))
            offsets += sum(one.span for one in taken)
            records += sum(row.records for row in rows)
            size_bytes += sum(size for _, size in found)
            yield CountProgress(
                offsets,
                of_offsets,
                of_partitions - len({one.place for one in slices.left}),
                of_partitions,
                records,
                size_bytes,
                self._empty_ranges(taken, rows),
                rows,
            )

    def _slice(self, taken: Sequence[Stretch], *, sizes: bool) -> list[tuple[BucketCount, int]]:
        bounds = {one.place: one for one in taken}
        found: list[tuple[BucketCount, int]] = []
        for timestamps, some in groupby(sorted(taken, key=self._timed), self._timed):
            reading = Reading(self.plan, self.side, self.places, tuple(some), False, timestamps, False)
            try:
                frame = bucket_counts(self.spark, self.cluster.options, reading, sizes=sizes)
                rows = frame.limit(MOST_ROWS + 1).collect()
            except READING_ERRORS as error:
                raise reading_failure(
                    failure_text(error),
                    cluster=self.cluster.alias,
                    doing="counting",
                    secrets=self.cluster.secrets,
                ) from None
            if len(rows) > MOST_ROWS:
                raise self._scattered()
            found += [(self._row(row, bounds[row["place"]]), int(row[SIZE_BYTES])) for row in rows]
        return found

    def _row(self, row: Row, asked: Stretch) -> BucketCount:
        place = self.places[asked.place]
        found = BucketCount(
            place.topic,
            place.partition,
            *(int(row[name]) for name in ("bucket", "records", "first_offset", "last_offset")),
        )
        check_returned_offsets(
            found.first_offset, found.last_offset, asked, cluster=self.cluster.alias, place=place
        )
        return found

    def _counts(self, found: Sequence[tuple[BucketCount, int]]) -> dict[int, tuple[int, int]]:
        numbers = {(place.topic, place.partition): place.number for place in self.places}
        sums: dict[int, tuple[int, int]] = {}
        for row, size in found:
            number = numbers[row.topic, row.partition]
            records, known = sums.get(number, (0, 0))
            sums[number] = (records + row.records, known + size)
        return sums

    def _empty_ranges(
        self, taken: Sequence[Stretch], rows: Sequence[BucketCount]
    ) -> tuple[tuple[str, int, int, int], ...]:
        heard = {(row.topic, row.partition) for row in rows}
        places = [(self.places[one.place], one) for one in taken]
        return tuple(
            (place.topic, place.partition, one.first, one.until)
            for place, one in places
            if (place.topic, place.partition) not in heard
        )

    def _timed(self, stretch: Stretch) -> bool:
        return self.places[stretch.place].timestamps

    def _scattered(self) -> ConfigurationError:
        return ConfigurationError(
            [
                Problem(
                    f"cluster {self.cluster.alias}",
                    "",
                    f"record timestamps spread over more than {MOST_ROWS} buckets; raise checksum.bucket, or"
                    " count fewer topics at once",
                )
            ]
        )
