"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def written_whole(path: Path, *, mode: int | None = None) -> Iterator[TextIO]:
    """Give a text file that takes the place of what is at `path` when the block ends.

    What is no file, such as /dev/stdout, is written to as it is, and a link goes on leading where it leads.
    `mode` are the file's rights; None: those of what was there, or of any new file. Where the block or this
    raises, OSError if the disk is why, what was there still is.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8") as there:
            yield there
        return
    file = Path(os.path.realpath(path))
    beside = file.with_name(f".mirrorwatch-{uuid.uuid4().hex}")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode)
    try:
        with open(handle, "w", encoding="utf-8") as written:  # noqa: PTH123 - a handle, not a path
            yield written
            written.flush()
            os.fsync(written.fileno())
        if mode is not None:
            beside.chmod(mode)
        else:
            with suppress(OSError):  # who may read it stays as it was
                beside.chmod(stat.S_IMODE(file.stat().st_mode))
        beside.replace(file)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
