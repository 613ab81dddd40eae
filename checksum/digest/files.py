"""A digest as Parquet files, on any file system that Spark supports; incomplete ones are refused.

    FOLDER/cells/slice=7/…    the cells of one slice
    FOLDER/slices/slice=7/…   what it read of the plan, and how many cells it has; written after them

Each row has the plan's id, the hash's version and the side, so that mixed files are detected. A slice counts
once its second part exists; otherwise it is written again. A digest is complete if its slices cover exactly
the plan's ranges.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from checksum.digest.cell_rows import CellRow, add
from checksum.digest.coverage import SliceRow, coverage_gap, stamp_mismatch
from checksum.digest.query import SIZE_BYTES
from checksum.digest.small_table import small_table
from checksum.spark.failures import failure_text, folder_failure, java_cause
from checksum.spark.session import READING_ERRORS
from fleet.errors import ConfigurationError, Problem, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from checksum.digest.cell_rows import CellKey
    from checksum.digest.coverage import Stamp
    from checksum.plan.places import Place

MOST_CELLS: Final = 1_000_000  # of one slice
MOST_ROWS: Final = 5_000_000  # of a digest, in the driver's memory
_STAMP: Final = ("plan_id", "version", "side")
_NO_DIGEST: Final = "no digest in this folder; digest this side into it, or name the digest's folder"


def _column(name: str) -> StructField:
    kind = {"plan_id": StringType(), "side": StringType(), "topic": StringType()}.get(name, LongType())
    return StructField(name, IntegerType() if name in {"version", "partition", "cell"} else kind)


_CELLS = StructType([_column(name) for name in (*_STAMP, *CellRow._fields, SIZE_BYTES)])
_SLICES = StructType([_column(name) for name in (*_STAMP, *SliceRow._fields)])


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """What one slice found in a partition; offsets are None without records."""

    topic: str
    partition: int
    cells: int
    records: int
    size_bytes: int
    first_offset: int
    last_offset: int


def _at(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return Hadoop's file system of a path, and the path there."""
    where = spark._jvm.org.apache.hadoop.fs.Path(path)  # type: ignore[union-attr]  # noqa: SLF001
    return where.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf()), where  # noqa: SLF001


def delete_folder(spark: SparkSession, path: str) -> str | None:
    """Delete a folder with all that is in it; return why that failed, or None."""
    try:
        system, where = _at(spark, path)
        system.delete(where, True)
    except READING_ERRORS as error:
        return java_cause(failure_text(error))
    return None


class DigestFolder:
    """The files of one side's digest of one plan; `path` is any path that Spark can write to."""

    def __init__(self, spark: SparkSession, path: str, stamp: Stamp) -> None:
        self._spark = spark
        self.path = path.rstrip("/")
        self._stamp = stamp

    def slices(self) -> list[SliceRow]:
        """Return what finished slices read of the plan, oldest first.

        Raises ConfigurationError for files of another plan, version or side, UnavailableError if the file
        system cannot be read.
        """
        with self._translated():
            found = self._read("slices", _SLICES)
            rows = [] if found is None else found.limit(MOST_ROWS).collect()
        for row in rows:
            wrong = stamp_mismatch(self._stamp, row.plan_id, row.version, row.side)
            if wrong is not None:
                raise self._refused(wrong)
        return sorted(SliceRow(*(row[name] for name in SliceRow._fields)) for row in rows)

    def write_cells(self, number: int, found: DataFrame) -> list[PlaceCount]:
        """Write the cells of slice `number`, replacing those of an interrupted one, and return the counts.

        Raises ConfigurationError if records spread over too many cells.
        """
        where = f"{self.path}/cells/slice={number}"
        stamped = found.select(*self._stamp_columns(), *CellRow._fields, SIZE_BYTES)
        # One partition before the limit, or Spark shuffles once more for it.
        self._write(stamped.coalesce(1).limit(MOST_CELLS + 1), where)
        written = self._spark.read.schema(_CELLS).parquet(where)
        rows = written.groupBy("topic", "partition").agg(
            F.count("*").alias("cells"),
            F.sum("records").alias("records"),
            F.sum(SIZE_BYTES).alias(SIZE_BYTES),
            F.min("first_offset").alias("first_offset"),
            F.max("last_offset").alias("last_offset"),
        )
        counts = [PlaceCount(**row.asDict()) for row in rows.collect()]
        if sum(count.cells for count in counts) > MOST_CELLS:
            most = max(counts, key=lambda count: count.cells)
            raise self._refused(
                f"record timestamps spread over more than {MOST_CELLS} cells in one slice, most of them in "
                f"{most.topic}-{most.partition}; raise checksum.bucket"
            )
        return counts

    def finish(self, rows: Sequence[SliceRow]) -> None:
        """Mark a slice as read, after its cells were written."""
        stamped = [(self._stamp.plan_id, self._stamp.version, str(self._stamp.side), *row) for row in rows]
        frame = small_table(self._spark, stamped, _SLICES)
        self._write(frame, f"{self.path}/slices/slice={rows[0].number}")

    def cells(self, places: Sequence[Place]) -> list[CellRow]:
        """Return the rows of a complete digest; those of one cell in several slices are added.

        Raises ConfigurationError if it is missing, incomplete, too large, or of another plan, version or
        side.
        """
        slices = self.slices()
        missing = coverage_gap(places, slices)
        if missing is not None:
            with self._translated():
                begun = bool(slices) or self._is_there("cells")
            raise self._refused(missing if begun else _NO_DIGEST)
        with self._translated():
            return self._whole({row.number: (row.slice_cells, row.slice_records) for row in slices})

    def _whole(self, expected: dict[int, tuple[int, int]]) -> list[CellRow]:
        """Return the rows of finished slices, read file by file to save memory."""
        if not expected:  # the plan reads nothing of this side
            return []
        read = self._read("cells", _CELLS)
        if read is None:
            raise self._refused("cells are missing; digest this side again")
        stamp = (self._stamp.plan_id, self._stamp.version, str(self._stamp.side))
        counted = {number: [0, 0, 0] for number in expected}
        cells: dict[CellKey, CellRow] = {}
        named = ("slice", *_STAMP, *CellRow._fields)
        for number, *rest in read.where(F.col("slice").isin(*expected)).select(*named).toLocalIterator():
            count = counted[number]
            count[0] += 1
            if tuple(rest[: len(stamp)]) != stamp:
                count[2] += 1
                continue
            row = CellRow(*rest[len(stamp) :])
            count[1] += row.records
            add(cells, row)
            if len(cells) > MOST_ROWS:
                raise self._refused(
                    f"more than {MOST_ROWS} cells; raise checksum.bucket, or name fewer topics"
                )
        for number, wanted in expected.items():
            got = counted[number]
            if got != [*wanted, 0]:
                raise self._refused(
                    f"slice {number} has {got[0]} cells with {got[1]} records and {got[2]} cells of another "
                    f"digest, not {wanted[0]} with {wanted[1]}; digest this side into an empty folder"
                )
        return list(cells.values())

    def _stamp_columns(self) -> list[Column]:
        values = (self._stamp.plan_id, self._stamp.version, str(self._stamp.side))
        return [F.lit(value).alias(name) for name, value in zip(_STAMP, values, strict=True)]

    def _write(self, frame: DataFrame, where: str) -> None:
        frame.coalesce(1).write.mode("overwrite").parquet(where)

    def _read(self, part: str, schema: StructType) -> DataFrame | None:
        if not self._is_there(part):
            return None
        with_slice = StructType([*schema.fields, StructField("slice", LongType())])
        return self._spark.read.schema(with_slice).parquet(f"{self.path}/{part}")

    def _is_there(self, part: str) -> bool:
        # Spark logs a stack trace for a missing path, and has no public function to check for it.
        system, where = _at(self._spark, f"{self.path}/{part}")
        return bool(system.exists(where))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except READING_ERRORS as error:
            said = failure_text(error)
            failure = folder_failure(said, path=self.path)
            if failure is not None:
                raise failure from None
            if re.search(r"FAILED_READ_FILE|is not a Parquet file", said):
                raise self._refused(
                    "contains an incomplete file; digest this side into an empty folder"
                ) from None
            raise UnavailableError(f"{self.path}: cannot read the digest: {java_cause(said)}") from None

    def _refused(self, sentence: str) -> ConfigurationError:
        return ConfigurationError([Problem(self.path, "", sentence)])
