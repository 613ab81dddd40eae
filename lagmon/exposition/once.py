"""A family of series that is written at once, without arrays. Pure.

The output is that of `Family`, byte for byte. The service uses it for a few lines without loading NumPy.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from fleet.series.kinds import Unit
from lagmon.exposition.format import MOST_SECONDS, header, pair_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fleet.series.kinds import Series
    from lagmon.exposition.format import Form

_WHOLE = (Unit.RECORDS, Unit.TRUTH)


def written(one: Series, samples: Iterable[tuple[Sequence[str], float]], form: Form) -> bytes:
    """Return the header and a line for each sample, its labels in the catalogue's order.

    Values are rounded to thousandths unless their unit is whole; values below 0 are left out.
    """
    name = one.full_name.encode()
    value_text = _whole_text if one.unit in _WHOLE else _thousandths_text
    spelled = cache(pair_text)  # many lines share labels
    lines = [header(one, form) + b"\n"]
    for labels, value in samples:
        if len(labels) != len(one.label_names):
            raise TypeError(f"{one.full_name} has {len(one.label_names)} labels, not {len(labels)}")
        told = value_text(value)
        if told:
            pairs = b",".join(map(spelled, one.label_names, labels))
            braced = b"{" + pairs + b"}" if pairs else b""
            lines.append(b"%b%b %b\n" % (name, braced, told.encode()))
    return b"".join(lines)


def _whole_text(value: float) -> str:
    """Return a whole number as text, "" if it is left out."""
    whole = int(value)
    return str(whole) if whole >= 0 else ""


def _thousandths_text(value: float) -> str:
    """Return a number, rounded to a thousandth, without trailing zeros; "" if it is left out."""
    if not 0 <= value <= MOST_SECONDS:
        return ""
    whole, rest = divmod(round(float(value) * 1000), 1000)
    return f"{whole}.{rest:03d}".rstrip("0").rstrip(".")
