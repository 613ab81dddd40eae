"""Database address: `sqlite:///FILE`, or PostgreSQL's."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

if TYPE_CHECKING:
    from pathlib import Path

Address: TypeAlias = URL

_DIALECTS = ("sqlite", "postgresql")
_DRIVER = "postgresql+psycopg"
_NUMBERS = frozenset({"port", "connect_timeout", "tcp_user_timeout", "keepalives"})
_WRITE = (
    "write sqlite:///FILE, for example sqlite:///mirrorwatch.db, or postgresql://USER:PASSWORD@HOST/DATABASE"
)


def check_address(text: str) -> None:
    """Raise ValueError with a sentence, without the address' password, unless a store can be at `text`."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise ValueError(f"invalid database address; {_WRITE}") from None
    if "\0" in text:
        raise ValueError(f"must not contain a NUL byte; {_WRITE}")
    backend = url.get_backend_name()
    if backend not in _DIALECTS:
        raise ValueError(f"unknown database '{backend}'; {_WRITE}")
    if backend != "sqlite":
        if url.drivername not in (backend, _DRIVER):
            raise ValueError(f"unknown driver '{url.drivername}'; write postgresql://")
        if "@" in (url.host or ""):
            raise ValueError("must not contain a second '@'; write '@' in the password as %40")
        if not url.database:
            raise ValueError("missing database name; write postgresql://USER:PASSWORD@HOST/DATABASE")
        _check_numbers(url)
        return
    if not url.database or url.database.startswith((":memory:", "file:")):
        raise ValueError("missing file name; write sqlite:///FILE, for example sqlite:///mirrorwatch.db")
    if url.host or url.query:
        raise ValueError("SQLite has neither host nor options; write sqlite:///FILE, with three slashes")


def _check_numbers(url: URL) -> None:
    for name, value in url.query.items():
        if name in _NUMBERS or name.startswith("keepalives_"):
            said = ",".join([value] if isinstance(value, str) else value)
            if not all(one.isascii() and one.isdigit() for one in said.split(",")):
                raise ValueError(f"option '{name}' must be a whole number")


def resolve_address(text: str, directory: Path) -> Address:
    """Return the address in `text`, with its driver; a relative SQLite path is taken from `directory`."""
    url = make_url(text)
    if url.get_backend_name() == "sqlite" and url.database:
        return url.set(database=str(directory / url.database))
    return url.set(drivername=_DRIVER) if url.drivername == "postgresql" else url


def secrets_of(url: Address) -> set[str]:
    """Return the secrets of an address: its password, and passwords among its options."""
    options = {key: value for key, value in url.query.items() if "password" in key}
    told = [one for value in options.values() for one in ([value] if isinstance(value, str) else value)]
    return {one for one in (url.password, *told) if one}
