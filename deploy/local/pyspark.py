"""PySpark with its Kafka connector for this checkout: made once on a machine, kept in the cache, linked in.

    python -m deploy.local.pyspark

PySpark comes as a source distribution of half a gigabyte. It is built with the pinned tools of
`requirements/build.txt`, with the hashes of `requirements/checksum.txt`, and unpacked into
`$XDG_CACHE_HOME/mirrorwatch/pyspark-<version>-<key>` (or below `~/.cache`), where the connector's jars, by
Maven coordinates and checked by their sums, are put with Spark's own, as in an image that has both. The key
is that of both pins. A line in the virtual environment's site-packages leads there, so that a fresh
checkout costs nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from deploy.local.jars import StackError, alone, cache, fetched

_ROOT = Path(__file__).parents[2]
_LOCK = _ROOT / "requirements" / "checksum.txt"
_LINK = "mirrorwatch-pyspark.pth"
_WANTED = ("pyspark", "py4j")


def pins(lock: str) -> dict[str, str]:
    """Return the lines of the lock, hashes included, for PySpark and what only it needs, by name.

    Raises StackError where one is missing.
    """
    found = {}
    for name in _WANTED:
        entry = re.search(rf"^{name}==\S+(?: \\\n +--hash=sha256:[0-9a-f]{{64}})+", lock, re.MULTILINE)
        if entry is None:
            raise StackError(f"{_LOCK.name} does not pin {name}: make lock")
        found[name] = entry[0]
    return found


def version(entry: str) -> str:
    """Return the version that a line of the lock pins."""
    return entry.split("==", 1)[1].split(maxsplit=1)[0]


def spark_folder() -> Path:
    """Return the folder of the cache in which PySpark is, or will be."""
    entries = pins(_LOCK.read_text(encoding="ascii"))
    jars = (Path(__file__).parent / "jars" / "spark.sha256").read_bytes()
    key = hashlib.sha256("".join(entries.values()).encode() + jars).hexdigest()[:16]
    return cache() / f"pyspark-{version(entries['pyspark'])}-{key}"


def make_ready() -> Path:
    """Build PySpark into the cache if it is missing there; return its folder, which appears whole or not.

    Raises StackError when a package or a jar cannot be had or is not the pinned one.
    """
    folder = spark_folder()
    if folder.is_dir():
        return folder
    with alone("pyspark"):
        if not folder.is_dir():
            _build(folder)
    return folder


def _build(folder: Path) -> None:
    entries = pins(_LOCK.read_text(encoding="ascii"))
    print(f"Building PySpark {version(entries['pyspark'])} (once, about two minutes)", flush=True)
    work = Path(tempfile.mkdtemp(prefix=".pyspark-", dir=folder.parent))
    try:
        lock = work / "lock.txt"
        lock.write_text("\n".join(entries.values()) + "\n", encoding="ascii")
        made = work / "made"
        outcome = subprocess.run(
            [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps",
             "--no-build-isolation", "--no-compile", "--no-cache-dir", "--require-hashes", "-r", str(lock),
             "--target", str(made)],
            capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
            env=_building_in(work),
        )  # fmt: skip
        if outcome.returncode != 0:
            said = [line for line in (outcome.stderr + outcome.stdout).splitlines() if line.strip()]
            raise StackError(f"pip could not build PySpark: {' / '.join(said[-3:])}")
        jars = fetched("spark", work, spark_version=version(entries["pyspark"]))
        for jar in jars.iterdir():
            shutil.copy(jar, made / "pyspark" / "jars")
        made.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _building_in(work: Path) -> dict[str, str]:
    """Keep half a gigabyte of scratch files out of /tmp, which may be small, or memory."""
    return {**os.environ, "TMPDIR": str(work)}


def link(folder: Path, site_packages: Path) -> None:
    """Let the Python of this virtual environment find what is in the folder."""
    (site_packages / _LINK).write_text(f"{folder}\n", encoding="utf-8")


def main() -> int:
    """Make PySpark ready for the Python that runs this."""
    try:
        link(make_ready(), Path(sysconfig.get_path("purelib")))
    except StackError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
