"""Pairs of offsets that are none: of a record that went into another partition or topic.

The mirror tells the offset at which it stands there, as if it were one of its own partition (seen with Kafka
4.3). Such a pair breaks the row of the others, and looks as if the target had been made anew, or the mirror
had gone back. Which pair of a break is the false one only the records tell: those of the newest are read.
"""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import TYPE_CHECKING

from checksum.anchors.records import Agreement, agreement

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from checksum.anchors.pairs import Logs, Pair
    from checksum.anchors.reading import Place, Side

MOST_READ = 32  # pairs of one partition in a round
ROUNDS = 3  # where one pair is taken away, those beside it may be out of line too


def out_of_line(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs on both sides of each break: the target fell, or grew by more than the source."""
    found: dict[Pair, None] = {}
    for before, pair in pairwise(pairs):
        if pair.downstream <= before.downstream or pair.delta > before.delta:
            found |= {before: None, pair: None}
    return list(found)


async def without_astray(
    pairs: Mapping[Place, Sequence[Pair]],
    logs: Mapping[Place, Logs],
    *,
    stamped: Collection[str],
    source: Side,
    target: Side,
) -> dict[Place, list[Pair]]:
    """Return the pairs of each partition without those that are out of line and hold different records.

    `stamped` are the topics whose records the target gives its own time. What neither log holds any more
    stays; what lies beyond a log's end is none.
    """
    kept = {place: list(known) for place, known in pairs.items()}
    seen: dict[Place, set[Pair]] = {place: set() for place in kept}
    for _ in range(ROUNDS):
        asked = {
            place: [pair for pair in out_of_line(known) if pair not in seen[place]][-MOST_READ:]
            for place, known in kept.items()
        }
        for turn in range(max(map(len, asked.values()), default=0)):
            now = {place: some[turn] for place, some in asked.items() if turn < len(some)}
            ups, downs = await asyncio.gather(
                asyncio.to_thread(source.at, {place: pair.upstream for place, pair in now.items()}),
                asyncio.to_thread(target.at, {place: pair.downstream for place, pair in now.items()}),
            )
            for place, pair in now.items():
                seen[place].add(pair)
                told = agreement(ups[place], downs[place], timestamps=place[0] not in stamped)
                ends = logs[place].source_end, logs[place].target_end
                beyond = pair.upstream >= ends[0] or pair.downstream >= ends[1]
                if beyond or told in (Agreement.DIFFERENT, Agreement.PARTLY):
                    kept[place].remove(pair)
    return kept
