"""Whether a new mirror has skipped or repeated records, by their content. Pure.

An offset sync is exact, so both windows begin with the same record: from there on, each source record that
the new mirror has passed must be on the target as often as on the source. Without a sync the target's window
begins before the source's, and a record that occurs more often is a repeated one as well.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mirrorwatch.migration.positions import Position

LOOK_BACK = 10_000  # target offsets before the export that are read without an offset sync


class Window(NamedTuple):
    """From which offsets on both sides of a partition are read. `exact`: both begin with the same record."""

    source: int
    target: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Compared:
    """The records of one partition: how many were passed, are missing, and are there too often.

    `strange` are records on the target since the export that are none of those read on the source: repeated
    ones from before the position, or of another writer. If one that the mirror has not passed has the same
    content as another one, `missing` and `repeated` are lower bounds.
    """

    passed: int
    missing: int
    repeated: int
    first_missing: int | None = None
    bounded: bool = False
    strange: int = 0


def window_of(position: Position, *, source_start: int, target_start: int) -> Window | None:
    """Return what is read of a partition, and of the one that the old mirror replicated it to.

    `source_start` and `target_start` are their log start offsets now. Records that the source has deleted
    since the export are left out. None if the target has deleted records that were there at the export.
    """
    if position.offset is None:  # the new mirror replicates all again
        return Window(max(position.next_offset, source_start), target_start, exact=target_start == 0)
    sync = position.sync
    if sync is None or source_start > sync.source_offset:
        first = max(target_start, (position.target_end or 0) - LOOK_BACK)
        return Window(max(position.next_offset, source_start), first, exact=False)
    if target_start > sync.target_offset:
        return None
    return Window(sync.source_offset, sync.target_offset, exact=True)


def compare(
    source: Iterable[tuple[int, bytes]], target: Iterable[tuple[bool, bytes]], passed: int
) -> Compared:
    """Compare offsets and contents of source records with contents of target records.

    The mirror has passed the source records before offset `passed`. Later ones may be on the target too. Of
    each target record it is known whether it is new since the export.
    """
    there: Counter[bytes] = Counter()
    fresh: Counter[bytes] = Counter()
    for is_new, content in target:
        there[content] += 1
        fresh[content] += is_new
    here: Counter[bytes] = Counter()
    count = missing = 0
    first: int | None = None
    later: set[bytes] = set()
    for offset, content in source:
        here[content] += 1
        if offset >= passed:
            later.add(content)
            continue
        count += 1
        if here[content] > there[content]:
            missing += 1
            first = offset if first is None else first
    repeated = sum(max(0, there[content] - often) for content, often in here.items())
    alike = any(here[content] > 1 for content in later)
    strange = sum(often for content, often in fresh.items() if content not in here)
    return Compared(count, missing, repeated, first, alike, strange)
