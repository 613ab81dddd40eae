"""Offset syncs of one partition, and what they tell of where a source offset is on the target. Pure.

A pair is exact: the record at `upstream` on the source has its copy at `downstream` on the target. Pairs
stand in the order in which the mirror wrote them. From one to the next both offsets grow; where one does
not, the mirror *began anew*: it copied again what it had copied, or the target's topic was re-created.

A *segment* is a run of pairs within which the mirror did not begin anew and downstream - upstream only falls
(markers of transactions, compacted offsets, records that were not copied) or only rises (copies made twice,
records of others on the target). The difference is constant where nothing of the kind happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class SyncPair(NamedTuple):
    """One offset sync.

    `number` is the record's offset in the topic of syncs, and `era` which topic of that name it was, so that
    the two give the order; `at_ms` is when it was written (epoch ms by our clock).
    """

    era: int
    number: int
    upstream: int
    downstream: int
    at_ms: int

    @property
    def difference(self) -> int:
        """Return how far ahead of the source's offset the target's is."""
        return self.downstream - self.upstream


def begins_anew(before: SyncPair, after: SyncPair) -> bool:
    """Return whether the mirror went back between two pairs; one that is told twice is no step back."""
    if (before.upstream, before.downstream) == (after.upstream, after.downstream):
        return False
    return after.upstream <= before.upstream or after.downstream <= before.downstream


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
        if turned or begins_anew(before, after):
            found.append((first, index - 1))
            first, falls = index, None
        elif change and falls is None:
            falls = change < 0
    found.append((first, len(pairs) - 1))
    return found


def translate(pairs: Sequence[SyncPair], upstream: int) -> int | None:
    """Return the target's offset from which a reader at this source offset misses nothing, or None.

    As MirrorMaker does (OffsetSyncStore of Kafka 4.3): of the newest pair at or before it, its copy, or the
    record behind that. Only pairs since the mirror last began anew are asked; None is "not known".
    """
    for index in range(len(pairs) - 1, -1, -1):
        pair = pairs[index]
        if pair.upstream <= upstream:
            return pair.downstream + (pair.upstream < upstream)
        if index and begins_anew(pairs[index - 1], pair):
            return None
    return None
