"""Spark for one command: what it needs is checked first, and started when something is to be read.

Whatever Spark writes for itself is in a folder that goes with the command; where it failed, what Java said is
kept, and its place is told.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from checksum.kafka_options import client_options
from checksum.plan_document import plan_id
from checksum.spark_settings import SparkSettings, pyspark_folder
from fleet.errors import RefusedError, UnavailableError
from mirrorwatch.checksum_desk import check_master
from mirrorwatch.checksum_leaving import leaving_soon
from mirrorwatch.checksum_pace import StageTasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checksum.cell_rows import Side
    from checksum.plan_shape import Plan
    from checksum.spark_digests import SparkDigests
    from mirrorwatch.checksum_desk import Desk

_LOG = "spark.log"


class Spark:
    """Starts Spark when it is first asked for; `folder` is where digests are kept."""

    def __init__(
        self, desk: Desk, stack: ExitStack, *, master: str, scratch: Path, folder: str | None
    ) -> None:
        self._desk = desk
        self._stack = stack
        self._settings = SparkSettings(scratch / "spark", master=master)
        self._folder = folder.rstrip("/") if folder is not None else None
        self._scratch = scratch / "digests"
        self._digests: SparkDigests | None = None

    def digests(self) -> SparkDigests:
        """Return what digests; raises UnavailableError where Spark does not start."""
        if self._digests is None:
            from checksum.spark_digests import Reach, spark_digests  # noqa: PLC0415 - it needs PySpark

            desk = self._desk
            self._desk.sheet.say("Starting Spark.", indent=0)
            reach = Reach(
                _properties(desk),
                str(desk.config.mm2_path or desk.config.path),
                _beside(desk),
                desk.settings.client_id,
                desk.settings.max_rate,
            )
            self._digests = self._stack.enter_context(spark_digests(self._settings, reach, desk.clock))
        return self._digests

    def stages(self) -> list[StageTasks]:
        """Return the stages that Spark is at, none where it is not started or cannot say."""
        if self._digests is None:
            return []
        return [StageTasks(*one) for one in self._digests.stages()]

    def folder_of(self, plan: Plan, side: Side, *, beside: Path | None = None) -> str:
        """Return where a run keeps the digest of a side: in `beside` unless another place was named.

        Without either it is in a folder that goes with the command.
        """
        if beside is not None and self._folder is None:
            return str(beside / side)
        return f"{self._folder or self._scratch}/{plan_id(plan)[:12]}/{side}"


@contextmanager
def spark_for(desk: Desk, *, master: str, folder: str | None, keeps: bool = True) -> Iterator[Spark]:
    """Give Spark for a command, started when it is first asked for, and stopped with the block.

    `keeps` where digests are to be written.
    Raises UnavailableError where PySpark is not installed, and ConfigurationError for client properties that
    Java does not know.
    """
    pyspark_folder()
    for alias, properties in _properties(desk).items():
        client_options(properties, cluster=alias, file=str(desk.config.path), folder=_beside(desk))
    if keeps:
        check_master(master, folder)
    scratch = Path(tempfile.mkdtemp(prefix="mirrorwatch-checksum-"))
    try:
        with leaving_soon(scratch), ExitStack() as stack:
            yield Spark(desk, stack, master=master, scratch=scratch, folder=folder)
    except (UnavailableError, RefusedError):
        _keep_log(desk, scratch / "spark" / _LOG)
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _properties(desk: Desk) -> dict[str, dict[str, str]]:
    return {alias: dict(desk.config.topology.cluster(alias).client) for alias in desk.config.clients}


def _beside(desk: Desk) -> Path:
    return (desk.config.mm2_path or desk.config.path).parent.absolute()


def _keep_log(desk: Desk, log: Path) -> None:
    """Keep what Java said where it said anything."""
    if log.is_file() and log.stat().st_size:
        kept = Path(tempfile.mkdtemp(prefix="mirrorwatch-spark-")) / _LOG
        shutil.move(log, kept)
        desk.sheet.say(f"What Spark's Java said is in {kept}.", indent=0)
