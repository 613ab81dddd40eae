"""Result files: written completely or not at all, and checked before hours of work."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from runtime.files.whole_files import stays, written_whole

_SHOWN = 100


def why_not_writable(path: Path) -> str | None:
    """Return why `replace_file` would fail, or None if no reason is known."""
    try:
        if path.is_dir():
            return f"{path} is a folder; name a file"
        if stays(path):  # a device, a pipe, stdout: needs no folder
            return None
        file = Path(os.path.realpath(path))
        folder = file.parent
        if not folder.is_dir():
            return f"folder {path.parent} does not exist; create it or write elsewhere"
        if not os.access(folder, os.W_OK | os.X_OK) or _is_another_s(file, folder):
            return f"cannot write to folder {path.parent}; write elsewhere"
    except OSError as error:
        shown = str(path) if len(str(path)) <= _SHOWN else f"{str(path)[:_SHOWN]}…"
        return f"cannot write to {shown}: {reason_of(error)}; write elsewhere"
    return None


def place_of(path: Path) -> Path | None:
    """Return the file that `replace_file` would replace; None for a device, a pipe, stdout."""
    return None if stays(path) else Path(os.path.realpath(path))


def replace_file(path: Path, text: str) -> None:
    """Replace a file; if that raises OSError, the old file is unchanged."""
    with written_whole(path) as file:
        file.write(text)


def reason_of(error: OSError) -> str:
    """Return the system's reason, in lower case."""
    return (error.strerror or type(error).__name__).lower()


def _is_another_s(file: Path, folder: Path) -> bool:
    """Return whether a sticky folder such as /tmp prevents replacing another user's file."""
    kept = folder.stat()
    if not kept.st_mode & stat.S_ISVTX or not file.exists():
        return False
    return os.geteuid() not in (0, kept.st_uid, file.stat().st_uid)
