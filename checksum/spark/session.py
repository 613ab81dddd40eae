"""Start and stop Spark: one session, Java's output in a file, one error text for every failure.

Under spark-submit, Java already runs with its options; otherwise it is launched here.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import threading
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext, __version__
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from checksum.spark.failures import launch_failure
from checksum.spark.paths import absolute_folders, is_local
from checksum.spark.settings import (
    LOOPBACK,
    connector,
    executor_options,
    java_options,
    java_version,
    pyspark_folder,
    spark_configuration,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from checksum.spark.settings import SparkSettings

# Rows are read from a socket, not through Py4J.
READING_ERRORS: Final = (PySparkException, Py4JError, EOFError, OSError)


LOG_FILE = "spark.log"
_SAID_BYTES = 200_000
_GRACE_S = 20.0
_WARNS_OF_GROUPS = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


@contextmanager
def spark_session(settings: SparkSettings) -> Iterator[SparkSession]:
    """Provide a session that ends, with its Java process, when the block is left.

    Java's output goes to `spark.log` in the settings' folder. Raises UnavailableError if Java is missing or
    unusable, or the connector cannot be downloaded.
    """
    settings.folder.mkdir(parents=True, exist_ok=True)
    os.environ["PYSPARK_PYTHON"] = sys.executable  # a cluster's default may be another Python
    os.environ.update(absolute_folders(os.environ, here=str(Path.cwd())))
    if is_local(settings.master):  # otherwise Java looks up the name of the machine, which may be unknown
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    packages = None if submitted else connector(_jars(), __version__)
    configuration = SparkConf(loadDefaults=False).setAll(
        list(spark_configuration(settings, packages=packages, told=java_options(os.environ)).items())
    )
    gateway = _launch(configuration, settings.folder / LOG_FILE, packages)
    session: SparkSession | None = None
    # Py4J logs tracebacks if Java ends first; our calls already report that.
    logging.getLogger().addFilter(_is_not_of_py4j)
    try:
        session = _open(gateway, configuration, settings.folder / LOG_FILE, packages)
        yield session
    finally:
        _close(gateway, session)
        logging.getLogger().removeFilter(_is_not_of_py4j)


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"


def _jars() -> list[str]:
    # If SPARK_HOME is set, PySpark starts that Spark.
    home = Path(os.environ.get("SPARK_HOME") or pyspark_folder())
    return [path.name for path in (home / "jars").glob("*.jar")]


def _java() -> str:
    """Return where Java is, with its version if known."""
    home = os.environ.get("JAVA_HOME")
    place = f"{home}/bin/java" if home else shutil.which("java") or "no place"
    with suppress(OSError, RuntimeError):  # RuntimeError: a cycle of links, on Python 3.11
        release = (Path(place).resolve().parent.parent / "release").read_text("utf-8", errors="replace")
        return f"{place}{java_version(release)}"
    return place


def _launch(configuration: SparkConf, log: Path, packages: str | None) -> Any:
    with log.open("ab") as said:
        begun_at = said.tell()
        # Output goes to a file, in which failures are found. Spark creates a folder `artifacts` in its
        # current folder, and fails without permission (SPARK-52396).
        process = {"stdout": said, "stderr": said, "cwd": str(log.parent)}
        try:
            return launch_gateway(configuration, process)
        except (PySparkException, OSError) as error:
            raise launch_failure(_output(log, begun_at), java=_java(), packages=packages) from error


def _open(gateway: Any, configuration: SparkConf, log: Path, packages: str | None) -> SparkSession:
    # Executors get it at launch; a driver started by spark-submit does not.
    zone = gateway.jvm.java.util.TimeZone
    zone.setDefault(zone.getTimeZone("UTC"))
    try:
        conf = gateway.jvm.SparkConf()  # with spark-submit's options and spark-defaults.conf
        theirs = [conf.get(f"spark.executor.{one}JavaOptions", "") for one in ("extra", "default")]
        configuration.set("spark.executor.extraJavaOptions", executor_options(*theirs))
        with _own_interrupt():
            session = SparkSession(SparkContext(conf=configuration, gateway=gateway))
    except (Py4JError, PySparkException, ValueError) as error:
        raise launch_failure(f"{_output(log, 0)}\n{error}", java=_java(), packages=packages) from error
    _reduce_logging(gateway.jvm, session.sparkContext)
    return session


def _reduce_logging(jvm: Any, context: SparkContext) -> None:
    """Have Spark log warnings only; with another logging library it may log more."""
    with suppress(Py4JError):
        context.setLogLevel("WARN")
    # For each reading, Spark warns that others may join the group; nothing joins ours.
    with suppress(Py4JError, TypeError):  # Py4J takes a missing class for a package
        log4j = jvm.org.apache.logging.log4j
        log4j.core.config.Configurator.setLevel(_WARNS_OF_GROUPS, log4j.Level.ERROR)
    # PySpark's accumulator server prints a traceback if Java ends first; our calls already report that.
    server = context._accumulatorServer  # noqa: SLF001 - there is no public function
    setattr(server, "handle_error", lambda _request, _address: None)  # noqa: B010 - it is a method


@contextmanager
def _own_interrupt() -> Iterator[None]:
    """Keep our Ctrl-C handler: PySpark's calls Java during another call, which may fail."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)


def _output(log: Path, begun_at: int) -> str:
    with log.open("rb") as file:
        file.seek(max(begun_at, log.stat().st_size - _SAID_BYTES))
        return file.read().decode("utf-8", errors="replace")


def _close(gateway: Any, session: SparkSession | None) -> None:
    with suppress(Py4JError, PySparkException, OSError), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # Java may have ended already
        if session is not None:
            session.stop()
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    # PySpark would reuse the closed gateway for the next context.
    SparkContext._gateway = None  # noqa: SLF001
    SparkContext._jvm = None  # noqa: SLF001
    process = getattr(gateway, "proc", None)
    if process is not None:
        process.stdin.close()  # ends Java
        try:
            process.wait(_GRACE_S)
        except TimeoutExpired:
            process.kill()
            process.wait(_GRACE_S)
