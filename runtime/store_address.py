"""Which database the store is in: `sqlite:///FILE`, or PostgreSQL's address."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

if TYPE_CHECKING:
    from pathlib import Path

Address: TypeAlias = URL

_DIALECTS = ("sqlite", "postgresql")


def check_address(text: str) -> None:
    """Raise ValueError with a sentence, without the address' password, unless a store can be at `text`."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ValueError(
            "is no database address: write sqlite:///FILE, for example sqlite:///mirrorwatch.db"
        ) from None
    backend = url.get_backend_name()
    if backend not in _DIALECTS:
        raise ValueError(f"'{backend}' is no database that can be used: write sqlite:///FILE")
    if backend != "sqlite":
        return
    if not url.database or url.database.startswith((":memory:", "file:")):
        raise ValueError("names no file: write sqlite:///FILE, for example sqlite:///mirrorwatch.db")
    if url.host or url.query:
        raise ValueError("takes neither host nor options: write sqlite:///FILE, with three slashes")


def resolve_address(text: str, directory: Path) -> Address:
    """Return the address in `text`; a relative SQLite path is taken from `directory`."""
    url = make_url(text)
    if url.get_backend_name() == "sqlite" and url.database:
        return url.set(database=str(directory / url.database))
    return url
