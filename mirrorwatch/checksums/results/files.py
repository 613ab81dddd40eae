"""Files that a command writes what it found to: whole or not at all, and looked at before hours of work."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from runtime.files.whole_files import stays, written_whole

_SHOWN = 100


def why_not_writable(path: Path) -> str | None:
    """Say why `replace_file` could not write a file; None where nothing speaks against it."""
    try:
        if stays(path):  # a device, a pipe, our own stdout: needs no folder
            return None
        file = Path(os.path.realpath(path))
        folder = file.parent
        if not folder.is_dir():
            return f"there is no folder {path.parent}: make it, or write elsewhere"
        if not os.access(folder, os.W_OK | os.X_OK) or _is_another_s(file, folder):
            return f"nothing can be written to the folder {path.parent}: write elsewhere"
    except OSError as error:
        shown = str(path) if len(str(path)) <= _SHOWN else f"{str(path)[:_SHOWN]}…"
        return f"{shown} cannot be used: {reason_of(error)}: write elsewhere"
    return None


def replace_file(path: Path, text: str) -> None:
    """Write a file in the place of what is there; where that raises OSError, what was there still is."""
    with written_whole(path) as file:
        file.write(text)


def reason_of(error: OSError) -> str:
    """Return what the system says, as a part of a sentence."""
    return (error.strerror or type(error).__name__).lower()


def _is_another_s(file: Path, folder: Path) -> bool:
    """Tell whether a folder such as /tmp keeps us from taking the place of somebody else's file."""
    kept = folder.stat()
    if not kept.st_mode & stat.S_ISVTX or not file.exists():
        return False
    return os.geteuid() not in (0, kept.st_uid, file.stat().st_uid)
