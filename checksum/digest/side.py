"""Digest one side of a plan: slice by slice, each in one pass over Kafka, into files.

Finished slices are kept: an interrupted digest continues after them, and reads an unfinished slice again. A
slice counts only once it is completely written, so that no record counts twice.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from checksum.digest.coverage import SliceRow, remaining
from checksum.digest.header_guard import look_for_headers
from checksum.digest.query import Reading, cells
from checksum.digest.slices import SideReading, check_returned_offsets
from checksum.plan.pacing import FREE
from checksum.spark.failures import folder_failure, reading_failure, words_of
from checksum.spark.session import READING_ERRORS
from fleet.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from checksum.digest.files import DigestFolder, PlaceCount
    from checksum.plan.pacing import Stretch


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
    silent: tuple[tuple[str, int, int, int], ...]  # topic, partition, first, until that held no record


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

    def run(self, *, max_rate: float | None = None, slice_offsets: int = FREE.offsets) -> Iterator[Progress]:
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
        yield self._progress(counted, left, _silent(done))
        compacted = {place.number for place in self.places if place.compacted}
        slices = self.paced(left, max_rate=max_rate, slice_offsets=slice_offsets, whole=compacted)
        with self._translated("looking for headers"):
            look_for_headers(self.spark, self.cluster, self.places, left, wait=slices.look)
        numbers = {(place.topic, place.partition): place.number for place in self.places}
        while taken := slices.next():
            rows = self._slice(counted.slices, taken)
            slices.read({numbers[row.topic, row.partition]: (row.records, row.size_bytes) for row in rows})
            counted.slices += 1
            counted.offsets += sum(row.until - row.first for row in rows)
            counted.records += sum(row.records for row in rows)
            counted.size_bytes += sum(row.size_bytes for row in rows)
            yield self._progress(counted, slices.left, _silent(rows))

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
        silent: tuple[tuple[str, int, int, int], ...],
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
            silent=silent,
        )

    @contextmanager
    def _translated(self, doing: str) -> Iterator[None]:
        try:
            yield
        except READING_ERRORS as error:
            said = words_of(error)
            told = folder_failure(said, path=self.folder.path)
            raise told or reading_failure(
                said, cluster=self.cluster.alias, doing=doing, secrets=self.cluster.secrets
            ) from None


def _silent(rows: Sequence[SliceRow]) -> tuple[tuple[str, int, int, int], ...]:
    return tuple((row.topic, row.partition, row.first, row.until) for row in rows if not row.records)
