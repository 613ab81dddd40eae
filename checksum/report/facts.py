"""What is known of each partition at each time, for the picture of the page. Pure."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any

from checksum.report.picture import Cell, Kind, Picture, laid_out

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from checksum.report.picture import Place

_BUCKET_MS = 900_000  # if the document has none
_DIFFERENCE = 1  # the exit status


def picture_of(run: Mapping[str, Any]) -> Picture | None:
    """Return the picture of a run, or None if no count has a time.

    A bucket is a difference if a finding has its time, or if its counts differ without an explanation:
    expected records, unknown extra records, or unverified offsets (retention deletes on one side first). A
    certain difference counts even if its offsets are not verified.

    Unverified offsets have the times of their buckets if the document has them (`unverified` in its counts),
    otherwise all times of their partition.
    """
    counts = run["counts"]
    bucket_ms = counts["bucket_ms"] or _BUCKET_MS
    wrong, expected = _times(run, "findings", bucket_ms), _times(run, "expected", bucket_ms)
    unsettled = _times(run, "unsettled", bucket_ms)
    whole = _whole(run, by_bucket=counts["tells_unverified"])
    # A counts-only run has findings for its differences.
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
    """Return the partitions with a certain difference that was not resolved to records."""
    if run["status"] != _DIFFERENCE:
        return set()
    return {_place(one) for one in run["not_read_again"]["shown"] if one["certain"]}


def summed(entries: Iterable[Mapping[str, Any]], *, by: tuple[str, ...]) -> Counter[tuple[Any, ...]]:
    """Return the sum of records in each group of entries."""
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
    """Return what is known of whole partitions: nothing verified, or it is unknown what."""
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
    """Return the time of an ISO 8601 text, or None."""
    try:
        moment = datetime.fromisoformat(at) if at else None
    except ValueError:
        return None
    if moment is None:
        return None
    return round(moment.timestamp() * 1000) if moment.tzinfo is not None else None
