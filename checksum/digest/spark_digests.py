"""Digests and counts in one Spark session, from folders and client properties."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError

from checksum.counts.side import SideCount
from checksum.digest.cell_rows import Side
from checksum.digest.coverage import Stamp
from checksum.digest.files import DigestFolder, delete_folder
from checksum.digest.kafka_options import Cluster, client_options, reading_options, secrets_of
from checksum.digest.side import SideDigest
from checksum.plan.document import plan_id
from checksum.plan.pacing import fetch_bytes
from checksum.plan.places import places_of
from checksum.spark.paths import folder_for_spark
from checksum.spark.session import spark_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import PurePath

    from pyspark.sql import SparkSession

    from checksum.counts.counting import CountProgress
    from checksum.digest.cell_rows import CellRow
    from checksum.digest.side import Progress
    from checksum.plan.places import Place
    from checksum.plan.shape import Plan
    from checksum.spark.settings import SparkSettings
    from runtime.process.clock import Clock


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """How Spark reaches the clusters, and how fast it may read.

    `properties` are client properties by alias as in `file`; relative paths of stores are resolved against
    `folder`. `max_rate` is in bytes per second and side.
    """

    properties: Mapping[str, Mapping[str, str]]
    file: str
    folder: PurePath
    client_id: str
    max_rate: float | None = None


class SparkDigests:
    """Digests and counts of sides in one Spark session."""

    def __init__(
        self, spark: SparkSession, access: ClusterAccess, clock: Clock, *, master: str = "local"
    ) -> None:
        self._spark = spark
        self._master = master
        self._access = access
        self._clock = clock

    def digest(self, plan: Plan, side: Side, folder: str) -> Iterator[Progress]:
        """Read what is not digested yet into the folder; yield the progress after each slice."""
        places = places_of(plan, side)
        work = SideDigest(
            self._spark,
            plan,
            side,
            places=places,
            cluster=self._cluster(plan, side, places),
            folder=self._folder(plan, side, folder),
            clock=self._clock,
            pause=Event().wait,
        )
        yield from work.run(max_rate=self._access.max_rate)

    def count(self, plan: Plan, side: Side) -> Iterator[CountProgress]:
        """Count a side by partition and bucket; yield the progress and the rows after each slice."""
        places = places_of(plan, side)
        work = SideCount(
            self._spark,
            plan,
            side,
            places=places,
            cluster=self._cluster(plan, side, places),
            clock=self._clock,
            pause=Event().wait,
        )
        yield from work.run(max_rate=self._access.max_rate)

    def stages(self) -> list[tuple[int, int, int]]:
        """Return the active stages: id, tasks, tasks done; none if Java has ended."""
        try:
            tracker = self._spark.sparkContext.statusTracker()
            found = [(number, tracker.getStageInfo(number)) for number in tracker.getActiveStageIds()]
        except (Py4JError, OSError):
            return []
        return [(number, one.numTasks, one.numCompletedTasks) for number, one in found if one is not None]

    def cells(self, plan: Plan, side: Side, folder: str) -> list[CellRow]:
        """Return the rows of a complete digest."""
        return self._folder(plan, side, folder).cells(places_of(plan, side))

    def delete(self, folder: str) -> str | None:
        """Delete a folder of digests; return why that failed, or None."""
        return delete_folder(self._spark, self._place(folder))

    def _place(self, folder: str) -> str:
        return folder_for_spark(folder, master=self._master, here=str(Path.cwd()))

    def _folder(self, plan: Plan, side: Side, folder: str) -> DigestFolder:
        return DigestFolder(self._spark, self._place(folder), Stamp(plan_id(plan), plan.version, side))

    def _cluster(self, plan: Plan, side: Side, places: Sequence[Place]) -> Cluster:
        source = side is Side.SOURCE
        alias = plan.source if source else plan.target
        properties = self._access.properties[alias]
        options = client_options(
            properties, cluster=alias, file=self._access.file, folder=self._access.folder
        ) | reading_options(
            client_id=self._access.client_id,
            digest=f"{plan_id(plan)[:12]}-{side}",
            isolation=plan.isolation_source if source else plan.isolation_target,
            fetch_bytes=fetch_bytes(
                self._access.max_rate, places=sum(place.offsets.span > 0 for place in places)
            ),
        )
        return Cluster(alias, options, secrets_of(properties.items()))


@contextmanager
def spark_digests(settings: SparkSettings, access: ClusterAccess, clock: Clock) -> Iterator[SparkDigests]:
    """Provide digests in a Spark session that ends with the block.

    Raises UnavailableError if Java is missing or unusable, or the connector cannot be downloaded.
    """
    with spark_session(settings) as session:
        yield SparkDigests(session, access, clock, master=settings.master)
