"""Where the repository is and which of its files make up the product."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def product_files(packages: set[str]) -> list[Path]:
    """Return every Python file under those of the named top-level folders that exist."""
    return sorted(
        path for package in packages if (ROOT / package).is_dir() for path in (ROOT / package).rglob("*.py")
    )


def relative(path: Path) -> str:
    """Return a file's path from the root, with slashes."""
    return path.relative_to(ROOT).as_posix()


def kept_files() -> list[Path]:
    """Return every file that git keeps, or would keep if it were added."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        timeout=30,
    )
    paths = [ROOT / name.decode() for name in listed.stdout.split(b"\0") if name]
    return sorted(path for path in paths if path.is_file())
