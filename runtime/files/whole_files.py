"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import re
import stat
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator


_STREAMS = (1, 2)  # stdout and stderr
_DESCRIPTORS = re.compile(r"/proc/[0-9]+/(task/[0-9]+/)?fd")


@contextmanager
def written_whole(path: Path, *, mode: int | None = None) -> Iterator[TextIO]:
    """Yield a text file that replaces the one at `path` when the block ends.

    What stays in its place (`stays`) is written to as it is, and a link goes on leading where it leads.
    `mode` are the file's rights; None: those of what was there, or of any new file. Where the block or this
    raises, OSError if the disk is why, what was there still is.
    """
    if stays(path):
        with _there(path) as there:
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


def stays(path: Path) -> bool:
    """Return whether `path` must be written in place, never replaced.

    That is what is no file, and a file that somebody was handed open: our stdout or stderr, under whatever
    name, and what stands among the descriptors of a process, as /dev/stdout and /dev/fd/3 do.
    """
    if not path.exists():
        return False
    return not path.is_file() or _stream(path) is not None or _among_descriptors(path)


def _there(path: Path) -> TextIO:
    stream = _stream(path)
    if stream is not None:
        # By the descriptor itself: opened anew, it would be cut off, or write over what is printed later.
        return os.fdopen(os.dup(stream), "w", encoding="utf-8")
    return path.open("a" if path.is_file() else "w", encoding="utf-8")


def _stream(path: Path) -> int | None:
    """Return our stdout or stderr, where it is what is at `path`."""
    there = path.stat()
    for stream in _STREAMS:
        with suppress(OSError):  # closed
            if os.path.samestat(there, os.fstat(stream)):
                return stream
    return None


def _among_descriptors(path: Path) -> bool:
    return _DESCRIPTORS.fullmatch(os.path.realpath(path.parent)) is not None
