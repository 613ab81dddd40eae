"""Checked values of a stored document. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError
from lagmon.logs.heads import LAST_MS

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_LONG = (1 << 63) - 1
MOST_ROWS = 1_000_000
_SHORT = 1000


def text(value: object, *, most: int) -> str:
    """Return a text of at most this many characters; raises MalformedError for anything else."""
    if not isinstance(value, str) or len(value) > most:
        raise MalformedError(f"snapshot: expected a text of at most {most} characters")
    return value


def short_text(value: object) -> str:
    """Return a name, an id or a word; raises MalformedError for anything else."""
    return text(value, most=_SHORT)


def number(value: object, *, least: int, most: int) -> int:
    """Return a whole number between these; raises MalformedError for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise MalformedError(f"snapshot: expected a number from {least} to {most}")
    return value


def instant(value: object) -> int:
    """Return an instant (epoch ms), -1 for none; raises MalformedError for anything else."""
    return number(value, least=-1, most=LAST_MS)


def numbers(value: object, *, count: int, least: int, most: int) -> list[int]:
    """Return a list of this many whole numbers; raises MalformedError for anything else."""
    return [number(one, least=least, most=most) for one in rows(value, most=count, least=count)]


def rows(value: object, *, most: int, least: int = 0) -> list[object]:
    """Return a list of this many entries; raises MalformedError for anything else."""
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise MalformedError(f"snapshot: expected a list of at most {most} entries")
    return value


def table(found: Mapping[str, Any], name: str, width: int, *, most: int = MOST_ROWS) -> list[list[Any]]:
    """Return the rows of a document's table, each with this many entries; raises MalformedError otherwise."""
    return [rows(row, least=width, most=width) for row in rows(found.get(name), most=most)]
