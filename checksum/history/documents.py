"""A run's document as the store keeps it, and the values of its row. Pure."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from checksum.history.entries import PackedRun, RunRow
from fleet.errors import MalformedError

MOST_BYTES = 64_000_000
"""The most JSON bytes of a document; a larger one is kept without its long tables, which are most of it."""

MOST_DEPTH = 100  # our documents have five levels

_LONG = ("partitions", "counts")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = {"run": 64, "flow": 300, "plan": 64, "who": 300}
_MOST = 1 << 62


def packed_run(document: Mapping[str, Any]) -> PackedRun:
    """Return a run as the store keeps it; raises MalformedError for an invalid document."""
    return PackedRun(row_of(document), packed(document))


def packed(document: Mapping[str, Any]) -> bytes:
    """Return a document as the store keeps it; raises MalformedError if it is too large.

    Drops its long tables if they make it too large. Also raises if it is nested too deeply.
    """
    if _deeper_than(MOST_DEPTH, document):
        raise MalformedError(f"A run's document must be nested at most {MOST_DEPTH} levels deep.")
    for one in (document, _gist(document)):
        try:
            text = json.dumps(one, separators=(",", ":"), allow_nan=False).encode("ascii")
        except ValueError as error:
            raise MalformedError("A run's document contains a number that JSON does not allow.") from error
        if len(text) <= MOST_BYTES:
            return zlib.compress(text)
    raise MalformedError(f"A run's document of {len(text):,} bytes is larger than the store allows.")


def _deeper_than(most: int, document: object) -> bool:
    """Return whether containers are nested more than `most` deep, without recursion."""
    level: list[Any] = [document]
    for _ in range(most):
        level = [
            inside
            for one in level
            for inside in (one.values() if isinstance(one, Mapping) else one)
            if isinstance(inside, Mapping | list | tuple)
        ]
        if not level:
            return False
    return True


def unpacked(content: bytes) -> dict[str, Any]:
    """Return the document; raises MalformedError if the bytes are invalid."""
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(content, MOST_BYTES)
        document = json.loads(text) if unpacker.eof else None
    except (zlib.error, ValueError, RecursionError) as error:
        raise MalformedError("The document of a checksum run in the store cannot be read.") from error
    if not isinstance(document, dict):
        raise MalformedError("The document of a checksum run in the store is incomplete.")
    return document


def row_of(document: Mapping[str, Any]) -> RunRow:
    """Return the row of a finished run; raises MalformedError for an invalid document."""
    coverage = document.get("coverage")
    number = isinstance(coverage, int | float) and not isinstance(coverage, bool)
    if coverage is not None and not (number and 0 <= coverage <= 1):
        raise MalformedError("A run's coverage must be a number from 0 to 1.")
    findings = document.get("findings")
    begun_ms, ended_ms = _moment(document, "begun_at"), _moment(document, "ended_at")
    if begun_ms > ended_ms:
        raise MalformedError("A run must end after it started.")
    return RunRow(
        _text(document, "run"),
        _text(document, "flow"),
        _text(document, "plan"),
        _text(document, "who") if "who" in document else "",
        begun_ms=begun_ms,
        ended_ms=ended_ms,
        status=_whole(document.get("status"), "status", 4),
        counts_only=document.get("counts_only") is True,
        coverage=coverage,
        findings=_whole(findings.get("count"), "findings") if isinstance(findings, dict) else 0,
        source_records=_whole(document.get("source_records", 0), "source_records"),
        target_records=_whole(document.get("target_records", 0), "target_records"),
    )


def _gist(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without its long tables; their row counts stay."""
    cut = {}
    for name in _LONG:
        table = document.get(name)
        if isinstance(table, dict):
            cut[name] = {**table, "shown": []}
    return {**document, **cut}


def _text(document: Mapping[str, Any], name: str) -> str:
    found = document.get(name)
    if not isinstance(found, str) or not 0 < len(found) <= _LONGEST[name] or not found.isprintable():
        raise MalformedError(f"A run's {name} must be a string of 1 to {_LONGEST[name]} characters.")
    return found


def _whole(value: object, name: str, most: int = _MOST) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise MalformedError(f"A run's {name} must be an integer from 0 to {most}.")
    return value


def _moment(document: Mapping[str, Any], name: str) -> int:
    text = document.get(name)
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) and len(text) <= 40 else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise MalformedError(f"A run's {name} must be a time such as 2026-01-31T23:00:00.000Z.")
    return (moment - _EPOCH) // timedelta(milliseconds=1)
