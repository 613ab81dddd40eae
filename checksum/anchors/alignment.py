"""Match offsets of both sides by a row of equal records, without offset syncs. Pure.

A record's timestamp shows roughly where it is on the target, and a row of equal records shows it exactly. One
equal record proves little (heartbeats and counters look alike). A lost or extra record ends a row, and
another one starts. If the same records are in two rows, for example duplicates, neither is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from checksum.anchors.pairs import Pair
from checksum.anchors.records import Agreement, agreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from checksum.anchors.records import SeenRecord

LEAST = 5  # records in a row
WINDOW = 40  # records to find
SEARCHED = 400  # records to search


def aligned(source: Sequence[SeenRecord], target: Sequence[SeenRecord]) -> tuple[Pair, Pair] | None:
    """Return the first and the last pair of the rows in which both windows, each in order, are equal.

    None if no row of at least LEAST records is unambiguous.
    """
    where: dict[tuple[object, ...], list[int]] = {}
    for at, record in enumerate(target):
        where.setdefault(_content(record), []).append(at)
    rows: list[tuple[int, int, int]] = []
    reached: dict[int, int] = {}  # by difference of the two places: the end of the row there
    for at, record in enumerate(source):
        for there in where.get(_content(record), ()):
            if at < reached.get(there - at, 0):
                continue
            length = _row(source[at:], target[there:])
            reached[there - at] = at + length
            if length >= LEAST:
                rows.append((at, there, length))
    clear = [row for row in rows if not any(_share(row, other) for other in rows if other is not row)]
    if not clear:
        return None
    (at, there, _), (last, last_there, length) = clear[0], clear[-1]
    end = length - 1
    return _pair(source[at], target[there]), _pair(source[last + end], target[last_there + end])


def _share(row: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    """Return whether two rows have records of one side in common."""
    return any(row[side] < other[side] + other[2] and other[side] < row[side] + row[2] for side in (0, 1))


def _row(source: Sequence[SeenRecord], target: Sequence[SeenRecord]) -> int:
    for length, (one, other) in enumerate(zip(source, target, strict=False)):
        if agreement(one, other, timestamps=True) is not Agreement.EQUAL:
            return length
    return min(len(source), len(target))


def _content(record: SeenRecord) -> tuple[object, ...]:
    return record.timestamp_ms, record.key, record.value, record.headers


def _pair(source: SeenRecord, target: SeenRecord) -> Pair:
    return Pair(source.offset, target.offset)
