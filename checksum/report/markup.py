"""HTML elements of the page, with escaped texts. Pure."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

NOTHING = "\N{EN DASH}"  # shown for an empty value
_LONGEST = 2000  # characters of one text


def text(value: object) -> str:
    """Return a text escaped for HTML, without control characters."""
    shown = str(value)
    if len(shown) > _LONGEST:
        shown = shown[: _LONGEST - 1] + "…"
    return escape(shown if shown.isprintable() else "".join(map(_printable, shown)))


def name(value: object) -> str:
    """Return a name that does not change the direction of its surroundings."""
    return f"<bdi>{text(value)}</bdi>"


def number(value: object) -> str:
    """Return an integer with thousands separators, or a dash."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else NOTHING


def share_text(share: float) -> str:
    """Return a share in per cent; 100 % only if nothing is missing."""
    if share >= 1:
        return "100 %"
    return "> 99.99 %" if share >= 0.99995 else f"{100 * share:.2f}".rstrip("0").rstrip(".") + " %"


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return numbers with their labels; values are markup."""
    held = "\n".join(f"<div><dt>{text(what)}</dt> <dd>{value}</dd></div>" for what, value in pairs)
    return f'<dl class="numbers">{held}</dl>'


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] = ()) -> str:
    """Return a table that becomes paragraphs on a phone; cells are markup, Where has row headers."""
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
