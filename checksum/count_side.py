"""Count one side of a plan, slice after slice, by partition and bucket.

Slices and their pace are those of a digest (pacing.py). Nothing is written down: a pass that is interrupted
begins anew, since all of it is one cheap read.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from checksum.count_query import bucket_counts
from checksum.counting import BucketCount, CountProgress
from checksum.digest_query import SIZE_BYTES, Reading
from checksum.pacing import (
    FREE,
    OVERHEAD_BYTES,
    Dues,
    Stretch,
    corrected,
    estimate,
    expected_bytes,
    measure,
    take,
)
from checksum.spark_failures import reading_failure
from fleet.errors import ConfigurationError, Problem, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Row, SparkSession

    from checksum.cell_rows import Side
    from checksum.digest import Pause
    from checksum.kafka_options import Cluster
    from checksum.places import Place
    from checksum.plan_shape import Plan
    from runtime.clock import Clock

MOST_ROWS: Final = 2_000_000  # of one slice: rows are in the memory of the program that compares
_SLICE_S: Final = 10.0


class SideCount:
    """Counts one side of a plan."""

    def __init__(
        self,
        spark: SparkSession,
        plan: Plan,
        side: Side,
        *,
        places: Sequence[Place],
        cluster: Cluster,
        clock: Clock,
        pause: Pause,
    ) -> None:
        self._spark = spark
        self._plan = plan
        self._side = side
        self._places = places
        self._cluster = cluster
        self._clock = clock
        self._pause = pause

    def run(
        self, *, max_rate: float | None = None, slice_offsets: int = FREE.offsets
    ) -> Iterator[CountProgress]:
        """Count everything, and give the progress after each slice; `max_rate` is in bytes a second.

        Raises UnavailableError and RefusedError where the cluster or Spark fails, ConfigurationError where
        times scatter over more buckets than can be compared.
        """
        left = [
            Stretch(place.number, place.offsets.first, place.offsets.until)
            for place in self._places
            if place.offsets.span
        ]
        of_offsets, of_partitions = sum(one.span for one in left), len(left)
        sizes = {place.number: estimate(place.record_bytes) for place in self._places}
        most = measure(max_rate, slice_s=_SLICE_S)
        most = type(most)(most.size_bytes, slice_offsets, most.places)
        offsets = records = size_bytes = 0
        yield CountProgress(0, of_offsets, 0, of_partitions, 0, 0)
        dues = Dues(max_rate, now_s=self._clock.monotonic_ns() / 1e9)
        while left:
            taken, left = take(left, sizes, most)
            expected = expected_bytes(taken, sizes)
            self._pause(dues.wait_s(expected, now_s=self._clock.monotonic_ns() / 1e9))
            found = self._slice(taken, sizes=max_rate is not None)
            rows = tuple(row for row, _ in found)
            if max_rate is not None:
                self._learn(sizes, found)
            offsets += sum(one.span for one in taken)
            records += sum(row.records for row in rows)
            read_bytes = sum(size for _, size in found)
            size_bytes += read_bytes
            dues.pay(read_bytes + OVERHEAD_BYTES * sum(row.records for row in rows))
            yield CountProgress(
                offsets,
                of_offsets,
                of_partitions - len({one.place for one in left}),
                of_partitions,
                records,
                size_bytes,
                self._silent(taken, rows),
                rows,
            )

    def _slice(self, taken: Sequence[Stretch], *, sizes: bool) -> list[tuple[BucketCount, int]]:
        bounds = {one.place: one for one in taken}
        found: list[tuple[BucketCount, int]] = []
        for timestamps, some in groupby(sorted(taken, key=self._timed), self._timed):
            reading = Reading(self._plan, self._side, self._places, tuple(some), False, timestamps, False)
            try:
                frame = bucket_counts(self._spark, self._cluster.options, reading, sizes=sizes)
                rows = frame.limit(MOST_ROWS + 1).collect()
            except (PySparkException, Py4JError) as error:
                raise reading_failure(
                    str(error), cluster=self._cluster.alias, doing="counting", secrets=self._cluster.secrets
                ) from None
            if len(rows) > MOST_ROWS:
                raise self._scattered()
            found += [(self._row(row, bounds[row["place"]]), int(row[SIZE_BYTES])) for row in rows]
        return found

    def _row(self, row: Row, asked: Stretch) -> BucketCount:
        place = self._places[asked.place]
        found = BucketCount(
            place.topic,
            place.partition,
            *(int(row[name]) for name in ("bucket", "records", "first_offset", "last_offset")),
        )
        if not asked.first <= found.first_offset <= found.last_offset < asked.until:
            raise UnavailableError(
                f"cluster {self._cluster.alias}: Spark gave offsets {found.first_offset} to"
                f" {found.last_offset} of {place.read_as}-{place.partition} where {asked.first} to"
                f" {asked.until - 1} were asked for; nothing is told by them"
            )
        return found

    def _learn(self, sizes: dict[int, float], found: Sequence[tuple[BucketCount, int]]) -> None:
        numbers = {(place.topic, place.partition): place.number for place in self._places}
        sums: dict[int, tuple[int, int]] = {}
        for row, size in found:
            number = numbers[row.topic, row.partition]
            records, known = sums.get(number, (0, 0))
            sums[number] = (records + row.records, known + size + OVERHEAD_BYTES * row.records)
        for number, (records, size) in sums.items():
            sizes[number] = corrected(sizes[number], records=records, size_bytes=size)

    def _silent(
        self, taken: Sequence[Stretch], rows: Sequence[BucketCount]
    ) -> tuple[tuple[str, int, int, int], ...]:
        heard = {(row.topic, row.partition) for row in rows}
        places = [(self._places[one.place], one) for one in taken]
        return tuple(
            (place.topic, place.partition, one.first, one.until)
            for place, one in places
            if (place.topic, place.partition) not in heard
        )

    def _timed(self, stretch: Stretch) -> bool:
        return self._places[stretch.place].timestamps

    def _scattered(self) -> ConfigurationError:
        return ConfigurationError(
            [
                Problem(
                    f"cluster {self._cluster.alias}",
                    "",
                    f"the times of records scatter over more than {MOST_ROWS} buckets; set checksum.bucket"
                    " wider, or count fewer topics at once",
                )
            ]
        )
