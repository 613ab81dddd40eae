"""Spark for one command: requirements are checked first, and Spark starts when something is read.

Spark's own files are in a temporary folder. If Spark fails, its log is kept and the path is printed.
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
from mirrorwatch.checksums.interrupt import exit_after_interrupt
from mirrorwatch.checksums.log import LOG, KeptLog
from mirrorwatch.checksums.pace import StageTasks
from mirrorwatch.checksums.results.files import reason_of
from mirrorwatch.checksums.session import check_master, check_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checksum.digest.cell_rows import Side
    from checksum.digest.spark_digests import SparkDigests
    from checksum.plan.shape import Plan
    from mirrorwatch.checksums.session import Session


class Spark:
    """Starts Spark on first use; `folder` is where digests are stored.

    `kept`: an interrupted command resumes from what is stored; a run sets it itself (`folder_of`).
    """

    def __init__(
        self,
        session: Session,
        stack: ExitStack,
        *,
        master: str,
        driver_memory: str,
        scratch: Path,
        folder: str | None,
        kept: bool = False,
    ) -> None:
        self._session = session
        self._stack = stack
        self._settings = SparkSettings(scratch / "spark", master=master, driver_memory=driver_memory)
        self._log = KeptLog(session, scratch / "spark" / LOG)
        self._folder = folder.rstrip("/") if folder is not None else None
        self._scratch = scratch / "digests"
        self._digests: SparkDigests | None = None
        self._kept = kept

    def digests(self) -> SparkDigests:
        """Start Spark if needed, and return what digests; raises UnavailableError if Spark does not start."""
        if self._digests is None:
            from checksum.digest.spark_digests import ClusterAccess, spark_digests  # noqa: PLC0415 - it needs PySpark

            session = self._session
            self._session.sheet.say("Starting Spark.", indent=0)
            access = ClusterAccess(
                _properties(session),
                str(session.config.mm2_path or session.config.path),
                _beside(session),
                session.settings.client_id,
                session.settings.max_rate,
            )
            self._digests = self._stack.enter_context(spark_digests(self._settings, access, session.clock))
        return self._digests

    def may_hold(self, folder: str) -> bool:
        """Return False if a folder certainly has no digest: it is on this machine and lacks the files.

        For any other file system only Spark can answer.
        """
        master, here = self._settings.master, str(Path.cwd())
        place = local_folder(folder, master=master, here=here, environ=os.environ)
        return place is None or any(_may_be_folder(Path(place, part)) for part in ("cells", "slices"))

    def stages(self) -> list[StageTasks]:
        """Return Spark's active stages; none if Spark is not running."""
        if self._digests is None:
            return []
        return [StageTasks(*one) for one in self._digests.stages()]

    def keep_log(self) -> None:
        """Keep Spark's log, if it is not empty, and print its path."""
        self._log.keep()

    def say_interrupted(self) -> None:
        """Print that the command was interrupted, and whether its progress is saved."""
        kept = " Progress is saved: run the same command again to continue." if self._kept else ""
        self._session.sheet.say(f"Interrupted.{kept}", indent=0)

    def folder_of(self, plan: Plan, side: Side, *, beside: Path | None = None) -> str:
        """Return the folder of a side's digest: in `beside` unless `--folder` names another place.

        With neither, it is in the command's temporary folder.
        """
        self._kept = beside is not None  # together with its plan, so that the next run can resume
        if beside is not None and self._folder is None:
            return str(beside / side)
        return f"{self._folder or self._scratch}/{_name(plan)}/{side}"

    def forget(self, plan: Plan) -> None:
        """Delete a plan's digests in `--folder`; others are deleted with their plan, or with the command."""
        if self._folder is None or self._digests is None:
            return
        folder = f"{self._folder}/{_name(plan)}"
        why = self._digests.delete(folder)
        if why is not None:
            self._session.sheet.say(f"{folder}: cannot delete: {why}; it is no longer needed, delete it")


@contextmanager
def spark_for(
    session: Session,
    *,
    master: str,
    driver_memory: str,
    folder: str | None,
    option: str = "--folder",
    keeps: bool = True,
) -> Iterator[Spark]:
    """Provide Spark for a command; it starts on first use and stops with the block.

    `keeps`: digests will be written; `option` is the option that named `folder`. Raises UnavailableError if
    PySpark is missing, SPARK_HOME has no Spark or no temporary folder can be created, and ConfigurationError
    for client properties that Java does not support.
    """
    check_memory(driver_memory)
    pyspark_folder()
    check_spark_home(os.environ)
    for alias, properties in _properties(session).items():
        client_options(properties, cluster=alias, file=str(session.config.path), folder=_beside(session))
    if keeps:
        check_master(master, folder, option)
    scratch = _scratch()
    spark: Spark | None = None
    try:
        with ExitStack() as stack:
            spark = Spark(
                session,
                stack,
                master=master,
                driver_memory=driver_memory,
                scratch=scratch,
                folder=folder,
                kept=option == "--out",
            )
            stack.enter_context(exit_after_interrupt(scratch, say=spark.say_interrupted))
            yield spark
    except (UnavailableError, RefusedError):
        if spark is not None:
            spark.keep_log()
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _name(plan: Plan) -> str:
    return plan_id(plan)[:12]


def _may_be_folder(path: Path) -> bool:
    """Return whether the folder may exist; also True without the permission to look."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except PermissionError:
        return True
    except (OSError, ValueError):  # not a valid file name
        return False


def _properties(session: Session) -> dict[str, dict[str, str]]:
    return {alias: dict(session.config.topology.cluster(alias).client) for alias in session.config.clients}


def _beside(session: Session) -> Path:
    return (session.config.mm2_path or session.config.path).parent.absolute()


def _scratch() -> Path:
    """Create the command's temporary folder; raises UnavailableError if that fails."""
    try:
        return Path(tempfile.mkdtemp(prefix="mirrorwatch-checksum-"))
    except OSError as error:
        raise UnavailableError(
            f"cannot create a temporary folder for Spark: {reason_of(error)}; free space in the folder for"
            " temporary files, or name another in TMPDIR"
        ) from error
