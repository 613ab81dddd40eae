"""Values of a document that was kept over a restart, each checked before it is believed. Pure."""

from __future__ import annotations

from fleet.errors import MalformedError
from lagmon.heads import LAST_MS


def text(value: object, *, most: int) -> str:
    """Return a text of at most so many characters; raises MalformedError for anything else."""
    if not isinstance(value, str) or len(value) > most:
        raise MalformedError(
            f"What was kept over the restart has no text of at most {most} where one stands."
        )
    return value


def number(value: object, *, least: int, most: int) -> int:
    """Return a whole number between these; raises MalformedError for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise MalformedError(
            f"What was kept over the restart has no number from {least} to {most} where one stands."
        )
    return value


def instant(value: object) -> int:
    """Return an instant (epoch ms), -1 for none; raises MalformedError for anything else."""
    return number(value, least=-1, most=LAST_MS)


def numbers(value: object, *, count: int, least: int, most: int) -> list[int]:
    """Return a list of so many whole numbers; raises MalformedError for anything else."""
    return [number(one, least=least, most=most) for one in rows(value, most=count, least=count)]


def rows(value: object, *, most: int, least: int = 0) -> list[object]:
    """Return a list of so many entries; raises MalformedError for anything else."""
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise MalformedError(
            f"What was kept over the restart has no list of at most {most} where one stands."
        )
    return value
