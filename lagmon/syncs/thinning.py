"""Which offset syncs of a partition stay: ever fewer with age, and what a later answer hangs on. Pure.

What stays, by these rules:
- the newest pair, always;
- of the last hour the newest 256;
- the first and the last pair of each segment (`syncs/pairs.py`);
- in each window of time the newest. A window is 10 s long, or the longest of twice, four times ... that which
  is no more than a 32nd of its own age. So windows only ever join into longer ones, and what thinning all at
  once keeps is still there where it was thinned before;
- in a window in which downstream - upstream changes once or twice, the pairs on both sides of each change.
  Where it changes with every transaction, one window holds many, and no single one of them tells anything.

What is older than the keep time goes, but for the newest pair. Beyond 2,000 pairs the oldest go: only a
mirror that begins anew again and again has as many. In both cases it is a beginning that goes, never a hole.

So what `translate` says with fewer pairs is what it said with all of them, or an earlier offset, or nothing.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lagmon.syncs.pairs import begins_anew, segments

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lagmon.syncs.pairs import SyncPair

KEEP_MS = 30 * 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinning:
    """How much stays."""

    keep_ms: int = KEEP_MS
    whole_ms: int = 3_600_000
    whole_pairs: int = 256
    shortest_ms: int = 10_000
    share: int = 32  # a longer window than the shortest is at most this part of its age
    lone_changes: int = 2
    most: int = 2000


def thin(pairs: Sequence[SyncPair], *, now_ms: int, rules: Thinning) -> list[SyncPair]:
    """Return those of one partition's pairs that stay, in their order."""
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
    """Return length and number of the window that an instant is in at present."""
    doublings = (max(0, now_ms - at_ms) // (rules.share * rules.shortest_ms)).bit_length()
    length = rules.shortest_ms << max(0, doublings - 1)
    # How long a window may be hangs on its own end, so that all that is in it agrees.
    while length > rules.shortest_ms and now_ms - (at_ms // length + 1) * length < rules.share * length:
        length //= 2
    return length, at_ms // length


def _first_young(pairs: Sequence[SyncPair], before_ms: int) -> int:
    """Return the index of the first pair that is not too old, that of the newest where all are.

    One that claims to be older than those before it keeps its place: it may be the side of a step back.
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
    return before.difference != after.difference and not begins_anew(before, after)
