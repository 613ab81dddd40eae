"""Durations, sizes and numbers as text: `500ms`, `5s`, `28d`; `10MB`, `1TB`; `1 record`."""

from __future__ import annotations

import re
from typing import NamedTuple

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15}


def duration_s(text: str) -> float:
    """Return the seconds of a duration such as `500ms` or `28d`.

    Raises ValueError with a sentence for anything else, also for a bare number: without a unit
    it could be seconds or milliseconds.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", text.strip())
    if found is None:
        raise ValueError(f"invalid duration '{text}'; write a number with ms, s, m, h or d, for example 5s")
    return float(found[1]) * _SECONDS[found[2]]


def size_bytes(text: str) -> int:
    """Return the bytes of a size such as `10MB` (decimal units).

    Raises ValueError with a sentence for anything else.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kKMGTP]?B)", text.strip())
    if found is None:
        raise ValueError(f"invalid size '{text}'; write a number with B, kB, MB, GB or TB, for example 10MB")
    return int(float(found[1]) * _BYTES[found[2]])


def rate_bytes_s(text: str) -> int:
    """Return the bytes a second of a rate such as `50MB/s`.

    Raises ValueError with a sentence for anything else.
    """
    size, slash, unit = text.strip().partition("/")
    if (slash, unit) != ("/", "s"):
        raise ValueError(f"invalid rate '{text}'; write a size per second, for example 50MB/s")
    return size_bytes(size)


def duration_text(seconds: float) -> str:
    """Return a duration in at most two units: `4 ms`, `0.25 s`, `12 s`, `3 min 20 s`, `2 d 4 h`."""
    if seconds < 0:
        return "-" + duration_text(-seconds)
    if 0 < seconds < 0.01:
        return f"{seconds * 1000:.2g} ms"
    if seconds < 10:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + " s"
    whole = round(seconds)
    for (unit, size), (lesser, lesser_size) in (
        (("d", 86400), ("h", 3600)),
        (("h", 3600), ("min", 60)),
        (("min", 60), ("s", 1)),
    ):
        if whole >= size:
            rest = whole % size // lesser_size
            return f"{whole // size} {unit}" + (f" {rest} {lesser}" if rest else "")
    return f"{whole} s"


def count_text(count: int, what: str) -> str:
    """Return a count with its noun: `1 record`, `3 records`, `1,017 records`."""
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"


class Bounds(NamedTuple):
    """Lower and upper bound of a count, None for no upper bound; exact if both are equal."""

    least: int
    most: int | None


def between_text(least: int, most: int | None, noun: str = "") -> str:
    """Return bounds as text: `5 records`, `between 5 and 8 records`; without a noun `5`.

    `most` is None without an upper bound: `at least 5 records`.
    """
    if least == most:
        return count_text(least, noun) if noun else f"{least:,}"
    if most is None:
        return f"at least {count_text(least, noun) if noun else f'{least:,}'}"
    upper = count_text(most, noun) if noun else f"{most:,}"
    return f"up to {upper}" if least == 0 else f"between {least:,} and {upper}"


def bounds_kind(least: int | None, most: int | None) -> str:
    """Return the kind of these bounds: `exact`, `between`, `at_least`, or `none` for None."""
    if least is None:
        return "none"
    if most is None:
        return "at_least"
    return "exact" if least == most else "between"


def bytes_text(count: float) -> str:
    """Return bytes in decimal units: `812 B`, `9.3 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:  # which rounds to the next unit
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB" if count < 999.5 else f"{count:,.0f} TB"
