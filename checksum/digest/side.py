"""Digest one side of a plan: slice by slice, each in one pass over Kafka, into files.

Finished slices are kept: an interrupted digest continues after them, and reads an unfinished slice again. A
slice counts only once it is completely written, so that no record counts twice.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses

from checksum.digest.coverage import SliceRow, remaining
from checksum.digest.query import Reading, cells, records
from checksum.digest.slices import SideReading, check_returned_offsets
from checksum.plan.pacing import UNPACED, Stretch
from checksum.plan.shape import OutdatedPlanError
from checksum.spark.failures import failure_text, folder_failure, reading_failure
from checksum.spark.session import READING_ERRORS
from fleet.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from checksum.digest.files import DigestFolder, PlaceCount
    from checksum.digest.kafka_options import Cluster
    from checksum.plan.places import Place

NEWEST_OFFSETS: Final = 1000  # of each partition, checked for headers


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a digest after a slice: of the whole plan, including earlier attempts."""

    slices: int
    offsets: int  # covered so far
    of_offsets: int
    partitions: int  # read to their ends
    of_partitions: int
    records: int
    size_bytes: int
    empty_ranges: tuple[tuple[str, int, int, int], ...]  # topic, partition, first, until that held no record


@dataclass(slots=True)
class _Counted:
    slices: int = 0
    offsets: int = 0
    records: int = 0
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SideDigest(SideReading):
    """Digests one side of a plan into a folder."""

    folder: DigestFolder

    def run(
        self, *, max_rate: float | None = None, slice_offsets: int = UNPACED.offsets
    ) -> Iterator[Progress]:
        """Read what is not digested yet; yield the progress after each slice.

        `max_rate` is in bytes per second; a slice has at most `slice_offsets`. Raises UnavailableError and
        RefusedError if the cluster or Spark fails, ConfigurationError if the folder has another digest,
        OutdatedPlanError for headers that the plan does not expect.
        """
        done = self.folder.slices()
        left = remaining(self.places, done)
        if isinstance(left, str):
            raise ConfigurationError([Problem(self.folder.path, "", left)])
        counted = _Counted(
            slices=max((row.number for row in done), default=-1) + 1,
            offsets=sum(row.until - row.first for row in done),
            records=sum(row.records for row in done),
            size_bytes=sum(row.size_bytes for row in done),
        )
        yield self._progress(counted, left, _empty_ranges(done))
        compacted = {place.number for place in self.places if place.compacted}
        slices = self.paced(left, max_rate=max_rate, slice_offsets=slice_offsets, whole=compacted)
        with self._translated("looking for headers"):
            check_for_headers(self.spark, self.cluster, self.places, left, wait=slices.wait_for)
        numbers = {(place.topic, place.partition): place.number for place in self.places}
        while taken := slices.next():
            rows = self._slice(counted.slices, taken)
            slices.read({numbers[row.topic, row.partition]: (row.records, row.size_bytes) for row in rows})
            counted.slices += 1
            counted.offsets += sum(row.until - row.first for row in rows)
            counted.records += sum(row.records for row in rows)
            counted.size_bytes += sum(row.size_bytes for row in rows)
            yield self._progress(counted, slices.left, _empty_ranges(rows))

    def _slice(self, number: int, taken: Sequence[Stretch]) -> list[SliceRow]:
        """Read and write one slice, and check its counts against the requested offsets."""
        with self._translated("digesting"):
            frames = [cells(self.spark, self.cluster.options, reading) for reading in self._readings(taken)]
            counts = self.folder.write_cells(number, reduce(DataFrame.unionByName, frames))
        found = {(count.topic, count.partition): count for count in counts}
        total = (sum(count.cells for count in counts), sum(count.records for count in counts))
        rows = [self._row(number, stretch, found, total) for stretch in taken]
        with self._translated("writing the digest"):
            self.folder.finish(rows)
        return rows

    def _row(
        self,
        number: int,
        stretch: Stretch,
        found: Mapping[tuple[str, int], PlaceCount],
        total: tuple[int, int],
    ) -> SliceRow:
        place = self.places[stretch.place]
        count = found.get((place.topic, place.partition))
        if count is None:
            return SliceRow(
                number, place.topic, place.partition, stretch.first, stretch.until, 0, 0, None, None, *total
            )
        check_returned_offsets(
            count.first_offset, count.last_offset, stretch, cluster=self.cluster.alias, place=place
        )
        return SliceRow(
            number,
            place.topic,
            place.partition,
            stretch.first,
            stretch.until,
            count.records,
            count.size_bytes,
            count.first_offset,
            count.last_offset,
            *total,
        )

    def _readings(self, stretches: Sequence[Stretch]) -> list[Reading]:
        """Group what is read alike: headers cost a quarter of the speed and are read only if present."""

        def kind(stretch: Stretch) -> tuple[bool, bool, bool]:
            place = self.places[stretch.place]
            return place.headers, place.timestamps, place.compacted

        return [
            Reading(self.plan, self.side, self.places, tuple(held), *alike)
            for alike, held in groupby(sorted(stretches, key=kind), kind)
        ]

    def _progress(
        self,
        counted: _Counted,
        left: Sequence[Stretch],
        empty_ranges: tuple[tuple[str, int, int, int], ...],
    ) -> Progress:
        of_partitions = sum(place.offsets.span > 0 for place in self.places)
        return Progress(
            slices=counted.slices,
            offsets=counted.offsets,
            of_offsets=sum(place.offsets.span for place in self.places),
            partitions=of_partitions - len({one.place for one in left}),
            of_partitions=of_partitions,
            records=counted.records,
            size_bytes=counted.size_bytes,
            empty_ranges=empty_ranges,
        )

    @contextmanager
    def _translated(self, doing: str) -> Iterator[None]:
        try:
            yield
        except READING_ERRORS as error:
            said = failure_text(error)
            failure = folder_failure(said, path=self.folder.path)
            raise failure or reading_failure(
                said, cluster=self.cluster.alias, doing=doing, secrets=self.cluster.secrets
            ) from None


def _empty_ranges(rows: Sequence[SliceRow]) -> tuple[tuple[str, int, int, int], ...]:
    return tuple((row.topic, row.partition, row.first, row.until) for row in rows if not row.records)


def check_for_headers(
    spark: SparkSession,
    cluster: Cluster,
    places: Sequence[Place],
    left: Sequence[Stretch],
    *,
    wait: Callable[[Sequence[Stretch]], object],
) -> None:
    """Count headers among the newest unread records of topics planned without them.

    Reading headers costs a quarter of the speed, so a topic whose sample had none is read without them. This
    check detects producers that started to send headers, but not a single header among older records.

    `places` are all of the side, `left` is in the plan's order; `wait` is called with what is read next, to
    keep the rate. Raises OutdatedPlanError if there are headers, and Spark's own errors.
    """
    newest: dict[int, Stretch] = {}
    for stretch in left:  # in order, so that the last one of a place is kept
        if not places[stretch.place].headers:
            first = max(stretch.first, stretch.until - NEWEST_OFFSETS)
            newest[stretch.place] = Stretch(stretch.place, first, stretch.until)
    stretches = list(newest.values())
    for start in range(0, len(stretches), UNPACED.places):
        chunk = tuple(stretches[start : start + UNPACED.places])
        wait(chunk)
        read = records(spark, cluster.options, places, chunk, headers=True)
        found = read.where(F.size("headers") > 0).groupBy("topic").count().collect()
        if found:
            topic, count = max(((row[0], row[1]) for row in found), key=lambda row: row[1])
            raise OutdatedPlanError(
                f"cluster {cluster.alias}: {count} of the newest records of {topic} have headers, but the "
                "plan says that it has none; plan again"
            )
