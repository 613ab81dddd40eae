"""Programs that Go builds from their source, kept in the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

from deploy.local.jars import alone, cache

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_TIMEOUT_S = 3000.0


def built(name: str, build: Callable[[Path], None]) -> Path:
    """Return the folder of this name in the cache; `build` fills it if it is missing, which takes minutes."""
    folder = cache() / "tools" / name
    with alone(name):
        if not folder.exists():
            # Appears whole or not at all.
            made = folder.with_name(f".{name}")
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir(parents=True)
            build(made)
            made.rename(folder)
    return folder


def go(*words: str | Path, folder: Path, **environment: str) -> str:
    """Run Go in a folder; return what it printed."""
    program = shutil.which("go")
    assert program, "go is not installed; install Go 1.26 or newer"
    done = subprocess.run(
        [program, *words],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
