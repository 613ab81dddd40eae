"""Labels and headers of a family of series in Prometheus' two text formats.

The formats are the text format 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats) and
OpenMetrics 1.0. Lines of samples are the same in both. The header differs: in OpenMetrics a counter's family
has no `_total` in its name, and there is a unit.
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
    """Return the format of an answer with this content type."""
    media_type = content_type.split(";", maxsplit=1)[0].strip().lower()
    return Form.OPENMETRICS if media_type == Form.OPENMETRICS.value else Form.PLAIN


def label_text(value: str) -> bytes:
    r"""Return a label value as written between the quotes: backslash, quote and newline escaped.

    Values are written unchanged, so that the label is Kafka's own name, with three exceptions: values longer
    than LONGEST_LABEL_BYTES, values with a lone surrogate (not valid in UTF-8; written as `\udc80`), and
    values that end like a shortened one. These end with `~` and 20 digits of their SHA-256, so that different
    values stay different.
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
    """Return a label as written in a line."""
    return b"".join([name.encode(), b'="', label_text(value), b'"'])


def _marked(value: str) -> bytes:
    digest = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    room = LONGEST_LABEL_BYTES - len(_MARK) - _DIGITS
    # A character takes at least a byte, so characters beyond `room` are never kept.
    kept = value[:room].encode("utf-8", "backslashreplace")[:room]
    return f"{kept.decode('utf-8', 'ignore')}{_MARK}{digest}".encode()


def header(series: Series, form: Form) -> bytes:
    """Return the header lines of a family, without the last newline.

    Raises ValueError for a histogram.
    """
    if series.kind is Kind.HISTOGRAM:
        raise ValueError(f"{series.full_name}: a histogram; export it with the client library")
    name, told = series.full_name, series.help.replace("\\", r"\\").replace("\n", r"\n")
    unit = ""
    if form is Form.OPENMETRICS:
        name, told = name.removesuffix("_total"), told.replace('"', r"\"")
        word = _UNITS.get(series.unit, series.unit.value)
        unit = f"\n# UNIT {name} {word}" if name.endswith("_" + word) else ""
    return f"# HELP {name} {told}\n# TYPE {name} {series.kind.value}{unit}".encode()
