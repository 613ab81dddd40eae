"""What a run knows of each partition at each time, for the picture of its page. Pure."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from checksum.report.picture import Cell, Kind, Picture, laid_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checksum.report.picture import Place

_BUCKET_MS = 900_000  # where a document does not tell
_DIFFERENCE = 1  # the exit status


def picture_of(run: Mapping[str, Any]) -> Picture | None:
    """Return the picture of a run; None where nothing that it counted has a time.

    A bucket is a difference where a finding has its time, or where its counts differ and nothing that is
    expected, that nobody could look up, or that was not verified, explains it: retention takes of one side
    first. What differs for sure and was not told apart is a difference, though it is not verified either.

    Offsets that were not verified have the times of the buckets that hold them, where the document tells
    (`unverified` of its counts), else all of their partition's.
    """
    counts = run["counts"]
    bucket_ms = counts["bucket_ms"] or _BUCKET_MS
    wrong, expected = _times(run, "findings", bucket_ms), _times(run, "expected", bucket_ms)
    unsettled = _times(run, "unsettled", bucket_ms)
    whole = _whole(run, by_bucket=counts["tells_unverified"])
    # Where counts alone were compared, a run says by itself which of them differ.
    explained = run["counts_only"]
    certain = _certain(run)
    cells: list[Cell] = []
    known: set[tuple[Place, int]] = set()
    for one in counts["shown"]:
        at_ms = _at_ms(one["bucket_at"])
        if at_ms is None:
            continue
        where = (_place(one), at_ms - at_ms % bucket_ms)
        source, target = one["source_records"], one["target_records"]
        known.add(where)
        kind = Kind.EQUAL
        told = explained or where in expected or where in unsettled
        told = told or (one["unverified"] and where[0] not in certain)
        if where in wrong or (source != target and not told):
            kind = Kind.DIFFERENCE
        elif one["unverified"] or where in unsettled:
            kind = Kind.NOT_VERIFIED
        elif where in expected:
            kind = Kind.EXPECTED
        cells.append(Cell(*where, kind, max(source, target)))
    cells += [
        Cell(*where, kind, 1)
        for found, kind in (
            (wrong, Kind.DIFFERENCE),
            (expected, Kind.EXPECTED),
            (unsettled, Kind.NOT_VERIFIED),
        )
        for where in found - known
    ]
    return laid_out(cells, whole=whole, left_out=_left_out(run), bucket_ms=bucket_ms)


def _certain(run: Mapping[str, Any]) -> set[Place]:
    """Return where something is wrong for sure that was not told apart; nowhere without a difference."""
    if run["status"] != _DIFFERENCE:
        return set()
    return {_place(one) for one in run["not_read_again"]["shown"] if one["certain"]}


def summed(entries: Iterable[Mapping[str, Any]], *, by: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    """Return how many records each group of entries holds together."""
    found: Counter[tuple[Any, ...]] = Counter()
    for one in entries:
        found[tuple(one[key] for key in by)] += one["records"]
    return found


def _times(run: Mapping[str, Any], name: str, bucket_ms: int) -> set[tuple[Place, int]]:
    found: set[tuple[Place, int]] = set()
    for one in run[name]["shown"]:
        at_ms = _at_ms(one["at"])
        if at_ms is not None:
            found.add((_place(one), at_ms - at_ms % bucket_ms))
    return found


def _whole(run: Mapping[str, Any], *, by_bucket: bool) -> dict[Place, Kind]:
    """Return what is known of whole partitions: those of which nothing, or nobody knows what, is verified."""
    found: dict[Place, Kind] = {}
    for one in run["partitions"]["shown"]:
        nothing = one["offsets"] and not one["verified"]
        if one["not_compared"] or nothing or (one["unverified"] and not by_bucket):
            found[_place(one)] = Kind.NOT_VERIFIED
    for one in run["left_out"]["shown"]:
        if one["partition"] is None and not one["later"]:
            found[_place(one)] = Kind.LEFT_OUT
    return found


def _left_out(run: Mapping[str, Any]) -> set[Place]:
    return {_place(one) for one in run["left_out"]["shown"] if not one["later"]}


def _place(one: Mapping[str, Any]) -> Place:
    return one["topic"], one["partition"]


def _at_ms(at: str | None) -> int | None:
    """Return the instant that a document tells as ISO 8601; None where it has none that a calendar holds."""
    try:
        moment = datetime.fromisoformat(at) if at else None
    except ValueError:
        return None
    if moment is None:
        return None
    return round(moment.timestamp() * 1000) if moment.tzinfo is not None else None
