"""How a family of series is written down, but for its values: labels and headers, in Prometheus' two formats.

The formats are the text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats) and
OpenMetrics 1.0. A line of a sample is the same in both; only the header differs: in OpenMetrics a counter's
family is named without `_total`, and has a unit.
"""

from __future__ import annotations

import re
from enum import Enum
from hashlib import sha256
from typing import TYPE_CHECKING

from fleet.series.kinds import Kind, Unit

if TYPE_CHECKING:
    from fleet.series.kinds import Series

LONGEST_LABEL_BYTES = 256
"""The longest value of a label, in bytes of UTF-8 before escaping: Kafka's longest topic (249) fits."""

LONGEST_VALUE_BYTES = 21
"""The longest value with the end of its line: that of MOST_SECONDS; the largest int64 is one shorter."""

MOST_SECONDS = 9e15
"""Seconds beyond this are no time: their milliseconds leave int64."""

_MARK = "~"
_DIGITS = 20  # hexadecimal: 80 bits
_MARKED = re.compile(rf"{_MARK}[0-9a-f]{{{_DIGITS}}}\Z")
_UNITS = {Unit.EPOCH_SECONDS: Unit.SECONDS.value}


class Form(Enum):
    """The two formats that a scraper may ask for."""

    PLAIN = "text/plain"
    OPENMETRICS = "application/openmetrics-text"


def form_of(content_type: str) -> Form:
    """Return the format of an answer with this content type, which whoever writes its beginning chose."""
    media_type = content_type.split(";", maxsplit=1)[0].strip().lower()
    return Form.OPENMETRICS if media_type == Form.OPENMETRICS.value else Form.PLAIN


def label_text(value: str) -> bytes:
    r"""Return a label's value as it stands between the quotes: backslash, quote and newline escaped.

    What the formats can carry is carried as it is, so that the label is Kafka's own name. Three kinds of
    values are not: longer than LONGEST_LABEL_BYTES, with a lone surrogate (no UTF-8 has one; it is written as
    `\udc80`), or ending like one of ours. They get `~` and 20 digits of their SHA-256 at the end, so that any
    two values stay two, also where somebody names a group like the short form of another.
    """
    try:
        written = value.encode()
    except UnicodeEncodeError:
        written = _marked(value)
    else:
        if len(written) > LONGEST_LABEL_BYTES or _MARKED.search(value):
            written = _marked(value)
    return written.replace(b"\\", rb"\\").replace(b'"', rb"\"").replace(b"\n", rb"\n")


def pair_text(name: str, value: str) -> bytes:
    """Return a label as it stands in a line."""
    return b"".join([name.encode(), b'="', label_text(value), b'"'])


def _marked(value: str) -> bytes:
    digest = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    room = LONGEST_LABEL_BYTES - len(_MARK) - _DIGITS
    # A character takes a byte or more, so what stands beyond `room` characters is never kept.
    kept = value[:room].encode("utf-8", "backslashreplace")[:room]
    return f"{kept.decode('utf-8', 'ignore')}{_MARK}{digest}".encode()


def header(series: Series, form: Form) -> bytes:
    """Return the lines before a family's series, without the newline at the end.

    Raises ValueError for a histogram, which is more than one number.
    """
    if series.kind is Kind.HISTOGRAM:
        raise ValueError(f"{series.full_name} is a histogram: tell it by the client library, not from arrays")
    name, told = series.full_name, series.help.replace("\\", r"\\").replace("\n", r"\n")
    unit = ""
    if form is Form.OPENMETRICS:
        name, told = name.removesuffix("_total"), told.replace('"', r"\"")
        word = _UNITS.get(series.unit, series.unit.value)
        unit = f"\n# UNIT {name} {word}" if name.endswith("_" + word) else ""
    return f"# HELP {name} {told}\n# TYPE {name} {series.kind.value}{unit}".encode()
