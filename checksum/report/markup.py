"""Pieces of HTML for a run's page, by the house's style sheet; what is put in is escaped. Pure."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NOTHING = "\N{EN DASH}"  # stands where there is nothing to tell
_LONGEST = 2000  # characters of one text: more is no sentence


def text(value: object) -> str:
    """Return a text that is safe in a document: escaped, and steering neither markup nor direction."""
    shown = str(value)
    if len(shown) > _LONGEST:
        shown = shown[: _LONGEST - 1] + "…"
    return escape(shown if shown.isprintable() else "".join(map(_printable, shown)))


def name(value: object) -> str:
    """Return a name that does not turn the direction of what stands beside it."""
    return f"<bdi>{text(value)}</bdi>"


def number(value: object) -> str:
    """Return a whole number with its thousands apart; a dash for what is none."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else NOTHING


def share_text(share: float) -> str:
    """Write a share in per cent; it says 100 % only when nothing at all is missing."""
    if share >= 1:
        return "100 %"
    return "> 99.99 %" if share >= 0.99995 else f"{100 * share:.2f}".rstrip("0").rstrip(".") + " %"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return numbers with what they are; values are markup."""
    held = "\n".join(f"<div><dt>{text(what)}</dt> <dd>{value}</dd></div>" for what, value in pairs)
    return f'<dl class="numbers">{held}</dl>'


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] = ()) -> str:
    """Return a table that becomes paragraphs on a phone; cells are markup, those of Where name the rows."""
    head = "\n".join(f'<th scope="col"{_how(column, numbers)}>{text(column)}</th>' for column in columns)
    body = "\n".join(f"<tr>{_cells(columns, row, numbers)}</tr>" for row in rows)
    return f'<table class="list"><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>\n'


def section(identity: str, heading: str, inside: str) -> str:
    """Return a section with its heading; `inside` is markup."""
    return (
        f'<section class="listed" aria-labelledby="{identity}"><h2 id="{identity}">{text(heading)}</h2>\n'
        f"{inside}</section>\n"
    )


def faint(sentence: str) -> str:
    """Return a remark."""
    return f'<p class="faint">{text(sentence)}</p>\n'


def _printable(char: str) -> str:
    if char.isprintable():
        return char
    return " " if char in "\t\r\n" else "\N{REPLACEMENT CHARACTER}"


def _cells(columns: Sequence[str], row: Sequence[str], numbers: Sequence[str]) -> str:
    return "\n".join(
        f'<th scope="row">{cell}</th>'
        if column == "Where"
        else f'<td{_how(column, numbers)} data-label="{text(column.lower())}">{cell}</td>'
        for column, cell in zip(columns, row, strict=True)
    )


def _how(column: str, numbers: Sequence[str]) -> str:
    if column in numbers:
        return ' class="number"'
    return ' class="said"' if column == "What" else ""
