"""Files that the properties of a client name: their bytes, and who may read them."""

from __future__ import annotations

import stat
from pathlib import Path

_MAX_BYTES = 16 * 1024 * 1024


def read_file(path: str) -> bytes:
    """Return the bytes of a file, at most 16 MB of them."""
    with Path(path).open("rb") as file:
        return file.read(_MAX_BYTES)


def readable_by_everybody(path: str) -> bool:
    """Say whether every user of this host can read the file; False where that cannot be told."""
    try:
        return bool(Path(path).stat().st_mode & stat.S_IROTH)
    except OSError:
        return False
