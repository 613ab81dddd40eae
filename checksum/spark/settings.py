"""The properties with which Spark starts: connector, quiet logs, no open port, one time zone.

The connector's coordinates follow from the installed PySpark (its version, and the Scala version of its
jars), so they always match.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checksum.spark.paths import is_local
from fleet.errors import ConfigurationError, Problem, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

CONNECTOR: Final = "spark-sql-kafka-0-10"
LOOPBACK: Final = "127.0.0.1"
DRIVER_MEMORY: Final = "1g"  # default for Spark's Java process on this machine
COLLECTOR: Final = "-XX:+UseParallelGC"  # G1 takes twice the time, as each fetch is a large object

# Java's time zone shifts timestamps before 1900 when Spark converts them, and two sites may have different
# zones.
_TIME_ZONE: Final = "-Duser.timezone=UTC"
# Ivy has no timeout: a silent repository would block forever.
_TIME_OUTS: Final = "-Dsun.net.client.defaultConnectTimeout=10000 -Dsun.net.client.defaultReadTimeout=60000"
_SHOWN: Final = 300
_READ_BY_JAVA: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
# Spark appends the user's extraJavaOptions.
DRIVER_OPTIONS: Final = "spark.driver.defaultJavaOptions"
_OURS: Final = frozenset(
    {"spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.sql.caseSensitive", "spark.sql.legacy"}
)


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """How to start Spark: `folder` is for temporary files and the log, `extra` are the user's properties.

    `extra` is visible to every user of the machine on Spark's command line: it must not contain secrets.
    """

    folder: Path
    master: str
    driver_memory: str = DRIVER_MEMORY
    extra: Mapping[str, str] = field(default_factory=dict)


def pyspark_folder() -> Path:
    """Return the folder of the installed PySpark; raises UnavailableError if there is none."""
    found = _pyspark()
    if found is None:
        raise UnavailableError(
            "PySpark is not installed; install requirements-checksum.txt of the release, or use spark-submit "
            "(mirrorwatch checksum run --print-submit prints the command)"
        )
    return found


def _pyspark() -> Path | None:
    found = find_spec("pyspark")
    return None if found is None or found.origin is None else Path(found.origin).parent


def check_spark_home(environ: Mapping[str, str]) -> None:
    """Raise UnavailableError if SPARK_HOME has no Spark, and Spark must be started from there.

    Under spark-submit, Java already runs.
    """
    home = environ.get("SPARK_HOME")
    if home is None or "PYSPARK_GATEWAY_PORT" in environ:
        return
    if os.path.isfile(Path(home, "bin", "spark-submit")):  # noqa: PTH113 - Path's own raises of a long name
        return
    raise UnavailableError(
        f"SPARK_HOME: no Spark in '{home[:_SHOWN]}'; unset it, or set it to the folder that has"
        " bin/spark-submit"
    )


def java_version(release: str) -> str:
    """Return the version from the file `release` of Java's folder, in brackets, or empty."""
    found = re.search(r'^JAVA_VERSION="?([\w.+-]{1,30})"?\s*$', release, re.MULTILINE)
    return f" ({found[1]})" if found else ""


def connector(jars: Iterable[str], version: str) -> str | None:
    """Return the Maven coordinates of the Kafka connector, or None if these jars contain it.

    `jars` are the file names in PySpark's jars folder, `version` is PySpark's.
    """
    names = list(jars)
    if any(name.startswith(CONNECTOR) for name in names):
        return None
    scala = next((found[1] for name in names if (found := re.match(r"spark-core_(\d+\.\d+)-", name))), "2.13")
    return f"org.apache.spark:{CONNECTOR}_{scala}:{version}"


def java_options(environ: Mapping[str, str]) -> str:
    """Return the Java options of the environment and of spark-defaults.conf."""
    options = [environ.get(name, "") for name in _READ_BY_JAVA]
    home = environ.get("SPARK_HOME") or _pyspark()
    folder = environ.get("SPARK_CONF_DIR") or (home and Path(home, "conf"))
    if folder:
        with suppress(OSError):
            defaults = Path(folder, "spark-defaults.conf").read_text("utf-8", errors="replace")
            options += [line for line in defaults.splitlines() if line.lstrip().startswith("spark.driver.")]
    return "\n".join(options)


def collector(told: str) -> str:
    """Return the garbage collector option; empty if `told` has one, because Java accepts only one."""
    return "" if re.search(r"-XX:[+]Use\w+GC\b", told) else COLLECTOR


def executor_options(extra: str, default: str) -> str:
    """Return `spark.executor.extraJavaOptions` with our options and the user's `extra`.

    `default` is what Spark puts before them. Our time zone is last, so that it wins.
    """
    return " ".join(filter(None, (collector(f"{default} {extra}"), extra, _TIME_ZONE)))


def spark_configuration(settings: SparkSettings, *, packages: str | None, told: str = "") -> dict[str, str]:
    """Return Spark's properties; the user's override ours, except those that the hashes depend on.

    `told` are other Java options (java_options). Executors get theirs once Spark has read the user's
    (executor_options). Raises ConfigurationError for a property that would change the hashes.
    """
    wrong = sorted(key for key in settings.extra if any(key.startswith(ours) for ours in _OURS))
    if wrong:
        raise ConfigurationError(
            [Problem("", key, "cannot be set for a checksum; the hashes depend on it") for key in wrong]
        )
    found = {
        "spark.app.name": "mirrorwatch checksum",
        "spark.master": _retrying(settings.master),
        "spark.local.dir": str(settings.folder),
        "spark.driver.memory": settings.driver_memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.redaction.regex": "(?i)secret|passw|token|jaas|credential|[.]key$|access[.]?key",
        "spark.sql.redaction.options.regex": "(?i)secret|passw|token|jaas|credential|[.]key$|url",
        "spark.sql.shuffle.partitions": "32",  # few cells; adaptive execution joins small ones
        # The newer reader converts Kafka records directly to Spark rows, without Java objects.
        "spark.sql.sources.useV1SourceList": "avro,csv,json,orc,parquet,text",
        # Data fetched beyond a slice is kept for the next slice, but not longer, to save memory.
        "spark.kafka.consumer.fetchedData.cache.timeout": "30s",
        "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "10s",
        "spark.kafka.consumer.cache.timeout": "60s",
        "spark.kafka.consumer.cache.evictorThreadRunInterval": "10s",
    }
    if is_local(settings.master):
        found |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    if packages is not None:
        found["spark.jars.packages"] = packages
    found |= settings.extra
    if packages is not None and packages not in found["spark.jars.packages"]:
        found["spark.jars.packages"] += f",{packages}"
    theirs = [found.get(key, "") for key in (DRIVER_OPTIONS, "spark.driver.extraJavaOptions")]
    ours = (collector(" ".join([told, *theirs])), _TIME_ZONE, _TIME_OUTS, theirs[0])
    found[DRIVER_OPTIONS] = " ".join(filter(None, ours))
    return found | {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.caseSensitive": "true",
    }


def _retrying(master: str) -> str:
    """Let a local master try a task three times, as a cluster does: a broker may be away briefly."""
    found = re.fullmatch(r"local\[(\d+|\*)\]", master)
    return f"local[{found[1]},3]" if found else "local[1,3]" if master == "local" else master
