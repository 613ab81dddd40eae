"""Gaps of one place (a topic partition): offsets without a record, with one record after them. Pure.

Gaps of a place neither overlap nor touch, except that one may end at a record with which the next begins. The
newest result wins over earlier ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_GAPS = 4  # of one place


class Seen(NamedTuple):
    """The result of reading a place from an offset on: nothing before `end`, and if a record is there."""

    place: int
    first: int
    end: int
    is_record: bool


class Gap(NamedTuple):
    """Offsets without a record, `end` not included; empty if a record is the first of them."""

    first: int = -1
    end: int = -1
    record_ms: int = -1  # when a record was seen at the end, -1 if none was


def with_seen(gaps: Iterable[Gap], seen: Seen, at_ms: int) -> list[Gap]:
    """Return the known gaps with a new result added; the ones nearest to the log end are kept.

    A record that ended a gap and lies within the new result no longer exists: compaction removed it.
    """
    apart, joined = [], Gap(seen.first, seen.end, at_ms if seen.is_record else -1)
    if joined.record_ms < 0 and seen.end <= seen.first:
        return list(gaps)  # nothing was seen
    for gap in gaps:
        if seen.is_record and gap.first <= seen.end < gap.end:
            continue  # a gap cannot contain a record
        if gap.first > seen.end or gap.end < seen.first:
            apart.append(gap)
        elif gap.end > seen.end:
            joined = gap._replace(first=min(gap.first, joined.first))
        else:
            joined = joined._replace(first=min(gap.first, joined.first))
    return sorted((*apart, joined), key=lambda gap: gap.end)[-MOST_GAPS:]
