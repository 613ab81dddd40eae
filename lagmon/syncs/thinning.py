"""Which offset syncs of a partition are kept: fewer with age, without changing later answers. Pure.

Kept are:
- the newest pair, always;
- of the last hour the newest 256;
- the first and the last pair of each segment (`syncs/pairs.py`);
- in each window of time the newest. A window is 10 s long, or the longest power of two times that which is at
  most a 32nd of its own age. So windows only ever join, and the result does not depend on when thinning runs;
- in a window in which downstream - upstream changes once or twice, the pairs on both sides of each change. If
  it changes with every transaction, a window holds many changes, and no single one matters.

Pairs older than the keep time are deleted, except the newest. Beyond 2,000 pairs the oldest are deleted: only
a mirror that restarts again and again has that many. Both delete from the beginning, never in the middle.

So `translate` returns the same with fewer pairs as with all, or an earlier offset, or None.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lagmon.syncs.pairs import restarted, segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lagmon.syncs.pairs import SyncPair

KEEP_MS = 30 * 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinning:
    """Limits of what is kept."""

    keep_ms: int = KEEP_MS
    whole_ms: int = 3_600_000
    whole_pairs: int = 256
    shortest_ms: int = 10_000
    share: int = 32  # windows longer than the shortest are at most this part of their age
    lone_changes: int = 2
    most: int = 2000


def thin(pairs: Sequence[SyncPair], *, now_ms: int, rules: Thinning) -> list[SyncPair]:
    """Return the pairs of one partition that are kept, in their order."""
    first = _first_young(pairs, now_ms - rules.keep_ms)
    young = pairs[first:]
    stay: set[int] = set()
    for index in range(max(0, len(young) - rules.whole_pairs), len(young)):
        if now_ms - young[index].at_ms <= rules.whole_ms:
            stay.add(index)
    for ends in segments(young):  # the newest pair is the last of them
        stay.update(ends)
    stay.update(_of_windows(young, now_ms, rules))
    return [young[index] for index in sorted(stay)[-rules.most :]]


def window_of(at_ms: int, now_ms: int, rules: Thinning) -> tuple[int, int]:
    """Return length and number of the window of an instant at present."""
    doublings = (max(0, now_ms - at_ms) // (rules.share * rules.shortest_ms)).bit_length()
    length = rules.shortest_ms << max(0, doublings - 1)
    # The length depends on the window's own end, so that all of its pairs agree.
    while length > rules.shortest_ms and now_ms - (at_ms // length + 1) * length < rules.share * length:
        length //= 2
    return length, at_ms // length


def _first_young(pairs: Sequence[SyncPair], before_ms: int) -> int:
    """Return the index of the first pair that is not too old, that of the newest if all are.

    A pair that is older than those before it keeps its place: it may be at a restart.
    """
    for index, pair in enumerate(pairs):
        if pair.at_ms >= before_ms:
            return index
    return max(0, len(pairs) - 1)


def _of_windows(pairs: Sequence[SyncPair], now_ms: int, rules: Thinning) -> Iterator[int]:
    newest: dict[tuple[int, int], int] = {}
    changes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, pair in enumerate(pairs):
        window = window_of(pair.at_ms, now_ms, rules)
        newest[window] = index
        if index and _changes(pairs[index - 1], pair):
            changes[window].append(index)
    yield from newest.values()
    for found in changes.values():
        if len(found) <= rules.lone_changes:
            for index in found:
                yield from (index - 1, index)


def _changes(before: SyncPair, after: SyncPair) -> bool:
    return before.difference != after.difference and not restarted(before, after)
