"""Sentences for database errors; a bug of Mirrorwatch passes unchanged."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from sqlalchemy import exc

from fleet.errors import UnavailableError
from runtime.store.postgresql import sentence_of

_MOST_CHARS = 300
_SENTENCES = {
    sqlite3.SQLITE_BUSY: "is locked by another process: wait, or find the program that has it open",
    sqlite3.SQLITE_LOCKED: "is locked by another process: wait, or find the program that has it open",
    sqlite3.SQLITE_READONLY: "cannot be written: give this user write permission for the file and its folder",
    sqlite3.SQLITE_PERM: "cannot be written: give this user write permission for the file and its folder",
    sqlite3.SQLITE_INTERRUPT: "did not answer in time: the operation was rolled back",
    sqlite3.SQLITE_IOERR: "cannot be read or written, the system reports an I/O error: check its disk",
    sqlite3.SQLITE_CORRUPT: "is damaged: move it away and restore a copy, or start with a new one",
    sqlite3.SQLITE_FULL: "cannot grow, the disk is full: free space, then it continues by itself",
    sqlite3.SQLITE_NOTADB: "is not a database: name another file in store.url, or move this one away",
}


def unavailable(error: exc.SQLAlchemyError, *, where: str) -> UnavailableError | None:
    """Return the sentence for a fault of the database or its disk, None for a bug.

    `where` names the store without its password.
    """
    if isinstance(error, exc.TimeoutError):
        return UnavailableError(f"the store {where} did not answer in time: the operation was rolled back")
    if not isinstance(error, exc.DBAPIError):
        return None
    cause = error.orig
    if isinstance(cause, sqlite3.Error):
        code = getattr(cause, "sqlite_errorcode", None)
        # The low byte is the kind, the rest its variety: SQLITE_IOERR_FSYNC is an SQLITE_IOERR.
        sentence = _sentence(code & 0xFF, Path(where)) if code is not None else None
        return None if sentence is None else UnavailableError(f"the store {where} {sentence}")
    sentence = sentence_of(cause)
    if sentence is None and (
        error.connection_invalidated or isinstance(error, exc.OperationalError | exc.InterfaceError)
    ):
        what = "failed" if getattr(cause, "sqlstate", None) else "cannot be reached"
        sentence = f"{what}: {' '.join(str(cause).split())[:_MOST_CHARS]}"
    return None if sentence is None else UnavailableError(f"the store {where} {sentence}")


def _sentence(kind: int, path: Path) -> str | None:
    """Return what SQLite means, after a look at its file: it tells no reason why that cannot be opened."""
    if kind not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
        return _SENTENCES.get(kind)
    folder = path.parent
    try:
        if path.is_dir():
            return "is a folder: name a file in it in store.url"
        if not folder.is_dir():
            return (
                f"cannot be opened, there is no folder {folder}: create it, or name another file in store.url"
            )
        if os.statvfs(folder).f_flag & os.ST_RDONLY:
            return (
                "cannot be written, its disk is mounted read-only: mount it for writing, or name another file"
            )
    except PermissionError:
        return "cannot be reached: give this user permission to enter every folder above it"
    return _SENTENCES.get(kind, "cannot be opened: give this user write permission in its folder")


def is_lasting(error: exc.SQLAlchemyError) -> bool:
    """Return whether to reconnect before the next try."""
    cause = getattr(error, "orig", None)
    code = getattr(cause, "sqlite_errorcode", None)
    passing = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_FULL}
    return code is None or code & 0xFF not in passing
