"""Common parts of all documents of /api/v1: instants, pages and selected fields. Pure.

An instant is RFC 3339 in UTC with milliseconds. A list has pages: `count` items in total, those
from `offset` on, and `next` with the address of the next page.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from fleet.quantity import bounds_kind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
MOST_NAMED = 20  # names in one sentence, and sentences about unknown names
_LONGEST = 100  # letters of a name


def moment_text(at: float | None) -> str | None:
    """Return an epoch time (s) as `2026-11-27T17:30:00.123Z`; None for None and out of range."""
    if at is None:
        return None
    try:
        return moment_ms_text(round(at * 1000))
    except (ValueError, OverflowError):  # NaN and infinity
        return None


def moment_ms_text(at_ms: int | None) -> str | None:
    """Return an epoch time (ms) as `2026-11-27T17:30:00.123Z`; None as in `moment_text`."""
    if at_ms is None:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=at_ms)
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment_ms(text: str) -> int:
    """Return the epoch time (ms) of an RFC 3339 instant in any zone; raises ValueError without a zone."""
    # An unescaped plus sign in an address arrives as a space.
    moment = datetime.fromisoformat(text.replace(" ", "+"))
    if moment.tzinfo is None:
        raise ValueError("a moment without a zone")
    return (moment - _EPOCH) // _MILLISECOND


def page(name: str, items: Sequence[Any], *, offset: int, count: int, address: str) -> dict[str, Any]:
    """Return a page of a list; `address` is the list's, with its query but without `offset`."""
    behind = offset + len(items)
    more = items and behind < count
    return {
        name: items,
        "count": count,
        "offset": offset,
        "next": f"{address}{'&' if '?' in address else '?'}offset={behind}" if more else None,
    }


def cause_document(code: str | None, sentence: str) -> dict[str, str] | None:
    """Return a cause with its evidence, or None."""
    return None if code is None else {"code": str(code), "sentence": sentence}


def records_document(least: int | None, most: int | None) -> dict[str, Any]:
    """Return the bounds of a count of records, with their kind."""
    return {"records": least, "records_most": most, "records_kind": bounds_kind(least, most)}


def chosen(item: Mapping[str, Any], fields: Iterable[str] | None) -> dict[str, Any]:
    """Return the item with these top-level fields only; all for None."""
    if fields is None:
        return dict(item)
    wanted = set(fields)
    return {name: value for name, value in item.items() if name in wanted}


def flow_name(text: str) -> str:
    """Return the name of a flow, `A->B`; an address or a command line may have `A:B`."""
    return text if "->" in text else text.replace(":", "->", 1)


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """Return that a name is unknown, with the nearest: `unknown parameter 'limt'; did you mean 'limit'?`."""
    names, short = sorted(known), name[:_LONGEST]
    near = get_close_matches(short, names, n=1, cutoff=0.6)
    said = f"unknown {what} '{short}'"
    if near:
        return f"{said}; did you mean '{near[0]}'?"
    if not names:
        return f"{said}; there are none here"
    more = len(names) - MOST_NAMED
    listed = [*names[:MOST_NAMED], f"and {more} more"] if more > 0 else names
    return f"{said}; known: {', '.join(listed)}"


def unknown_names(what: str, names: Iterable[str], known: Collection[str]) -> list[str]:
    """Return such a sentence for each unknown name; after some, the number of further ones."""
    strange = [name for name in dict.fromkeys(names) if name not in known]
    said = [unknown_name(what, name, known) for name in strange[:MOST_NAMED]]
    more = len(strange) - len(said)
    return [*said, f"and {more} more unknown {what}s"] if more else said
