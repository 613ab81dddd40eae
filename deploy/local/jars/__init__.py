"""Kafka's jars by Maven coordinates, in a cache outside the checkout, each checked by its sha256 sum.

The coordinates of a version stand in `kafka-<version>.xml`, the sums in `kafka-<version>.sha256`, both
beside this file. The cache is `$XDG_CACHE_HOME/mirrorwatch/kafka-<version>` (or below `~/.cache`).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parent
VERSIONS = {"4.3": "4.3.0", "4.3.0": "4.3.0", "3.9": "3.9.2", "3.9.2": "3.9.2"}


class StackError(Exception):
    """The local stack cannot be had on this machine; the text says why and what to do."""


def kafka_version() -> str:
    """Return the Kafka version of this run: that of MIRRORWATCH_KAFKA (4.3 or 3.9), 4.3.0 unless set."""
    asked = os.environ.get("MIRRORWATCH_KAFKA", "") or "4.3"
    if asked not in VERSIONS:
        raise StackError(f"MIRRORWATCH_KAFKA is '{asked}': the stack knows {', '.join(VERSIONS)}")
    return VERSIONS[asked]


def cache() -> Path:
    """Return the folder that outlives checkouts, made if it is missing."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(root) / "mirrorwatch"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def alone(name: str) -> Iterator[None]:
    """Hold a lock in the cache, so that of several processes one makes a thing and the others wait for it."""
    with (cache() / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def jars(version: str | None = None) -> Path:
    """Return the folder with the jars of a Kafka version, fetched with Maven when the cache lacks them.

    The folder appears whole or not at all. Raises StackError when Maven is missing or fails, or when a jar
    is not the one whose sum is committed.
    """
    version = VERSIONS[version] if version else kafka_version()
    folder = cache() / f"kafka-{version}"
    if folder.is_dir():
        return folder
    with alone(f"kafka-{version}"):
        if not folder.is_dir():
            _fetch(version, folder)
    return folder


def _fetch(version: str, folder: Path) -> None:
    print(f"Fetching Kafka {version} with Maven (once)", flush=True)
    work = Path(tempfile.mkdtemp(prefix=f".kafka-{version}-", dir=folder.parent))
    try:
        fetched(f"kafka-{version}", work).rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def fetched(name: str, work: Path, **properties: str) -> Path:
    """Fetch the jars of `name.xml` beside this file into a folder inside `work`, and return that folder.

    `properties` are those that `name.xml` leaves open, such as `spark_version` for `${spark.version}`.
    Raises StackError when Maven is missing or fails, or when a jar is not the one in `name.sha256`.
    """
    if shutil.which("mvn") is None:
        raise StackError("Maven (mvn) is missing; on Debian: apt-get install --no-install-recommends maven")
    libs = work / "libs"
    outcome = subprocess.run(
        ["mvn", "-q", "-B", "-f", str(_HERE / f"{name}.xml"), "dependency:copy-dependencies",
         f"-DoutputDirectory={libs}", "-DincludeScope=runtime",
         *(f"-D{key.replace('_', '.')}={value}" for key, value in properties.items())],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if outcome.returncode != 0:
        error = next((line for line in outcome.stdout.splitlines() if "ERROR" in line), outcome.stderr[:500])
        raise StackError(f"Maven could not fetch {name}: {error}")
    verify(libs, _HERE / f"{name}.sha256")
    return libs


def verify(folder: Path, sums: Path) -> None:
    """Compare every file of `folder` with the lines of `sums` (as sha256sum writes them).

    Raises StackError that names each file that is missing, unknown or different.
    """
    lines = (line.split(maxsplit=1) for line in sums.read_text(encoding="ascii").splitlines())
    expected = {name: digest for digest, name in lines}
    found = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}
    wrong = [
        *(f"{name} is missing" for name in sorted(expected.keys() - found.keys())),
        *(f"{name} is not in {sums.name}" for name in sorted(found.keys() - expected.keys())),
        *(
            f"{name} has another sha256"
            for name in sorted(found)
            if expected.get(name, found[name]) != found[name]
        ),
    ]
    if wrong:
        raise StackError("The jars that Maven brought are not the committed ones: " + "; ".join(wrong))
