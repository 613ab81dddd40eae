"""A side's digest as Parquet files, on any file system that Spark knows; half-written ones are refused.

    FOLDER/cells/slice=7/…    the cells of one slice
    FOLDER/slices/slice=7/…   what of the plan it read, and how many cells came; written after them

Each row says the plan's id, the hash's version and the side, so that files mixed up by hand are found out. A
slice counts once its second part is there; one without is written anew. A digest is whole when its slices
cover exactly the plan's ranges of its side.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's own documentation uses
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from checksum.cell_rows import CellRow
from checksum.digest_coverage import SliceRow, foreign, uncovered
from checksum.digest_query import SIZE_BYTES
from checksum.spark_failures import folder_failure, java_cause
from fleet.errors import ConfigurationError, Problem, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from checksum.digest_coverage import Stamp
    from checksum.places import Place

MOST_CELLS: Final = 1_000_000  # of one slice
MOST_ROWS: Final = 5_000_000  # of a digest, in the memory of the program that compares
_STAMP: Final = ("plan_id", "version", "side")
_SUMS: Final = CellRow._fields[4:15]


def _column(name: str) -> StructField:
    kind = {"plan_id": StringType(), "side": StringType(), "topic": StringType()}.get(name, LongType())
    return StructField(name, IntegerType() if name in {"version", "partition", "cell"} else kind)


_CELLS = StructType([_column(name) for name in (*_STAMP, *CellRow._fields, SIZE_BYTES)])
_SLICES = StructType([_column(name) for name in (*_STAMP, *SliceRow._fields)])


@dataclass(frozen=True, slots=True)
class PlaceCount:
    """What one slice found of a partition; offsets are None where no record came."""

    topic: str
    partition: int
    cells: int
    records: int
    size_bytes: int
    first_offset: int
    last_offset: int


class DigestFolder:
    """The files of one side's digest by one plan; `path` is anything that Spark can write to."""

    def __init__(self, spark: SparkSession, path: str, stamp: Stamp) -> None:
        self._spark = spark
        self.path = path.rstrip("/")
        self._stamp = stamp

    def slices(self) -> list[SliceRow]:
        """Return what of the plan was read by finished slices, oldest first.

        Raises ConfigurationError for files of another plan, version or side, UnavailableError where the file
        system cannot be read.
        """
        with self._told():
            found = self._read("slices", _SLICES)
            rows = [] if found is None else found.limit(MOST_ROWS).collect()
        for row in rows:
            wrong = foreign(self._stamp, row.plan_id, row.version, row.side)
            if wrong is not None:
                raise self._refused(wrong)
        return sorted(SliceRow(*(row[name] for name in SliceRow._fields)) for row in rows)

    def write_cells(self, number: int, found: DataFrame) -> list[PlaceCount]:
        """Write the cells of slice `number`, over what an interrupted one left, and return what came.

        Raises ConfigurationError where records scatter over more cells than can be compared.
        """
        where = f"{self.path}/cells/slice={number}"
        stamped = found.select(*self._stamp_columns(), *CellRow._fields, SIZE_BYTES).limit(MOST_CELLS + 1)
        self._write(stamped, where)
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
                f"the times of records scatter over more than {MOST_CELLS} cells in one slice, most of them "
                f"of {most.topic}-{most.partition}; plan with wider buckets"
            )
        return counts

    def finish(self, rows: Sequence[SliceRow]) -> None:
        """Write down that a slice was read, after its cells."""
        stamped = [(self._stamp.plan_id, self._stamp.version, str(self._stamp.side), *row) for row in rows]
        frame = self._spark.createDataFrame(stamped, _SLICES)
        self._write(frame, f"{self.path}/slices/slice={rows[0].number}")

    def cells(self, places: Sequence[Place]) -> list[CellRow]:
        """Return the rows of a whole digest, those of one cell in several slices added up.

        Raises ConfigurationError for what is half-written, of another plan, version or side, or too large.
        """
        slices = self.slices()
        missing = uncovered(places, slices)
        if missing is not None:
            raise self._refused(missing)
        with self._told():
            found = self._whole({row.number: (row.slice_cells, row.slice_records) for row in slices})
        if len(found) > MOST_ROWS:
            raise self._refused(
                f"it has more than {MOST_ROWS} cells; plan with wider buckets or fewer topics"
            )
        return [CellRow(*row) for row in found]

    def _whole(self, expected: dict[int, tuple[int, int]]) -> list[Row]:
        """Return the rows of finished slices, one more than can be held where there are too many."""
        read = self._read("cells", _CELLS)
        if read is None:
            raise self._refused("its cells are missing; digest this side again")
        whole = read.where(F.col("slice").isin(*expected))
        self._check_counts(whole, expected)
        grouped = whole.groupBy(*CellRow._fields[:4]).agg(
            *(F.sum(name).alias(name) for name in _SUMS),
            F.min("first_offset").alias("first_offset"),
            F.max("last_offset").alias("last_offset"),
        )
        found: list[Row] = grouped.select(*CellRow._fields).limit(MOST_ROWS + 1).collect()
        return found

    def _check_counts(self, whole: DataFrame, expected: dict[int, tuple[int, int]]) -> None:
        stamp = self._stamp
        ours = (
            F.col("plan_id").eqNullSafe(stamp.plan_id)
            & F.col("version").eqNullSafe(stamp.version)
            & F.col("side").eqNullSafe(str(stamp.side))
        )
        counted = whole.groupBy("slice").agg(
            F.count("*"), F.sum("records"), F.sum(F.when(ours, F.lit(0)).otherwise(F.lit(1)))
        )
        found = {int(row[0]): (int(row[1]), int(row[2]), int(row[3])) for row in counted.collect()}
        for number, (cells, records) in expected.items():
            got = found.get(number, (0, 0, 0))
            if got != (cells, records, 0):
                raise self._refused(
                    f"slice {number} holds {got[0]} cells of {got[1]} records, {got[2]} of another digest, "
                    f"where {cells} of {records} were written; digest this side into an empty folder"
                )

    def _stamp_columns(self) -> list[Column]:
        values = (self._stamp.plan_id, self._stamp.version, str(self._stamp.side))
        return [F.lit(value).alias(name) for name, value in zip(_STAMP, values, strict=True)]

    def _write(self, frame: DataFrame, where: str) -> None:
        frame.coalesce(1).write.mode("overwrite").parquet(where)

    def _read(self, part: str, schema: StructType) -> DataFrame | None:
        with_slice = StructType([*schema.fields, StructField("slice", LongType())])
        try:
            return self._spark.read.schema(with_slice).parquet(f"{self.path}/{part}")
        except AnalysisException as error:
            if error.getCondition() == "PATH_NOT_FOUND":
                return None
            raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (PySparkException, Py4JError) as error:
            said = str(error)
            told = folder_failure(said, path=self.path)
            if told is not None:
                raise told from None
            if re.search(r"FAILED_READ_FILE|is not a Parquet file", said):
                raise self._refused(
                    "holds a file that is not whole; digest this side into an empty folder"
                ) from None
            raise UnavailableError(f"{self.path}: the digest cannot be read: {java_cause(said)}") from None

    def _refused(self, sentence: str) -> ConfigurationError:
        return ConfigurationError([Problem(self.path, "", sentence)])
