"""Find pairs by record timestamps, confirmed by equal neighbours, if offset syncs are missing.

An end is searched if a partition has no syncs: the target's last records on the source. A beginning is
searched if there is no last run, because the topic of syncs is compacted and has mostly ends: the first
records of each log on the other side. Inside a range, pairs are searched where the known ones are far apart,
so that less must be read again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from checksum.anchors.alignment import SEARCHED, WINDOW, aligned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from checksum.anchors.pairs import Logs, Pair
    from checksum.anchors.reading import Place, Side
    from checksum.anchors.records import SeenRecord

    Windows = dict[Place, list[SeenRecord]]


async def find_ends(logs: Mapping[Place, Logs], *, source: Side, target: Side) -> dict[Place, Pair]:
    """Return for each partition the last pair of the target's last records that are on the source."""
    wanted = {
        place: (max(one.target_start, one.target_end - WINDOW), WINDOW)
        for place, one in logs.items()
        if one.target_end > one.target_start and one.source_end > one.source_start
    }
    tails = await asyncio.to_thread(target.windows, wanted)
    found = await _common_pairs(tails, source, at_source=False)
    return {place: row[1] for place, row in found.items()}


async def find_beginnings(logs: Mapping[Place, Logs], *, source: Side, target: Side) -> dict[Place, Pair]:
    """Return for each partition the first pair of the first records that both logs hold."""
    held = {
        place: one
        for place, one in logs.items()
        if one.target_end > one.target_start and one.source_end > one.source_start
    }
    heads, copies = await asyncio.gather(
        asyncio.to_thread(source.windows, {place: (one.source_start, WINDOW) for place, one in held.items()}),
        asyncio.to_thread(target.windows, {place: (one.target_start, WINDOW) for place, one in held.items()}),
    )
    # Timestamps do not show which log starts later: many records share one, and not all are in order.
    of_target, of_source = await asyncio.gather(
        _common_pairs(copies, source, at_source=False), _common_pairs(heads, target, at_source=True)
    )
    found: dict[Place, Pair] = {}
    for row in (of_source, of_target):
        for place, (pair, _) in row.items():
            found[place] = min(pair, found.get(place, pair))
    return found


async def find_inside(
    wanted: Mapping[Place, Sequence[int]], *, source: Side, target: Side
) -> dict[Place, tuple[Pair, ...]]:
    """Return for each partition a pair at or after each of these source offsets, if unambiguous."""
    found: dict[Place, list[Pair]] = {place: [] for place in wanted}
    for turn in range(max(map(len, wanted.values()), default=0)):
        asked = {place: (at[turn], WINDOW) for place, at in wanted.items() if turn < len(at)}
        windows = await asyncio.to_thread(source.windows, asked)
        for place, (pair, _) in (await _common_pairs(windows, target, at_source=True)).items():
            found[place].append(pair)
    return {place: tuple(pairs) for place, pairs in found.items()}


async def _common_pairs(windows: Windows, other: Side, *, at_source: bool) -> dict[Place, tuple[Pair, Pair]]:
    """Return the first and the last pair that a window of one side and the `other` have in common."""
    times = {place: min(one.timestamp_ms for one in records) for place, records in windows.items() if records}
    since = await asyncio.to_thread(other.since, times)
    there = await asyncio.to_thread(
        other.windows, {place: (offset, SEARCHED) for place, offset in since.items()}
    )
    found = {}
    for place, records in there.items():
        here = windows[place]
        row = aligned(here, records) if at_source else aligned(records, here)
        if row is not None:
            found[place] = row
    return found
