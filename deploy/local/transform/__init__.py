"""Our own transformation for the local mirror (Fault.java) and the file that switches it.

It is compiled into the cache when it is first needed, and is part of every local mirror's configuration; it
does nothing until the switch file is there, so a fault needs no restart of the mirror.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from deploy.local.jars import StackError, alone, cache, jars
from deploy.local.properties import write_properties

_SOURCE = Path(__file__).with_name("Fault.java")
CLASS_NAME = "mirrorwatch.Fault"


def compiled(version: str) -> Path:
    """Return the jar with the compiled transformation for a Kafka version.

    Raises StackError when javac is missing or refuses the source.
    """
    digest = hashlib.sha256(_SOURCE.read_bytes() + Path(__file__).read_bytes() + version.encode()).hexdigest()
    jar = cache() / f"transform-{digest[:16]}.jar"
    if not jar.exists():
        with alone("transform"):
            if not jar.exists():
                _compile(version, jar)
    return jar


def _compile(version: str, jar: Path) -> None:
    if shutil.which("javac") is None:
        raise StackError(
            "javac is missing; on Debian: apt-get install --no-install-recommends openjdk-17-jdk-headless"
        )
    with tempfile.TemporaryDirectory(prefix=".transform-", dir=jar.parent) as work:
        classes = Path(work) / "classes"
        command = ["javac", "--release", "11", "-cp", f"{jars(version)}/*", "-d", str(classes), str(_SOURCE)]
        outcome = subprocess.run(command, capture_output=True, text=True, check=False)
        if outcome.returncode != 0:
            raise StackError(f"javac refused {_SOURCE.name}: {outcome.stderr[:2000]}")
        draft = Path(work) / jar.name
        with zipfile.ZipFile(draft, "w") as packed:
            for file in sorted(classes.rglob("*.class")):
                packed.write(file, file.relative_to(classes))
            # Connect finds plugins by these manifests; without one it has to scan every class of every jar.
            packed.writestr(
                "META-INF/services/org.apache.kafka.connect.transforms.Transformation", CLASS_NAME
            )
        draft.rename(jar)


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
