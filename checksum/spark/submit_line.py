"""The spark-submit line that runs a command of the checksum on any master.

The driver runs where the line is typed, with the Python that mirrorwatch is installed for. Executors need
neither: no function of Python sees a record (digest/query.py), so what they need is the connector alone.
"""

from __future__ import annotations

import os
import re
import shlex
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checksum.spark.settings import DRIVER_OPTIONS, collector, connector, told_to_java

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_CORE: Final = re.compile(r"spark-core_\d+\.\d+-(\d[\w.-]*)\.jar")


def submit_line(
    arguments: Sequence[str],
    *,
    python: str,
    script: str,
    master: str,
    driver_memory: str,
    packages: str | None,
    environ: Mapping[str, str] = os.environ,
) -> str:
    """Return the line, quoted for a shell; `script` runs the command with `arguments` by `python`.

    `packages` are Maven coordinates, None where Spark has the connector among its own jars. Where `environ`,
    or the spark-defaults.conf that it leads to, names a collector for Java, the line names none.
    """
    words = ["spark-submit", "--master", master, "--driver-memory", driver_memory]
    # --driver-java-options would take the place of the operator's own, of spark-defaults.conf.
    ours = collector(told_to_java(environ)) if master.startswith("local") else ""
    words += ["--conf", f"{DRIVER_OPTIONS}={ours}"] if ours else []
    words += ["--packages", packages] if packages is not None else []
    return shlex.join([*words, "--conf", f"spark.pyspark.driver.python={python}", script, *arguments])


def packages_to_submit(environ: Mapping[str, str], master: str) -> str | None:
    """Return the connector's coordinates for the Spark that `spark-submit` starts; None where it has it.

    That is the Spark at SPARK_HOME, else the PySpark beside mirrorwatch; where neither is on this machine,
    the one that mirrorwatch asks for. What is among its jars is of no use to the machines of another master.
    """
    for home in _homes(environ):
        jars = [path.name for path in (home / "jars").glob("*.jar")]
        version = next((found[1] for name in jars if (found := _CORE.fullmatch(name))), None)
        if version is not None:
            return connector(jars if master.startswith("local") else _core(jars), version)
    return connector((), pinned_version(requires("mirrorwatch") or ()))


def pinned_version(requirements: Iterable[str]) -> str:
    """Return the version of PySpark among the requirements of a package, as its metadata spells them."""
    found = (re.match(r"pyspark\s*\(?==\s*([^\s;)]+)", one) for one in requirements)
    return next(one[1] for one in found if one is not None)


def _homes(environ: Mapping[str, str]) -> Iterable[Path]:
    if environ.get("SPARK_HOME"):
        yield Path(environ["SPARK_HOME"])
    found = find_spec("pyspark")
    if found is not None and found.origin is not None:
        yield Path(found.origin).parent


def _core(jars: Iterable[str]) -> list[str]:
    return [name for name in jars if _CORE.fullmatch(name)]
