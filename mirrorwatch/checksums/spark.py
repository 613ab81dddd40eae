"""Spark for one command: what it needs is checked first, and started when something is to be read.

Whatever Spark writes for itself is in a folder that goes with the command; where it failed, what Java said is
kept, and its place is told.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from checksum.digest.kafka_options import client_options
from checksum.plan.document import plan_id
from checksum.spark.paths import local_folder
from checksum.spark.settings import SparkSettings, check_spark_home, pyspark_folder
from fleet.errors import RefusedError, UnavailableError
from mirrorwatch.checksums.desk import check_master, check_memory
from mirrorwatch.checksums.leaving import leaving_soon
from mirrorwatch.checksums.log import LOG, KeptLog
from mirrorwatch.checksums.pace import StageTasks
from mirrorwatch.checksums.results.files import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checksum.digest.cell_rows import Side
    from checksum.digest.spark_digests import SparkDigests
    from checksum.plan.shape import Plan
    from mirrorwatch.checksums.desk import Desk


class Spark:
    """Starts Spark when it is first asked for; `folder` is where digests are kept.

    `kept` where the same command goes on with what is there; a run says so itself (`folder_of`).
    """

    def __init__(
        self,
        desk: Desk,
        stack: ExitStack,
        *,
        master: str,
        driver_memory: str,
        scratch: Path,
        folder: str | None,
        kept: bool = False,
    ) -> None:
        self._desk = desk
        self._stack = stack
        self._settings = SparkSettings(scratch / "spark", master=master, driver_memory=driver_memory)
        self._log = KeptLog(desk, scratch / "spark" / LOG)
        self._folder = folder.rstrip("/") if folder is not None else None
        self._scratch = scratch / "digests"
        self._digests: SparkDigests | None = None
        self._kept = kept

    def digests(self) -> SparkDigests:
        """Return what digests; raises UnavailableError where Spark does not start."""
        if self._digests is None:
            from checksum.digest.spark_digests import Reach, spark_digests  # noqa: PLC0415 - it needs PySpark

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

    def may_hold(self, folder: str) -> bool:
        """Tell whether a digest may be in a folder: surely none is where one of this machine lacks its files.

        Spark need not be started for that; of any other file system only Spark can tell.
        """
        master, here = self._settings.master, str(Path.cwd())
        place = local_folder(folder, master=master, here=here, environ=os.environ)
        return place is None or any(_may_be_folder(Path(place, part)) for part in ("cells", "slices"))

    def stages(self) -> list[StageTasks]:
        """Return the stages that Spark is at, none where it is not started or cannot say."""
        if self._digests is None:
            return []
        return [StageTasks(*one) for one in self._digests.stages()]

    def keep_log(self) -> None:
        """Keep what Java said, where it said anything, and tell where."""
        self._log.keep()

    def say_interrupted(self) -> None:
        """Tell that the command was interrupted, and whether what was read is kept."""
        kept = " What was read is kept: the same command goes on with it." if self._kept else ""
        self._desk.sheet.say(f"Interrupted.{kept}", indent=0)

    def folder_of(self, plan: Plan, side: Side, *, beside: Path | None = None) -> str:
        """Return where a run keeps the digest of a side: in `beside` unless another place was named.

        Without either it is in a folder that goes with the command.
        """
        self._kept = beside is not None  # with its plan, by which the next run goes on
        if beside is not None and self._folder is None:
            return str(beside / side)
        return f"{self._folder or self._scratch}/{plan_id(plan)[:12]}/{side}"


@contextmanager
def spark_for(
    desk: Desk,
    *,
    master: str,
    driver_memory: str,
    folder: str | None,
    option: str = "--folder",
    keeps: bool = True,
) -> Iterator[Spark]:
    """Give Spark for a command, started when it is first asked for, and stopped with the block.

    `keeps` where digests are to be written; `option` is how `folder` was named.
    Raises UnavailableError where PySpark is not installed, where SPARK_HOME names no Spark or nothing can be
    written for a while, and ConfigurationError for client properties that Java does not know.
    """
    check_memory(driver_memory)
    pyspark_folder()
    check_spark_home(os.environ)
    for alias, properties in _properties(desk).items():
        client_options(properties, cluster=alias, file=str(desk.config.path), folder=_beside(desk))
    if keeps:
        check_master(master, folder, option)
    scratch = _scratch()
    spark: Spark | None = None
    try:
        with ExitStack() as stack:
            spark = Spark(
                desk,
                stack,
                master=master,
                driver_memory=driver_memory,
                scratch=scratch,
                folder=folder,
                kept=option == "--out",
            )
            stack.enter_context(leaving_soon(scratch, say=spark.say_interrupted))
            yield spark
    except (UnavailableError, RefusedError):
        if spark is not None:
            spark.keep_log()
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _may_be_folder(path: Path) -> bool:
    """Tell whether there may be such a folder: where we may not look, somebody else has to tell."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except PermissionError:
        return True
    except (OSError, ValueError):  # no file system takes such a name
        return False


def _properties(desk: Desk) -> dict[str, dict[str, str]]:
    return {alias: dict(desk.config.topology.cluster(alias).client) for alias in desk.config.clients}


def _beside(desk: Desk) -> Path:
    return (desk.config.mm2_path or desk.config.path).parent.absolute()


def _scratch() -> Path:
    """Make a folder that goes with the command; raises UnavailableError where none can be made."""
    try:
        return Path(tempfile.mkdtemp(prefix="mirrorwatch-checksum-"))
    except OSError as error:
        raise UnavailableError(
            "no folder can be made for what Spark writes meanwhile: make room in the one for temporary files,"
            f" or name another in TMPDIR ({reason_of(error)})"
        ) from error
