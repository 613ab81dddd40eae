"""What all documents of /api/v1 have in common: moments, pages and chosen fields. Pure.

A moment is RFC 3339 in UTC with milliseconds. A list is given a page at a time: `count` items in all, those
from `offset` on, and in `next` the address of the page behind it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def moment_text(at: float | None) -> str | None:
    """Return an epoch second as `2026-11-27T17:30:00.123Z`; None for none, and for what no calendar holds."""
    if at is None:
        return None
    try:
        return moment_ms_text(round(at * 1000))
    except (ValueError, OverflowError):  # NaN and infinity
        return None


def moment_ms_text(at_ms: int | None) -> str | None:
    """Return an epoch millisecond as `2026-11-27T17:30:00.123Z`; None as in `moment_text`."""
    if at_ms is None:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment_ms(text: str) -> int:
    """Return the epoch millisecond of an RFC 3339 moment in any zone; raises ValueError without a zone."""
    # A plus sign that nobody escaped in an address arrives as a blank.
    moment = datetime.fromisoformat(text.replace(" ", "+"))
    if moment.tzinfo is None:
        raise ValueError("a moment without a zone")
    return (moment - _EPOCH) // _MILLISECOND


def next_address(address: str, *, offset: int, shown: int, count: int) -> str | None:
    """Return the address of the page behind one of `shown` items, None where there is none.

    `address` is that of the list, with its query but without `offset`.
    """
    behind = offset + shown
    if not shown or behind >= count:
        return None
    return f"{address}{'&' if '?' in address else '?'}offset={behind}"


def chosen(item: Mapping[str, Any], fields: Iterable[str] | None) -> dict[str, Any]:
    """Return the item with these top-level fields only, in its own order; all of them for None."""
    if fields is None:
        return dict(item)
    wanted = set(fields)
    return {name: value for name, value in item.items() if name in wanted}


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """Say that a name is unknown, and which is nearest: `unknown parameter 'limt'; did you mean 'limit'?`."""
    names = sorted(known)
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    said = f"unknown {what} '{name[:100]}'"
    if near:
        return f"{said}; did you mean '{near[0]}'?"
    return f"{said}; known: {', '.join(names)}" if names else f"{said}; there are none here"
