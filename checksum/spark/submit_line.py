"""The spark-submit command for a run, on any master.

The driver runs where the command is typed, with Mirrorwatch's Python. Executors need only the connector: no
Python function handles a record (digest/query.py).
"""

from __future__ import annotations

import os
import re
import shlex
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from checksum.spark.paths import is_local
from checksum.spark.settings import DRIVER_OPTIONS, collector, connector, java_options

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
    """Return the command, quoted for a shell; `script` runs the command with `arguments` by `python`.

    `packages` are Maven coordinates, None if Spark's jars contain the connector. The command sets no garbage
    collector if `environ` or spark-defaults.conf does.
    """
    words = ["spark-submit", "--master", master, "--driver-memory", driver_memory]
    # --driver-java-options would replace the user's options in spark-defaults.conf.
    ours = collector(java_options(environ)) if is_local(master) else ""
    words += ["--conf", f"{DRIVER_OPTIONS}={ours}"] if ours else []
    words += ["--packages", packages] if packages is not None else []
    return shlex.join([*words, "--conf", f"spark.pyspark.driver.python={python}", script, *arguments])


def packages_to_submit(environ: Mapping[str, str], master: str) -> str | None:
    """Return the connector's coordinates for the Spark that `spark-submit` starts; None if it has it.

    That is the Spark at SPARK_HOME, or the installed PySpark, or the required version of PySpark. Jars of
    this machine are of no use to other machines.
    """
    for home in _homes(environ):
        jars = [path.name for path in (home / "jars").glob("*.jar")]
        version = next((found[1] for name in jars if (found := _CORE.fullmatch(name))), None)
        if version is not None:
            return connector(jars if is_local(master) else _core(jars), version)
    return connector((), pinned_version(requires("mirrorwatch") or ()))


def pinned_version(requirements: Iterable[str]) -> str:
    """Return the version of PySpark among a package's requirements."""
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
