"""Our own transformation for the local mirror (Fault.java) and the file that switches it.

It is compiled into the cache when it is first needed, and is part of every local mirror's configuration; it
does nothing until the switch file is there, so a fault needs no restart of the mirror.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from deploy.local.jars import StackError, alone, cache, jars
from deploy.local.properties import write_properties

_SOURCE = Path(__file__).with_name("Fault.java")
CLASS_NAME = "mirrorwatch.Fault"


def compiled(version: str) -> Path:
    """Return the folder with the compiled transformation for a Kafka version.

    Raises StackError when javac is missing or refuses the source.
    """
    digest = hashlib.sha256(
        _SOURCE.read_bytes() + Path(__file__).read_bytes() + version.encode()
    ).hexdigest()[:16]
    folder = cache() / f"transform-{digest}"
    if folder.is_dir():
        return folder
    with alone("transform"):
        if not folder.is_dir():
            _compile(version, folder)
    return folder


def _compile(version: str, folder: Path) -> None:
    if shutil.which("javac") is None:
        raise StackError(
            "javac is missing; on Debian: apt-get install --no-install-recommends openjdk-17-jdk-headless"
        )
    work = Path(tempfile.mkdtemp(prefix=".transform-", dir=folder.parent))
    outcome = subprocess.run(
        [
            "javac",
            "--release",
            "11",
            "-Xlint:-options",
            "-cp",
            f"{jars(version)}/*",
            "-d",
            str(work),
            str(_SOURCE),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if outcome.returncode != 0:
        shutil.rmtree(work)
        raise StackError(f"javac refused {_SOURCE.name}: {outcome.stderr[:2000]}")
    # Connect finds plugins by these manifests; without one it would have to scan every class of every jar.
    manifest = work / "META-INF" / "services" / "org.apache.kafka.connect.transforms.Transformation"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(f"{CLASS_NAME}\n", encoding="ascii")
    work.chmod(0o755)
    work.rename(folder)


@dataclass(frozen=True, slots=True)
class Switch:
    """The file that a running mirror's transformation obeys; any process may write it."""

    path: Path

    def on(self, mode: str, **options: str | int) -> None:
        """Begin a fault: `mode` and the options of Fault.java, with `_` for `.` (pause_ms is pause.ms)."""
        settings = {"mode": mode, **{key.replace("_", "."): str(value) for key, value in options.items()}}
        draft = self.path.with_suffix(".draft")
        write_properties(draft, settings)
        draft.rename(self.path)

    def off(self) -> None:
        """End the fault: every record passes untouched again."""
        self.path.unlink(missing_ok=True)
