"""The runs of a document: known keys with the right types, whatever was posted. Pure.

A service keeps documents as they were posted. Missing or invalid values become empty ones, so that the page
needs no special cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Read = Callable[[object], Any]

MOST: Final = (1 << 63) - 1
MOST_RUNS: Final = 1000
_LONGEST: Final = 2000
_NOT_AVAILABLE: Final = 4


def runs_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the runs of a document, which is one or holds several, each with all keys."""
    several = document.get("runs")
    held = several if isinstance(several, list) else [document]
    return [_read(one, _RUN) for one in held[:MOST_RUNS] if isinstance(one, dict)]


def status_of(found: object) -> int:
    """Return the exit status, or that of unavailability if it is invalid."""
    return found if type(found) is int and 0 <= found <= _NOT_AVAILABLE else _NOT_AVAILABLE


def _read(found: Mapping[str, Any], shape: Mapping[str, Read]) -> dict[str, Any]:
    return {key: read(found.get(key)) for key, read in shape.items()}


def _text(found: object) -> str | None:
    return found[:_LONGEST] if isinstance(found, str) and found else None


def _name(found: object) -> str:
    return _text(found) or ""


def _whole(found: object) -> int | None:
    return found if type(found) is int and 0 <= found <= MOST else None  # True is an int to Python


def _number(found: object) -> int:
    return _whole(found) or 0


def _flag(found: object) -> bool:
    return found is True


def _share(found: object) -> float | None:
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= 1:
        return None
    return float(found)


def _offsets(found: object) -> tuple[int, int] | None:
    if not isinstance(found, list) or len(found) != 2:
        return None
    first, until = _whole(found[0]), _whole(found[1])
    return None if first is None or until is None else (first, until)


def _by_verdict(found: object) -> dict[str, int]:
    held = found if isinstance(found, dict) else {}
    return {verdict[:_LONGEST]: _number(count) for verdict, count in held.items() if isinstance(verdict, str)}


def _entries(shape: Mapping[str, Read]) -> Read:
    """Return a reader for a list of such entries; invalid ones are dropped."""

    def read(found: object) -> list[dict[str, Any]]:
        held = found if isinstance(found, list) else []
        return [_read(one, shape) for one in held if isinstance(one, dict)]

    return read


def _some(shape: Mapping[str, Read], **more: Read) -> Read:
    """Return a reader for a list with a count, of which some entries are shown."""
    entries = _entries(shape)

    def read(found: object) -> dict[str, Any]:
        held = found if isinstance(found, dict) else {}
        shown = entries(held.get("shown"))
        return {"count": max(_number(held.get("count")), len(shown)), "shown": shown, **_read(held, more)}

    return read


_PLACE: Final[dict[str, Read]] = {"topic": _name, "partition": _whole}
_FINDING: Final[dict[str, Read]] = _PLACE | {
    "verdict": _name,
    "cause": _text,
    "sentence": _name,
    "records": _number,
    "at": _text,
    "source_offsets": _offsets,
    "target_offsets": _offsets,
    "certain": _flag,
}
_PARTITION: Final[dict[str, Read]] = _PLACE | {
    "source_records": _number,
    "target_records": _number,
    "offsets": _whole,
    "verified": _whole,
    "records": _by_verdict,
    "unverified": _entries({"offsets": _offsets, "why": _name}),
    "differing": _number,
    "not_compared": _text,
}
_BUCKET: Final[dict[str, Read]] = _PLACE | {
    "bucket_at": _text,
    "source_records": _number,
    "target_records": _number,
    "unverified": _flag,
}
_RUN: Final[dict[str, Read]] = {
    **dict.fromkeys(("flow", "plan"), _name),
    **dict.fromkeys(("run", "who", "planned_at", "begun_at", "ended_at", "failure", "not_kept"), _text),
    **dict.fromkeys(("source_records", "target_records", "topics", "not_due"), _whole),
    **dict.fromkeys(("findings", "expected", "not_read_again", "unsettled"), _some(_FINDING)),
    "status": status_of,
    "coverage": _share,
    "counts_only": _flag,
    "records": _by_verdict,
    "partitions": _some(_PARTITION),
    "left_out": _some(_PLACE | {"records": _number, "why": _name, "later": _flag}),
    "counts": _some(_BUCKET, bucket_ms=_number, tells_unverified=_flag),
}
