"""Remove pairs of records that went to another partition or topic.

MirrorMaker writes the offset there as if it were the record's own partition (seen with Kafka 4.3). Such a
pair breaks the sequence of the others, as if the target had been re-created or MirrorMaker had started again.
Only the records show which pair of a break is wrong: those of the newest breaks are read.
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
ROUNDS = 3  # after removing one pair, its neighbours may break the sequence too


def sequence_breaks(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs on both sides of each break: the target fell, or grew by more than the source."""
    found: dict[Pair, None] = {}
    for before, pair in pairwise(pairs):
        if pair.downstream <= before.downstream or pair.delta > before.delta:
            found |= {before: None, pair: None}
    return list(found)


async def without_misrouted(
    pairs: Mapping[Place, Sequence[Pair]],
    logs: Mapping[Place, Logs],
    *,
    stamped: Collection[str],
    source: Side,
    target: Side,
) -> dict[Place, list[Pair]]:
    """Return the pairs of each partition without those at a break that hold different records.

    `stamped` are the topics whose timestamps the target sets. Pairs that neither log holds any more stay;
    those after a log's end are removed.
    """
    kept = {place: list(known) for place, known in pairs.items()}
    seen: dict[Place, set[Pair]] = {place: set() for place in kept}
    for _ in range(ROUNDS):
        asked = {
            place: [pair for pair in sequence_breaks(known) if pair not in seen[place]][-MOST_READ:]
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
                found = agreement(ups[place], downs[place], timestamps=place[0] not in stamped)
                ends = logs[place].source_end, logs[place].target_end
                beyond = pair.upstream >= ends[0] or pair.downstream >= ends[1]
                if beyond or found in (Agreement.DIFFERENT, Agreement.PARTLY):
                    kept[place].remove(pair)
    return kept
