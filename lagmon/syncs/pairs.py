"""Offset syncs of one partition, and the target offset of a source offset. Pure.

A pair is exact: the record at `upstream` on the source is at `downstream` on the target. Pairs are in the
order in which the mirror wrote them. Both offsets grow from pair to pair; if one does not, the mirror
*restarted*: it replicated records again, or the target topic was re-created.

A *segment* is a run of pairs without a restart in which downstream - upstream only falls (transaction
markers, compacted offsets, records that were not replicated) or only rises (duplicates, foreign records on
the target). Without these the difference is constant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class SyncPair(NamedTuple):
    """One offset sync.

    `number` is the record's offset in the topic of syncs, `era` the ordinal of that topic among those of the
    same name; together they give the order. `at_ms` is when it was written (epoch ms by our clock).
    """

    era: int
    number: int
    upstream: int
    downstream: int
    at_ms: int

    @property
    def difference(self) -> int:
        """Return by how much the target's offset is ahead of the source's."""
        return self.downstream - self.upstream


def restarted(before: SyncPair, after: SyncPair) -> bool:
    """Return whether the mirror restarted between two pairs; an equal pair is no restart."""
    if (before.upstream, before.downstream) == (after.upstream, after.downstream):
        return False
    return after.upstream <= before.upstream or after.downstream <= before.downstream


def in_order(pairs: Sequence[SyncPair]) -> list[SyncPair]:
    """Return the pairs in the order in which their records were replicated.

    MirrorMaker may write two syncs in the other order (its threads send them): of equal differences, the
    lower one is written last, though it is not newer. A restart or a re-created topic takes time.
    """
    found: list[SyncPair] = []
    for pair in pairs:
        place = len(found)
        while place and _overtaken(found[place - 1], pair):
            place -= 1
        found.insert(place, pair)
    return found


def _overtaken(before: SyncPair, after: SyncPair) -> bool:
    is_older = after.at_ms <= before.at_ms and after.upstream < before.upstream
    return is_older and after.difference == before.difference


def segments(pairs: Sequence[SyncPair]) -> list[tuple[int, int]]:
    """Return the indices of the first and the last pair of each segment, in order."""
    if not pairs:
        return []
    found: list[tuple[int, int]] = []
    first, falls = 0, None
    for index in range(1, len(pairs)):
        before, after = pairs[index - 1], pairs[index]
        change = after.difference - before.difference
        turned = falls is not None and change != 0 and falls != (change < 0)
        if turned or restarted(before, after):
            found.append((first, index - 1))
            first, falls = index, None
        elif change and falls is None:
            falls = change < 0
    found.append((first, len(pairs) - 1))
    return found


def translate(pairs: Sequence[SyncPair], upstream: int) -> int | None:
    """Return the target offset from which a consumer at this source offset misses nothing, None if unknown.

    As MirrorMaker translates (OffsetSyncStore of Kafka 4.3): of the newest pair at or before it, the
    downstream offset, or the one after. Only pairs since the last restart are used.
    """
    for index in range(len(pairs) - 1, -1, -1):
        pair = pairs[index]
        if pair.upstream <= upstream:
            return pair.downstream + (pair.upstream < upstream)
        if index and restarted(pairs[index - 1], pair):
            return None
    return None
