"""Gaps of one place, a topic partition: stretches of its log without a record, and one behind them. Pure.

Gaps of a place neither overlap nor touch, but for a record that stands between two: the first ends there,
and the second begins behind it. What was seen last is believed where it contradicts what was known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_GAPS = 4  # of one place


class Seen(NamedTuple):
    """What was seen of a place from an offset on: nothing before `end`; there, perhaps, a record."""

    place: int
    first: int
    end: int
    is_record: bool


class Gap(NamedTuple):
    """Offsets without a record, `end` not included; none at all where a record is the first of them."""

    first: int = -1
    end: int = -1
    record_ms: int = -1  # when a record was seen at the end, -1 if none was


def with_seen(gaps: Iterable[Gap], seen: Seen, at_ms: int) -> list[Gap]:
    """Return the gaps that are known with what was seen at an instant: those nearest to the log's end.

    A record that ended a gap, and lies within what was seen, is there no more: compaction took it.
    """
    apart, joined = [], Gap(seen.first, seen.end, at_ms if seen.is_record else -1)
    if joined.record_ms < 0 and seen.end <= seen.first:
        return list(gaps)  # nothing was seen
    for gap in gaps:
        if seen.is_record and gap.first <= seen.end < gap.end:
            continue  # it cannot be one with a record in it
        if gap.first > seen.end or gap.end < seen.first:
            apart.append(gap)
        elif gap.end > seen.end:
            joined = gap._replace(first=min(gap.first, joined.first))
        else:
            joined = joined._replace(first=min(gap.first, joined.first))
    return sorted((*apart, joined), key=lambda gap: gap.end)[-MOST_GAPS:]
