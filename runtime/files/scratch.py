"""Temporary folders that survive no process: the next one removes those of processes that were killed.

A process locks a file in its folder. The system releases the lock however the process ends, also if the other
process runs in another container with the same folder of temporary files.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_LOCK = ".lock"


class ScratchFolder:
    """A folder that only this user may enter; `name` is its path."""

    def __init__(self, prefix: str) -> None:
        """Create it, and remove folders with this prefix whose processes have ended."""
        root = Path(tempfile.gettempdir())
        for path in root.glob(f"{prefix}*"):
            _remove_if_left(path)
        self.name = tempfile.mkdtemp(prefix=prefix)
        self._lock = _locked(Path(self.name), create=True)

    def cleanup(self) -> None:
        """Remove it."""
        shutil.rmtree(self.name, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _locked(folder: Path, *, create: bool = False) -> int | None:
    """Return the locked file of a folder; None if it has none, or another process has locked it."""
    try:
        file = os.open(folder / _LOCK, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        return None
    return file


def _remove_if_left(folder: Path) -> None:
    """Remove a folder of this user that no process has locked."""
    with suppress(OSError):
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return
        lock = _locked(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)
